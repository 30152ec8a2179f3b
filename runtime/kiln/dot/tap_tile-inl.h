// The register tile of taps: as that of tile-inl.h, but each row of A has an address of its own,
// and the sums stay in registers from one tap to the next.
#if defined(KILN_TAP_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TAP_TILE_INL_H_
#undef KILN_TAP_TILE_INL_H_
#else
#define KILN_TAP_TILE_INL_H_
#endif

#include <stddef.h>

#include "kiln/core/version.h"
#include "kiln/dot/taps-inl.h"
#include "kiln/dot/tile-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, size_t kRows, size_t kVectors>
HWY_NOINLINE void RegisterTapTile(const TapTile<D>& tile) {
  WithRegisterSums<D, kRows, kVectors>(tile, [&](const auto& for_rows) KILN_INLINE_ATTR {
    using KGroup = typename D::KGroup;
    const hn::ScalableTag<KGroup> dk;
    const KGroup* a[kRows];
    for_rows([&](auto i, auto&...) KILN_INLINE_ATTR { a[i] = tile.rows[i]; });
    if constexpr (D::kFlip != 0) {
      const size_t start = tile.count * tile.depth;
      for_rows([&](auto i, auto& sum_0, auto& sum_1, auto& sum_2)
                   KILN_INLINE_ATTR { D::StartRow(a[i] + start, sum_0, sum_1, sum_2); });
    }
    const ptrdiff_t b_to_k = tile.b_to_k, piece = tile.piece;
    for (size_t t = 0; t < tile.count; ++t) {
      const KGroup* row = tile.taps[t].panels + tile.columns;
      const KGroup* ahead = tile.taps[t].panels + tile.ahead;
      ptrdiff_t k = tile.taps[t].k;
      const ptrdiff_t end = k + static_cast<ptrdiff_t>(tile.depth);
      const auto next_k = [&]() KILN_INLINE_ATTR {
        const auto b_0 = LoadColumns<kVectors, 0>(dk, row);
        const auto b_1 = LoadColumns<kVectors, 1>(dk, row);
        const auto b_2 = LoadColumns<kVectors, 2>(dk, row);
        for_rows([&](auto i, auto& sum_0, auto& sum_1, auto& sum_2)
                     KILN_INLINE_ATTR { D::StepRow(a[i][k], b_0, b_1, b_2, sum_0, sum_1, sum_2); });
        row += b_to_k;
        ++k;
      };
      while (k + 1 < end) {
        if constexpr (kTilesOf8Rows) {
          PrefetchToL2(ahead);
          ahead += piece;
        }
        next_k();
        next_k();
      }
      if (k < end) next_k();
    }
  });
}

template <class D, size_t kRows>
HWY_INLINE void TapTileOfRows(const TapTile<D>& tile, size_t vectors) {
  if (vectors == 3) return RegisterTapTile<D, kRows, 3>(tile);
  if (vectors == 2) return RegisterTapTile<D, kRows, 2>(tile);
  RegisterTapTile<D, kRows, 1>(tile);
}

/// AMX has no room for addresses of rows: taps are tiles, one after the other.
template <class D>
void MultiplyTapsByAmx(const TapTile<D>& tile, size_t rows, size_t vectors) {
  constexpr ptrdiff_t kKGroup{sizeof(typename D::KGroup)}, kAcc{sizeof(typename D::Acc)};
  for (size_t t = 0; t < tile.count; ++t) {
    const Tap<typename D::KGroup>& tap = tile.taps[t];
    tile.amx->Multiply(
        D::kAmx,
        {reinterpret_cast<const char*>(tile.rows[0] + tap.k), tile.to_row * kKGroup,
         reinterpret_cast<const char*>(tap.panels + tile.columns), tile.b_to_k * kKGroup,
         tile.depth, reinterpret_cast<char*>(tile.sums), tile.sums_to_row * kAcc,
         tile.sums_to_vector * kAcc, tile.from_zero && t == 0},
        rows, vectors);
  }
}

template <class D>
void MultiplyTapTile(const TapTile<D>& tile, size_t rows, size_t vectors) {
  if constexpr (D::kAmx != AmxElements::kNone) {
    if (tile.amx != nullptr) return MultiplyTapsByAmx(tile, rows, vectors);
  }
  if (rows == kTileRows) return TapTileOfRows<D, kTileRows>(tile, vectors);
  TapTileOfRows<D, kTileRows / 2>(tile, vectors);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
