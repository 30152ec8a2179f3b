// The loop over register tiles: 8 rows of x by two vectors of columns of y, or by the one that is
// left of them, where there are 32 vector registers; 4 by two elsewhere.
#if defined(KILN_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TILES_INL_H_
#undef KILN_TILES_INL_H_
#else
#define KILN_TILES_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "kiln/few_rows-inl.h"
#include "kiln/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr size_t kTileRows = 4;
#else
constexpr size_t kTileRows = 8;
#endif

constexpr size_t kPanelRows = 4;

// Half of an L2 of 1 MiB: rows of x that stay there while all panels of y pass by.
constexpr size_t kPassBytes = size_t{512} << 10;

/// Columns of a register tile and of a panel of y: two vectors of accumulators.
template <typename Acc = float>
HWY_INLINE size_t PanelCols() {
  return 2 * hn::Lanes(hn::ScalableTag<Acc>());
}

/// Accumulators of a block are kept tile by tile: all rows of the first panel of columns, then
/// those of the next. So the registers of a tile are one contiguous piece.
template <typename Acc = float>
HWY_INLINE size_t TileOffset(size_t rows, size_t r, size_t c) {
  return c * RoundUp(rows, kTileRows) + r * PanelCols<Acc>();
}

/// Elements of a buffer for the accumulators of a block of this size, or of a smaller one.
inline size_t AccumulatorSize(size_t rows, size_t cols) {
  return RoundUp(rows, kTileRows) * RoundUp(cols, PanelCols());
}

template <size_t kRows>
using RowsTag = std::integral_constant<size_t, kRows>;

/// Rows of a block for which tiles are computed.
struct RowRange {
  RowRange(size_t rows) : end(rows) {}  // NOLINT: all of them
  RowRange(size_t from, size_t to) : begin(from), end(to) {}
  size_t begin = 0, end;
};

/// Those from `low` on and before `high` of `count`.
inline RowRange Within(int64_t low, int64_t high, size_t count) {
  const int64_t end = HWY_MAX(HWY_MIN(high, static_cast<int64_t>(count)), int64_t{0});
  const int64_t begin = HWY_MIN(HWY_MAX(low, int64_t{0}), end);
  return {static_cast<size_t>(begin), static_cast<size_t>(end)};
}

/// Those from `low` on and before `high` of which a block has `rows`; and some around them, since
/// tiles begin where panels do, and one for a whole panel is faster than the small ones of a rest.
inline RowRange LiveRows(int64_t low, int64_t high, size_t rows) {
  const RowRange live = Within(low, high, rows);
  return {live.begin / kPanelRows * kPanelRows, HWY_MIN(RoundUp(live.end, kPanelRows), rows)};
}

/// The second vector of columns of a tile that has one: a type of its own, so that such tiles do
/// not compute what nobody asked for.
template <class D>
struct NoLanes : Part<D> {
  NoLanes() : Part<D>(0) {}
};
template <class At>
constexpr bool kHasLanes = true;
template <class D>
constexpr bool kHasLanes<NoLanes<D>> = false;

template <class At>
HWY_INLINE At WithLanes(At at) {
  return at;
}
template <class D>
HWY_INLINE Part<D> WithLanes(NoLanes<D> none) {
  return none;
}

/// Calls fn(rows, at_0, at_1, r, c) for each register tile: `rows()` is 8, 4, 2 or 1 and a
/// constant, at_0 and at_1 are its two vectors of columns. `d` is the tag of the accumulators and
/// `row_bytes` the size of a row of x.
template <class D, class Fn>
HWY_INLINE void ForTiles(D d, RowRange rows, size_t cols, size_t row_bytes, const Fn& fn) {
  const size_t n = hn::Lanes(d);
  const size_t pass_rows = HWY_MAX(kPassBytes / HWY_MAX(row_bytes, 1) / kTileRows, 1) * kTileRows;

  // Rows that remain go to ever smaller tiles, as nothing may be stored outside of the block.
  const auto column = [&](auto at_0, auto at_1, size_t r, size_t end, size_t c) HWY_ATTR {
    for (; r + kTileRows <= end; r += kTileRows) fn(RowsTag<kTileRows>(), at_0, at_1, r, c);
    const auto next = WithLanes(at_1);
    if constexpr (kTileRows > 4) {
      if (r + 4 <= end) fn(RowsTag<4>(), at_0, next, r, c), r += 4;
    }
    if (r + 2 <= end) fn(RowsTag<2>(), at_0, next, r, c), r += 2;
    if (r < end) fn(RowsTag<1>(), at_0, next, r, c);
  };
  for (size_t pass = rows.begin; pass < rows.end; pass += pass_rows) {
    const size_t end = HWY_MIN(pass + pass_rows, rows.end);
    size_t c = 0;
    for (; c + 2 * n <= cols; c += 2 * n) column(Whole<D>(), Whole<D>(), pass, end, c);
    if (c == cols) continue;
    const size_t left = cols - c;
    if constexpr (kTileRows > 4) {  // four rows wait for their sums, whatever the columns
      if (left <= n) {
        column(Part<D>(left), NoLanes<D>(), pass, end, c);
        continue;
      }
    }
    column(Part<D>(HWY_MIN(n, left)), Part<D>(left - HWY_MIN(n, left)), pass, end, c);
  }
}

/// The rows of x @ y in register tiles: DotTile<Dot, kRows>::Run computes one. `start` says what
/// its sums begin with, `finish` gets them.
template <template <class, size_t> class DotTile, class Dot, class X, class Y, class Start,
          class Finish>
HWY_INLINE void MultiplyTiles(RowRange rows, const X x, const Y y, const Start& start,
                              const Finish& finish) {
  // A vector of int32 has the columns of one of floats.
  using Column = std::conditional_t<sizeof(typename Dot::Acc) == 8, double, float>;
  const hn::ScalableTag<Column> d;
  if constexpr (kMayLie<Dot>) {
    if (y.lies != nullptr)
      return MultiplyFewRows<Dot>(d, rows.begin, rows.end, x, y, start, finish);
  }
  ForTiles(d, rows, y.cols, x.depth * sizeof(*x.words),
           [&](auto tile_rows, auto at_0, auto at_1, size_t r, size_t c)
               HWY_ATTR { DotTile<Dot, tile_rows()>::Run(x, y, at_0, at_1, r, c, start, finish); });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
