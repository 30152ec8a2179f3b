// Products that add up over *taps*: a tap is a window of A and the matrix of B that it is
// multiplied with. A convolution has one for each element of its filter. A register tile keeps its
// sums through all of them, so that no sum is stored between taps; windows of floats are read where
// they are, others are gathered row by row.
#if defined(KILN_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TAPS_INL_H_
#undef KILN_TAPS_INL_H_
#else
#define KILN_TAPS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/dot/gathered_taps-inl.h"
#include "kiln/dot/panels-inl.h"
#include "kiln/dot/tap_list-inl.h"
#include "kiln/dot/tiles-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What a register tile multiplies, and where its sums are.
template <class D>
struct TapTile {
  using KGroup = typename D::KGroup;
  using Acc = typename D::Acc;

  const KGroup* rows[kTileRows] = {};  // of the first tap's window
  const Tap<KGroup>* taps = nullptr;
  size_t count = 0, depth = 0;
  ptrdiff_t columns = 0;  // from a tap's panels to those of the tile
  ptrdiff_t b_to_k = 0;
  // Of B, ahead: from a tap's panels to what is prefetched, a piece with every second k.
  ptrdiff_t ahead = 0;
  ptrdiff_t piece = 0;

  // A vector's lanes are neighbours.
  Acc* sums = nullptr;
  ptrdiff_t sums_to_row = 0, sums_to_vector = 0;
  bool from_zero = false;  // else from what the sums are

  AmxRegisters* amx = nullptr;  // what multiplies, where the CPU has it
  ptrdiff_t to_row = 0;         // k-groups from one row to the next, for AMX
};

/// Adds all taps to the sums of kTileRows rows, or of half of them, by up to three vectors; with
/// AMX, to those of as many rows as AmxRegisters multiply. The library has it.
template <class D>
void MultiplyTapTile(const TapTile<D>& tile, size_t rows, size_t vectors);

/// Calls fn(tile, tile_rows, rows, vectors, r, c) for each register tile, of which the first `rows`
/// rows exist: the others are the last one again, as nothing outside of the windows may be read.
template <class Dot, class Fn>
HWY_INLINE void ForTapTiles(const Taps<Dot>& taps, const Fn& fn) {
  using D = typename Dot::Arithmetic;
  using KGroup = typename D::KGroup;
  constexpr bool kMayBeAmx = D::kAmx != AmxElements::kNone;
  const size_t n = hn::Lanes(hn::ScalableTag<KGroup>());
  const size_t count = taps.row_count, to_row = taps.ToRow();
  TapTile<D> tile;
  tile.taps = taps.list, tile.count = taps.count, tile.depth = taps.groups;
  tile.to_row = static_cast<ptrdiff_t>(to_row);
  std::conditional_t<kMayBeAmx, AmxRegisters, NoAmx> amx;
  if constexpr (kMayBeAmx) {
    if (UsesAmx<D>()) tile.amx = &amx;
  }
  // The rows of windows that stay in the L2 while all panels of B are read.
  const size_t row_bytes = taps.groups * sizeof(KGroup);
  const size_t l2_bytes = kTypicalCpu.l2_bytes;
  const bool gathers = kGathersTaps<Dot> && taps.gathered != nullptr;
  const size_t pass =
      gathers ? GatheredRows<Dot>(to_row)
              : HWY_MAX(l2_bytes / 2 / HWY_MAX(row_bytes, 1) / kTileRows, 1) * kTileRows;
  // A large B has left the L2 when the next rows are multiplied (as ViewOfB has it).
  const bool large = taps.count * taps.cols * row_bytes > l2_bytes / 4;
  for (size_t begin = 0; begin < count; begin += pass) {
    const size_t end = HWY_MIN(begin + pass, count);
    if constexpr (kGathersTaps<Dot>) {
      if (gathers) GatherTaps(taps, begin, end);
    }
    for (size_t c = 0, vectors = 0; c < taps.cols; c += vectors * n) {
      vectors = TileVectors(DivUp(taps.cols - c, n));
      const size_t width = HWY_MAX(vectors, 2) * n;
      tile.columns = static_cast<ptrdiff_t>(c * (taps.groups + 1));
      tile.b_to_k = static_cast<ptrdiff_t>(width);
      RowWalk walk(taps.rows, begin);
      for (size_t r = begin; r < end;) {
        const size_t tile_rows = tile.amx != nullptr       ? AmxRowsOf(end - r)
                                 : end - r > kTileRows / 2 ? kTileRows
                                                           : kTileRows / 2;
        const size_t rows = HWY_MIN(tile_rows, end - r);
        for (size_t i = 0; i < HWY_MIN(tile_rows, kTileRows); ++i) {
          if (gathers) {
            tile.rows[i] = taps.gathered + (r - begin + HWY_MIN(i, rows - 1)) * to_row;
          } else {
            tile.rows[i] = reinterpret_cast<const KGroup*>(taps.windows[0] + walk.offset());
            if (i + 1 < rows || (i < rows && r + rows < end)) walk.Next();
          }
        }
        if (large && kTilesOf8Rows) {
          const size_t next = c + vectors * n < taps.cols ? c + vectors * n : 0;
          const size_t eighth = r / kTileRows % 8;
          tile.ahead =
              static_cast<ptrdiff_t>(next * (taps.groups + 1) + eighth * taps.groups * (width / 8));
          tile.piece = static_cast<ptrdiff_t>(width / 4);
        }
        fn(tile, tile_rows, rows, vectors, r, c);
        r += rows;
      }
    }
  }
}

