// The register tile: kRows rows of A by up to three vectors of columns of B, over the K of a block.
// The library compiles it once for each instruction set and kind of arithmetic (tile_*.cc); a
// kernel sees tile_operands-inl.h alone, and finds the sums in memory, which is the L1.
#if defined(KILN_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TILE_INL_H_
#undef KILN_TILE_INL_H_
#else
#define KILN_TILE_INL_H_
#endif

#include <stddef.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/dot/register_sums-inl.h"
#include "kiln/dot/tile_operands-inl.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vector v of a row of B, if the tile has one: all of its lanes, or the first `count`, where
/// reading more may leave the array.
template <size_t kVectors, size_t kVector, class D>
HWY_INLINE auto LoadColumns(D d, const hn::TFromD<D>* row) {
  if constexpr (kVector < kVectors) {
    return hn::LoadU(d, row + kVector * hn::Lanes(d));
  } else {
    return NoColumns();
  }
}
template <size_t kVectors, size_t kVector, class D>
HWY_INLINE auto LoadColumns(D d, const hn::TFromD<D>* row, size_t count) {
  if constexpr (kVector < kVectors) {
    const size_t before = kVector * hn::Lanes(d);
    return LoadFirst(d, row + before, HWY_MIN(count - HWY_MIN(before, count), hn::Lanes(d)));
  } else {
    return NoColumns();
  }
}

/// `kAsksForRows`: see LinesAhead. (Two loops in one function would copy accumulators.)
template <class D, class Steps, size_t kRows, size_t kVectors, bool kAsksForRows = false>
HWY_NOINLINE void RegisterTile(const TileOperands<D, Steps>& tile) {
  WithRegisterSums<D, kRows, kVectors>(tile, [&](const auto& for_rows) KILN_INLINE_ATTR {
    using KGroup = typename D::KGroup;
    const hn::ScalableTag<KGroup> dk;
    // Rows of the first panel of A and of the second.
    const Steps a = tile;
    const KGroup *low = tile.a, *high = tile.a + tile.to_panel;
    const size_t depth = tile.depth;
    if constexpr (D::kFlip != 0) {
      // What undoes a flip of B is stored after the last k. (Added there, GCC would copy all
      // accumulators.)
      const ptrdiff_t end = static_cast<ptrdiff_t>(depth) * a.to_k;
      for_rows([&](auto i, auto& sum_0, auto& sum_1, auto& sum_2) KILN_INLINE_ATTR {
        D::StartRow((i < 4 ? low : high) + end + i % 4, sum_0, sum_1, sum_2);
      });
    }

    const ptrdiff_t to_row = a.to_row;
    const auto step = [&](auto b_0, auto b_1, auto b_2) KILN_INLINE_ATTR {
      for_rows([&](auto i, auto& sum_0, auto& sum_1, auto& sum_2) KILN_INLINE_ATTR {
        constexpr ptrdiff_t kRow{i % 4};
        D::StepRow((i < 4 ? low : high)[kRow * to_row], b_0, b_1, b_2, sum_0, sum_1, sum_2);
      });
      low += a.to_k;
      high += a.to_k;
    };
    const KGroup* row = tile.b;
    const ptrdiff_t b_to_k = tile.b_to_k;
    const auto next_k = [&]() KILN_INLINE_ATTR {
      step(LoadColumns<kVectors, 0>(dk, row), LoadColumns<kVectors, 1>(dk, row),
           LoadColumns<kVectors, 2>(dk, row));
      row += b_to_k;
    };
    // Unrolled by two to amortise the loop and the prefetches.
    const size_t last = tile.last;
    LinesAhead ahead = tile.ahead;
    [[maybe_unused]] size_t asked = 0;
    size_t k = 0;
    for (; k + 1 < last; k += 2) {
      if constexpr (kAsksForRows) {
        PrefetchToL2(ahead.first);
        PrefetchToL2(ahead.first + kLineBytes);
        ahead.first += ahead.step;
        if (++asked == ahead.rows) asked = 0, ahead.first += ahead.to_next_lines;
      } else if constexpr (kTilesOf8Rows) {
        PrefetchToL2(ahead.first);
        ahead.first += ahead.step;
      }
      next_k();
      next_k();
    }
    if constexpr (kCanReadUnpackedB<D, typename D::B>) {
      for (const size_t cols = tile.cols; k < depth; ++k, row += b_to_k) {
        step(LoadColumns<kVectors, 0>(dk, row, cols), LoadColumns<kVectors, 1>(dk, row, cols),
             LoadColumns<kVectors, 2>(dk, row, cols));
      }
    } else {
      if (k < depth) next_k();
    }
  });
}

template <class D, class Steps, size_t kRows>
HWY_INLINE void TileOfRows(const TileOperands<D, Steps>& tile, size_t vectors) {
  if constexpr (kRows == kTileRows) {
    if (vectors == 3 && tile.ahead.is_of_rows) return RegisterTile<D, Steps, kRows, 3, true>(tile);
  }
  if (vectors == 3) return RegisterTile<D, Steps, kRows, 3>(tile);
  if (vectors == 2) return RegisterTile<D, Steps, kRows, 2>(tile);
  RegisterTile<D, Steps, kRows, 1>(tile);
}

/// A tile of AMX, which has a row of A in each panel.
template <class D, class Steps>
AmxTile AmxTileOf(const TileOperands<D, Steps>& tile) {
  constexpr ptrdiff_t kKGroup{sizeof(*tile.a)}, kAcc{sizeof(*tile.sums)};
  return {reinterpret_cast<const char*>(tile.a),
          tile.to_panel * kKGroup,
          reinterpret_cast<const char*>(tile.b),
          tile.b_to_k * kKGroup,
          tile.depth,
          reinterpret_cast<char*>(tile.sums),
          tile.sums_to_row * kAcc,
          tile.sums_to_vector * kAcc,
          tile.from_zero};
}

template <class D, class Steps>
void MultiplyTile(const TileOperands<D, Steps>& tile, size_t rows, size_t vectors) {
  if constexpr (D::kAmx != AmxElements::kNone) {
    if (tile.amx != nullptr) return tile.amx->Multiply(D::kAmx, AmxTileOf(tile), rows, vectors);
  }
  if constexpr (kTilesOf8Rows) {
    if (rows == 8) return TileOfRows<D, Steps, 8>(tile, vectors);
  }
  if (rows == 4) return TileOfRows<D, Steps, 4>(tile, vectors);
  if (rows == 2) return TileOfRows<D, Steps, 2>(tile, vectors);
  TileOfRows<D, Steps, 1>(tile, vectors);
}

/// Compiles the tiles of a kind of arithmetic, for the library.
#undef KILN_COMPILE_TILES
#define KILN_COMPILE_TILES(D, Steps) \
  template void MultiplyTile<D, Steps>(const TileOperands<D, Steps>&, size_t, size_t)

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
