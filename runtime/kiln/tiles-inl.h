// The loop over register tiles: 8 rows of A by three vectors of columns of B, or by the two or one
// that are left of them, where there are 32 vector registers; 4 rows elsewhere.
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
#include "kiln/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Of 16 registers twelve are sums, three have B and one A. Two vectors of columns would be eight
// sums, as many as the units are deep: 5 to 17 % slower (AVX2, f32, bf16 and int8).
constexpr size_t kTileVectors = 3;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr size_t kTileRows = 4;
#else
constexpr size_t kTileRows = 8;
#endif

constexpr size_t kPanelRows = 4;
constexpr bool kTilesOf8Rows = kTileRows > kPanelRows;

// KC in bytes of a column of B. Tiles of four rows read B from an L1 of 32 KiB (f32 of 512 and more
// 13 % faster than with 6 KiB). Tiles of eight take so long that the L2 will do, and an unpacked A
// is to stay in the L1. A second block in K makes tiles of four rows load and store their sums,
// which costs more than a block somewhat larger than the L1 (f32 of 384 and 512 4 to 7 % faster in
// one).
constexpr int64_t kKCBytes = kTilesOf8Rows ? 6144 : 1536;
constexpr int64_t kSingleKCBytes = kTilesOf8Rows ? kKCBytes : 2048;

/// Whether register tiles can read a B of T unpacked: its k-groups are single elements.
template <class D, typename T>
constexpr bool kCanReadUnpackedB = kMaskedAccess<T> && (std::is_same_v<T, typename D::KGroup>);

/// How a dot reads a B whose rows are `stride` elements apart.
template <class D, typename T>
BAccess ChooseBAccess(int64_t rows, int64_t depth, int64_t stride) {
  return kiln::ChooseBAccess({rows, depth, stride * int64_t{sizeof(T)}}, kCanStreamRows<D>,
                             kCanReadUnpackedB<D, T>, kTilesOf8Rows);
}

// Half of an L2 of 1 MiB: the rows of A that stay there while all panels of B are read.
constexpr size_t kPassBytes = size_t{512} << 10;

/// Columns of a packed block: whole vectors, at least two, as no panel has one alone.
template <typename KGroup = float>
HWY_INLINE size_t PaddedCols(size_t cols) {
  const size_t n = hn::Lanes(hn::ScalableTag<KGroup>());
  return HWY_MAX(RoundUp(cols, n), 2 * n);
}

/// Accumulators of a block are kept by vectors of columns: all rows of the first, then those of the
/// next. So the registers of a tile are a few contiguous pieces.
template <typename Acc = float>
HWY_INLINE size_t TileOffset(size_t rows, size_t r, size_t c) {
  return c * RoundUp(rows, kTileRows) + r * hn::Lanes(hn::ScalableTag<Acc>());
}

