// The loop over register tiles: 8 rows of x by three vectors of columns of y, or by the two or one
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

// Of 16 registers twelve are sums, three have y and one x. Two vectors of columns would be eight
// sums, as many as the units are deep: 5 to 17 % slower (AVX2, f32, bf16 and int8).
constexpr size_t kTileVectors = 3;
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr size_t kTileRows = 4;
#else
constexpr size_t kTileRows = 8;
#endif

constexpr size_t kPanelRows = 4;
constexpr bool kTallTiles = kTileRows > kPanelRows;

// Of a column of y, in a block. What four rows of x meet comes out of an L1 of 32 KiB (f32 of 512
// and more 13 % faster than with 6 KiB); eight take so long that the L2 will do, and `x` where it
// lies is to stay in the L1. To load and store sums for a second block costs four rows more than to
// read a block somewhat larger than the L1 (f32 of 384 and 512 4 to 7 % faster in one).
constexpr int64_t kDepthBytes = kTallTiles ? 6144 : 1536;
constexpr int64_t kOnlyDepthBytes = kTallTiles ? kDepthBytes : 2048;

/// Whether register tiles may read a y of T where it lies: elements are words.
template <class D, typename T>
constexpr bool kRowsMayLie = kMaskedAccess<T> && (std::is_same_v<T, typename D::Word>);

/// How a dot reads a y whose rows are so many elements apart.
template <class D, typename T>
RightWay RightWayFor(int64_t rows, int64_t depth, int64_t stride) {
  return kiln::RightWayFor({rows, depth, stride * int64_t{sizeof(T)}}, kMayGoAlong<D>,
                           kRowsMayLie<D, T>, kTallTiles);
}

// Half of an L2 of 1 MiB: rows of x that stay there while all panels of y pass by.
constexpr size_t kPassBytes = size_t{512} << 10;

/// Columns of a block, with those that its last panel has besides: none is of one vector.
template <typename Word = float>
HWY_INLINE size_t PaddedCols(size_t cols) {
  const size_t n = hn::Lanes(hn::ScalableTag<Word>());
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

/// Those from `low` on and before `high` of which a block has `rows`; and some around them, since
/// tiles begin where panels do, and one for a whole panel is faster than the small ones of a rest.
inline RowRange LiveRows(int64_t low, int64_t high, size_t rows) {
  const RowRange live = Within(low, high, rows);
  return {live.begin / kPanelRows * kPanelRows, HWY_MIN(RoundUp(live.end, kPanelRows), rows)};
}

/// A vector of columns that a narrow tile does not have: a type of its own, so that such tiles do
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
constexpr bool kIsPart = false;
template <class D>
constexpr bool kIsPart<Part<D>> = true;

template <class At>
constexpr bool kIsWhole = false;
template <class D>
constexpr bool kIsWhole<Whole<D>> = true;

/// Vectors of columns of a tile, and of a panel of y, where so many are left: not one of several,
/// as that needs a load for each multiplication.
HWY_INLINE size_t TileVectors(size_t left) {
  return left == kTileVectors + 1 ? 2 : HWY_MIN(left, kTileVectors);
}

/// Calls fn(rows, at_0, at_1, at_2, r, c) for each register tile: `rows()` is 8, 4, 2 or 1 and a
/// constant, at_0, at_1 and at_2 are its vectors of columns. `d` is the tag of the accumulators and
/// `row_bytes` the size of a row of x.
template <class D, class Fn>
HWY_INLINE void ForTiles(D d, RowRange rows, size_t cols, size_t row_bytes, const Fn& fn) {
  using None = NoLanes<D>;
  const size_t n = hn::Lanes(d);
  const size_t pass_rows = HWY_MAX(kPassBytes / HWY_MAX(row_bytes, 1) / kTileRows, 1) * kTileRows;

  // Rows that remain go to ever smaller tiles, as nothing may be stored outside of the block. They
  // are few: fewer kinds of tiles do for them.
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
      } else {  // four rows wait for their sums, whatever the columns
        column(pass, c, part(0), None(), None());
      }
    }
  }
}

/// No output, or several.
struct NoTile {};
HWY_INLINE bool StreamsPieces(size_t, NoTile) { return false; }

/// Whether the rows of register tiles can be whole lines of an output, as stores past the caches
/// have to be: bf16 takes half a line for each vector. (Such tiles are functions of their own,
/// which take time to compile.)
template <class To>
constexpr bool kMayStream = false;
constexpr size_t kTileFloats = kTileVectors * hn::MaxLanes(hn::ScalableTag<float>());
template <typename T, int V>
constexpr bool kMayStream<Tile<T, V>> = sizeof(T) * kTileFloats % 64 == 0;

/// The rows of x @ y in register tiles: DotTile<Dot, kRows>::Run computes one. `start` says what
/// its sums begin with, `finish` gets them. `to`: the tile of an output, if `finish` does nothing
/// but store to (r, c) of that: a large one goes past the caches.
template <template <class, size_t> class DotTile, class Dot, class X, class Y, class Start,
          class Finish, class To = NoTile>
HWY_INLINE void MultiplyTiles(RowRange rows, const X x, const Y y, const Start& start,
                              const Finish& finish, const To& to = To()) {
  // A vector of int32 has the columns of one of floats.
  using Column = std::conditional_t<sizeof(typename Dot::Acc) == 8, double, float>;
  const hn::ScalableTag<Column> d;
  if constexpr (kMayGoAlong<Dot>) {
    if (y.along != nullptr)
      return MultiplyFewRows<Dot>(d, rows.begin, rows.end, x, y, start, finish);
  }
  [[maybe_unused]] const bool streams = StreamsPieces(kTileVectors * hn::Lanes(d), to);
  ForTiles(d, rows, y.cols, x.depth * sizeof(*x.words),
           [&](auto tile_rows, auto at_0, auto at_1, auto at_2, size_t r, size_t c) HWY_ATTR {
             using Register = DotTile<Dot, tile_rows()>;
             if constexpr (kMayStream<To> && kIsWhole<decltype(at_0)>) {
               const Streamed<hn::ScalableTag<Column>> at;
               if (streams) return Register::Run(x, y, at, at, at, r, c, start, finish);
             }
             Register::Run(x, y, at_0, at_1, at_2, r, c, start, finish);
           });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