/// Multiplies the first `row_count` rows of all taps. For each vector of a tile `start(at, r, c)`
/// gives what its sums begin with, if it gives anything, and `finish(at, sum, r, c)` gets them.
template <class Dot, size_t kMost, class Start = Nothing, class Finish = Nothing>
HWY_INLINE void MultiplyTaps(size_t row_count, TapList<Dot, kMost>& list, TileSums,
                             const Start& start = Start(), const Finish& finish = Finish()) {
  using D = ColumnTag<Dot>;
  using Acc = typename Dot::Acc;
  using Arithmetic = typename Dot::Arithmetic;
  constexpr hn::ScalableTag<Acc> da;
  constexpr bool kGives = kStartGives<D, Start>;
  constexpr size_t kRows = kMostTileRows<Arithmetic>;
  const Taps<Dot>& taps = list.Get(row_count);
  const size_t n = hn::Lanes(da);
  HWY_ALIGN Acc own[kRows * kTileVectors * hn::MaxLanes(da)];
  ForTapTiles(taps, [&](TapTile<Arithmetic>& tile, size_t tile_rows, size_t rows, size_t vectors,
                        size_t r, size_t c) HWY_ATTR {
    const auto for_vectors = [&](const auto& fn) HWY_ATTR {
      for (size_t i = 0; i < rows; ++i) {
        for (size_t v = 0; v < vectors && c + v * n < taps.cols; ++v) {
          const size_t left = taps.cols - c - v * n;
          Acc* const sums = own + (v * kRows + i) * n;
          if (left >= n)
            fn(Whole<D>(), sums, r + i, c + v * n);
          else
            fn(Part<D>(left), sums, r + i, c + v * n);
        }
      }
    };
    tile.sums = own, tile.sums_to_row = static_cast<ptrdiff_t>(n);
    tile.sums_to_vector = static_cast<ptrdiff_t>(kRows * n);
    tile.from_zero = !kGives;
    if constexpr (!std::is_same_v<Start, Nothing> && (kGives || kTilesPrefetch)) {
      for_vectors([&](auto lanes, [[maybe_unused]] Acc* sums, size_t i, size_t j) HWY_ATTR {
        const AsTileBegins<decltype(lanes)> at{lanes, /*is_odd=*/j == c + n};
        if constexpr (kGives) {
          hn::Store(start(at, i, j), da, sums);
        } else {
          start(at, i, j);
        }
      });
    }
    MultiplyTapTile(tile, tile_rows, vectors);
    for_vectors([&](auto at, const Acc* sums, size_t i, size_t j)
                    HWY_ATTR { finish(at, hn::Load(da, sums), i, j); });
  });
}