/// Elements of a buffer for the accumulators of a block of this size, or of a smaller one.
inline size_t AccumulatorSize(size_t rows, size_t cols) {
  return RoundUp(rows, kTileRows) * PaddedCols(cols);
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

/// The rows from `low` on and before `high` of a block of `rows`, widened to whole panels: tiles
/// begin where panels do, and a whole tile is faster than the small ones of a remainder.
inline RowRange LiveRows(int64_t low, int64_t high, size_t rows) {
  const RowRange live = Within(low, high, rows);
  return {live.begin / kPanelRows * kPanelRows, HWY_MIN(RoundUp(live.end, kPanelRows), rows)};
}

/// A vector of columns that a narrow tile does not have. It is a type of its own so that such tiles
/// compute nothing for it.
template <class D>
struct NoLanes : Part<D> {
  NoLanes() : Part<D>(0) {}
};
template <class At>
constexpr bool kHasLanes = true;
template <class D>
constexpr bool kHasLanes<NoLanes<D>> = false;

template <class At>
constexpr bool kIsPart = false;
template <class D>
constexpr bool kIsPart<Part<D>> = true;

template <class At>
constexpr bool kIsWhole = false;
template <class D>
constexpr bool kIsWhole<Whole<D>> = true;

/// Vectors of columns of a tile, and of a panel of B, where `left` remain. Four are two and two, as
/// a tile of one vector loads B for each multiplication.
HWY_INLINE size_t TileVectors(size_t left) {
  return left == kTileVectors + 1 ? 2 : HWY_MIN(left, kTileVectors);
}

/// Calls fn(rows, at_0, at_1, at_2, r, c) for each register tile: `rows()` is 8, 4, 2 or 1 and a
/// constant, at_0, at_1 and at_2 are its vectors of columns. `d` is the tag of the accumulators and
/// `row_bytes` the size of a row of A.
template <class D, class Fn>
HWY_INLINE void ForTiles(D d, RowRange rows, size_t cols, size_t row_bytes, const Fn& fn) {
  using None = NoLanes<D>;
  const size_t n = hn::Lanes(d);
  const size_t pass_rows = HWY_MAX(kPassBytes / HWY_MAX(row_bytes, 1) / kTileRows, 1) * kTileRows;

  // Remaining rows are computed by ever smaller tiles, as nothing outside of the block may be
  // stored. Their columns are always masked, which saves kinds of tiles.
  const auto rest = [&](RowRange range, size_t c, auto at_0, auto at_1, auto at_2) HWY_ATTR {
    size_t r = range.begin;
    const auto tile = [&](auto tile_rows) HWY_ATTR {
      if (r + tile_rows() > range.end) return;
      fn(tile_rows, at_0, at_1, at_2, r, c);
      r += tile_rows();
    };
    if constexpr (kTileRows > 4) tile(RowsTag<4>());
    tile(RowsTag<2>());
    tile(RowsTag<1>());
  };
  const auto column = [&](RowRange range, size_t c, auto at_0, auto at_1, auto at_2) HWY_ATTR {
    const size_t whole = range.end - (range.end - range.begin) % kTileRows;
    for (size_t r = range.begin; r < whole; r += kTileRows)
      fn(RowsTag<kTileRows>(), at_0, at_1, at_2, r, c);
    if (whole == range.end) return;
    const Part<D> part_0(at_0.lanes()), part_1(at_1.lanes());
    if constexpr (kHasLanes<decltype(at_2)>) {
      rest({whole, range.end}, c, part_0, part_1, Part<D>(at_2.lanes()));
    } else {
      rest({whole, range.end}, c, part_0, part_1, None());
    }
  };
  for (size_t begin = rows.begin; begin < rows.end; begin += pass_rows) {
    const RowRange pass(begin, HWY_MIN(begin + pass_rows, rows.end));
    for (size_t c = 0, vectors = 0; c < cols; c += vectors * n) {
      vectors = TileVectors(DivUp(cols - c, n));
      if (vectors == kTileVectors && c + vectors * n <= cols) {
        column(pass, c, Whole<D>(), Whole<D>(), Whole<D>());
        continue;
      }
      const size_t left = cols - c;
      const auto part = [&](size_t v) { return Part<D>(HWY_MIN(n, left - HWY_MIN(v * n, left))); };
      if (vectors == 3) {
        column(pass, c, part(0), part(1), part(2));
      } else if (vectors == 2) {
        column(pass, c, part(0), part(1), None());
      } else {
        column(pass, c, part(0), None(), None());
      }
    }
  }
}

/// No output, or several.
struct NoTile {};
HWY_INLINE bool StreamsPieces(size_t, NoTile) { return false; }

/// Whether the rows of register tiles can be whole lines of an output, as streaming stores must be:
/// a vector of bf16 is half a line. (Such tiles are functions of their own,
/// which take time to compile.)
template <class To>
constexpr bool kMayStream = false;
constexpr size_t kTileFloats = kTileVectors * hn::MaxLanes(hn::ScalableTag<float>());
template <typename T, int V>
constexpr bool kMayStream<Tile<T, V>> = sizeof(T) * kTileFloats % 64 == 0;

/// The rows of A @ B in register tiles: DotTile<Dot, kRows>::Run computes one. `start` says what
/// its sums begin with, `finish` gets them. `to`: the tile of an output, if `finish` does nothing
/// but store to (r, c) of that: a large one is written by streaming stores.
template <template <class, size_t> class DotTile, class Dot, class A, class B, class Start,
          class Finish, class To = NoTile>
HWY_INLINE void MultiplyTiles(RowRange rows, const A a, const B b, const Start& start,
                              const Finish& finish, const To& to = To()) {
  // A vector of int32 has the columns of one of floats.
  using Column = std::conditional_t<sizeof(typename Dot::Acc) == 8, double, float>;
  const hn::ScalableTag<Column> d;
  if constexpr (kCanStreamRows<Dot>) {
    if (b.streamed != nullptr)
      return MultiplyStreamed<Dot>(d, rows.begin, rows.end, a, b, start, finish);
  }
  [[maybe_unused]] const bool streams = StreamsPieces(kTileVectors * hn::Lanes(d), to);
  ForTiles(d, rows, b.cols, a.depth * sizeof(*a.groups),
           [&](auto tile_rows, auto at_0, auto at_1, auto at_2, size_t r, size_t c) HWY_ATTR {
             using Register = DotTile<Dot, tile_rows()>;
             if constexpr (kMayStream<To> && kIsWhole<decltype(at_0)>) {
               const Streamed<hn::ScalableTag<Column>> at;
               if (streams) return Register::Run(a, b, at, at, at, r, c, start, finish);
             }
             Register::Run(a, b, at_0, at_1, at_2, r, c, start, finish);
           });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
