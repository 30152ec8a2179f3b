// Loops over squares, whose lanes have a row of memory each: as many rows at a time as there are
// lanes. Where a vector is a part of a line, outputs that are streamed are put together by blocks.
#if defined(KILN_SQUARES_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_SQUARES_INL_H_
#undef KILN_SQUARES_INL_H_
#else
#define KILN_SQUARES_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/prefetch.h"
#include "kiln/simd/rows-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// A block of an output, which takes 32 KiB. Its columns are rows of what is transposed, of each of
/// which four lines become the block's rows.
constexpr size_t kBlockColumns = 128;
template <typename T>
constexpr size_t kBlockRows = 4 * kLineBytes / sizeof(T);
template <typename T>
using BlockOfLines = Lines<T, kBlockRows<T>, kBlockColumns * sizeof(T)>;

/// As IntoLines, where the stores of one call are to rows that follow each other.
template <class D, typename T>
struct IntoBlock : IntoLines<D, BlockOfLines<T>> {
  size_t columns;  // of the block

  HWY_INLINE IntoBlock(BlockOfLines<T>& block, size_t row, size_t column, size_t block_columns)
      : IntoLines<D, BlockOfLines<T>>(block, row, column), columns(block_columns) {}
};

/// As PrefetchAcross of other lanes (across-inl.h), in the order of blocks: asks for the square of
/// the next columns, or for the first of the block below.
template <class D, typename T, typename Read>
HWY_INLINE void PrefetchAcross(const IntoBlock<D, T>& at, const Read* first, ptrdiff_t stride,
                               size_t, size_t) {
  if constexpr (!kIsPacked<Read>) {
    const size_t lanes = hn::Lanes(D());
    // Squares that have a line in common ask for the next one once.
    if (reinterpret_cast<uintptr_t>(first) % kLineBytes >= lanes * sizeof(Read)) return;
    first += at.part + lanes < at.columns
                 ? static_cast<ptrdiff_t>(lanes) * stride
                 : ptrdiff_t{kBlockRows<T>} - static_cast<ptrdiff_t>(at.part) * stride;
    for (size_t row = 0; row < lanes; ++row)
      PrefetchToL1(first + static_cast<ptrdiff_t>(row) * stride);
  }
}

/// Whether blocks are worth it: squares of whole lines are streamed as they are.
template <class D>
constexpr bool kSquaresByBlocks = !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR &&
                                  hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) < kLineBytes;

/// Calls fn for the squares of an output of whole squares, whose rows are whole lines, and streams
/// each block when it is complete. The next block is the one below, as what is read for that is
/// next to what was read for this one.
template <typename T, class D, class Fn>
HWY_INLINE void ForBlocksOfSquares(D, size_t rows, size_t columns, const Fn& fn) {
  constexpr std::integral_constant<size_t, hn::MaxLanes(D())> n;
  static_assert(kBlockRows<T> % n == 0 && kLineBytes / sizeof(T) % n == 0);
  BlockOfLines<T> block;
  for (size_t column = 0; column < columns; column += kBlockColumns) {
    const size_t of_block = HWY_MIN(columns - column, kBlockColumns);
    for (size_t row = 0; row < rows; row += kBlockRows<T>) {
      const size_t row_end = HWY_MIN(row + kBlockRows<T>, rows);
      for (size_t i = 0; i < of_block; i += n) {
        for (size_t r = row; r < row_end; r += n)
          fn(n, r, IntoBlock<D, T>(block, r - row, i, of_block), column + i);
      }
      block.Stream(row_end - row, of_block);
    }
  }
}

/// Calls fn(rows, first, at, i) for squares: rows from `first` on, as many as there are lanes or as
/// are left, and the lanes `at` from i on.
template <class D, class Fn>
HWY_INLINE void ForSquares(D d, size_t rows, size_t columns, const Fn& fn) {
  ForRows(d, rows, [&](auto some, size_t first) KILN_INLINE_ATTR {
    ForLanes(d, columns, [&](auto at, size_t i) KILN_INLINE_ATTR { fn(some, first, at, i); });
  });
}

/// The same for functions whose only store, but those by `at.Cached()`, is one to each of their
/// rows of `z`, in order; `to` is where the first of all begins.
template <class D, typename T, int V, class Fn>
HWY_INLINE void ForSquares(D d, size_t rows, size_t columns, const Tile<T, V>& z, const T* to,
                           const Fn& fn) {
  if constexpr (!kIsPacked<T> && kSquaresByBlocks<D>) {
    constexpr size_t kLine = kLineBytes / sizeof(T);
    size_t block_rows = 0, block_columns = 0;
    if (StreamsPieces(kLine, z) && reinterpret_cast<uintptr_t>(to) % kLineBytes == 0) {
      block_rows = rows - rows % hn::Lanes(d);
      block_columns = columns - columns % kLine;
      ForBlocksOfSquares<T>(d, block_rows, block_columns, fn);
    }
    ForRows(d, rows, [&](auto some, size_t first) KILN_INLINE_ATTR {
      const size_t from = first < block_rows ? block_columns : 0;
      ForLanes(d, columns - from,
               [&](auto at, size_t i) KILN_INLINE_ATTR { fn(some, first, at, from + i); });
    });
  } else {
    const bool streams = StreamsPieces(hn::Lanes(d), z);
    ForRows(d, rows, [&](auto some, size_t first) KILN_INLINE_ATTR {
      StreamLanes(d, columns, streams, to,
                  [&](auto at, size_t i) KILN_INLINE_ATTR { fn(some, first, at, i); });
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