/// Adds all taps to rows of a block. Tiles of whole vectors work on them where they are. The
/// library has this for f32, bf16 and i8.
template <class Dot>
HWY_NOINLINE void AddTaps(const Taps<Dot>& taps, const SumsInRows<typename Dot::Acc>& sums) {
  using D = ColumnTag<Dot>;
  using Acc = typename Dot::Acc;
  using Arithmetic = typename Dot::Arithmetic;
  constexpr hn::ScalableTag<Acc> da;
  constexpr size_t kRows = kMostTileRows<Arithmetic>;
  const size_t n = hn::Lanes(da);
  // A tile of so many k-groups waits long enough for the rows that it will store.
  const bool prefetches = sums.from_zero && taps.count * taps.groups >= 64;
  HWY_ALIGN Acc own[kRows * kTileVectors * hn::MaxLanes(da)];
  ForTapTiles(taps, [&](TapTile<Arithmetic>& tile, size_t tile_rows, size_t rows, size_t vectors,
                        size_t r, size_t c) HWY_ATTR {
    if (rows == tile_rows && c + vectors * n <= taps.cols) {
      for (size_t i = 0; prefetches && i < rows; ++i) {
        for (size_t v = 0; v < vectors; ++v) PrefetchToL1(sums.At(r + i, c + v * n));
      }
      tile.sums = sums.At(r, c), tile.sums_to_row = sums.to_row;
      tile.sums_to_vector = static_cast<ptrdiff_t>(n);
      tile.from_zero = sums.from_zero;
      return MultiplyTapTile(tile, tile_rows, vectors);
    }
    const auto for_parts = [&](const auto& fn) HWY_ATTR {
      for (size_t i = 0; i < rows; ++i) {
        for (size_t v = 0; v < vectors && c + v * n < taps.cols; ++v) {
          fn(Part<D>(HWY_MIN(taps.cols - c - v * n, n)), own + (v * kRows + i) * n,
             sums.At(r + i, c + v * n));
        }
      }
    };
    tile.sums = own, tile.sums_to_row = static_cast<ptrdiff_t>(n);
    tile.sums_to_vector = static_cast<ptrdiff_t>(kRows * n);
    tile.from_zero = sums.from_zero;
    if (!sums.from_zero) {
      for_parts([&](auto at, Acc* sum, const Acc* from)
                    HWY_ATTR { hn::Store(at.Load(from), da, sum); });
    }
    MultiplyTapTile(tile, tile_rows, vectors);
    for_parts([&](auto at, const Acc* sum, Acc* to) HWY_ATTR { at.Store(hn::Load(da, sum), to); });
  });
}
#undef KILN_TAPS
#ifdef KILN_COMPILES_TAPS
#define KILN_TAPS template
#else
#define KILN_TAPS extern template
#endif
KILN_TAPS void AddTaps(const Taps<Dot<float>>&, const SumsInRows<float>&);
KILN_TAPS void AddTaps(const Taps<Dot<bf16>>&, const SumsInRows<float>&);
KILN_TAPS void AddTaps(const Taps<Dot<int8_t>>&, const SumsInRows<int32_t>&);
KILN_TAPS void GatherTaps(const Taps<Dot<bf16>>&, size_t begin, size_t end);
KILN_TAPS void GatherTaps(const Taps<Dot<int8_t>>&, size_t begin, size_t end);

template <class Dot, size_t kMost>
HWY_INLINE void MultiplyTaps(size_t row_count, TapList<Dot, kMost>& list,
                             const SumsInRows<typename Dot::Acc>& sums) {
  AddTaps(list.Get(row_count), sums);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
