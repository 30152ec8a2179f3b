// The register tile of taps: as that of tile-inl.h, but each row of A has an address of its own,
// and the sums stay in registers from one tap to the next.
#if defined(KILN_TAP_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TAP_TILE_INL_H_
#undef KILN_TAP_TILE_INL_H_
#else
#define KILN_TAP_TILE_INL_H_
#endif

#include <stddef.h>

#include "kiln/dot/taps-inl.h"
#include "kiln/dot/tile-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, size_t kRows, size_t kVectors>
HWY_NOINLINE void RegisterTapTile(const TapTile<D>& tile) {
  using KGroup = typename D::KGroup;
  const hn::ScalableTag<KGroup> dk;
  const hn::ScalableTag<typename D::Acc> d;
  using V = hn::Vec<decltype(d)>;

  V acc_0_0 = hn::Zero(d), acc_0_1 = hn::Zero(d), acc_0_2 = hn::Zero(d);
  V acc_1_0 = hn::Zero(d), acc_1_1 = hn::Zero(d), acc_1_2 = hn::Zero(d);
  V acc_2_0 = hn::Zero(d), acc_2_1 = hn::Zero(d), acc_2_2 = hn::Zero(d);
  V acc_3_0 = hn::Zero(d), acc_3_1 = hn::Zero(d), acc_3_2 = hn::Zero(d);
  V acc_4_0 = hn::Zero(d), acc_4_1 = hn::Zero(d), acc_4_2 = hn::Zero(d);
  V acc_5_0 = hn::Zero(d), acc_5_1 = hn::Zero(d), acc_5_2 = hn::Zero(d);
  V acc_6_0 = hn::Zero(d), acc_6_1 = hn::Zero(d), acc_6_2 = hn::Zero(d);
  V acc_7_0 = hn::Zero(d), acc_7_1 = hn::Zero(d), acc_7_2 = hn::Zero(d);
  // Calls fn for each row with its sums.
  const auto for_rows = [&](auto fn) KILN_INLINE_ATTR {
    fn(size_t{0}, acc_0_0, acc_0_1, acc_0_2);
    if constexpr (kRows > 1) fn(size_t{1}, acc_1_0, acc_1_1, acc_1_2);
    if constexpr (kRows > 2) fn(size_t{2}, acc_2_0, acc_2_1, acc_2_2);
    if constexpr (kRows > 3) fn(size_t{3}, acc_3_0, acc_3_1, acc_3_2);
    if constexpr (kRows > 4) fn(size_t{4}, acc_4_0, acc_4_1, acc_4_2);
    if constexpr (kRows > 5) fn(size_t{5}, acc_5_0, acc_5_1, acc_5_2);
    if constexpr (kRows > 6) fn(size_t{6}, acc_6_0, acc_6_1, acc_6_2);
    if constexpr (kRows > 7) fn(size_t{7}, acc_7_0, acc_7_1, acc_7_2);
  };

  const auto at = [&tile](size_t i, ptrdiff_t vector) KILN_INLINE_ATTR {
    return tile.sums + static_cast<ptrdiff_t>(i) * tile.sums_to_row + vector * tile.sums_to_vector;
  };
  if (!tile.from_zero) {
    for_rows([&](size_t i, V& acc_0, V& acc_1, V& acc_2) KILN_INLINE_ATTR {
      acc_0 = hn::LoadU(d, at(i, 0));
      if constexpr (kVectors > 1) acc_1 = hn::LoadU(d, at(i, 1));
      if constexpr (kVectors > 2) acc_2 = hn::LoadU(d, at(i, 2));
    });
  }

  const KGroup* const a_0 = tile.rows[0];
  const KGroup* const a_1 = tile.rows[kRows > 1 ? 1 : 0];
  const KGroup* const a_2 = tile.rows[kRows > 2 ? 2 : 0];
  const KGroup* const a_3 = tile.rows[kRows > 3 ? 3 : 0];
  const KGroup* const a_4 = tile.rows[kRows > 4 ? 4 : 0];
  const KGroup* const a_5 = tile.rows[kRows > 5 ? 5 : 0];
  const KGroup* const a_6 = tile.rows[kRows > 6 ? 6 : 0];
  const KGroup* const a_7 = tile.rows[kRows > 7 ? 7 : 0];
  const auto step = [&](ptrdiff_t k, auto b_0, auto b_1, auto b_2) KILN_INLINE_ATTR {
    D::StepRow(a_0[k], b_0, b_1, b_2, acc_0_0, acc_0_1, acc_0_2);
    if constexpr (kRows > 1) D::StepRow(a_1[k], b_0, b_1, b_2, acc_1_0, acc_1_1, acc_1_2);
    if constexpr (kRows > 2) D::StepRow(a_2[k], b_0, b_1, b_2, acc_2_0, acc_2_1, acc_2_2);
    if constexpr (kRows > 3) D::StepRow(a_3[k], b_0, b_1, b_2, acc_3_0, acc_3_1, acc_3_2);
    if constexpr (kRows > 4) D::StepRow(a_4[k], b_0, b_1, b_2, acc_4_0, acc_4_1, acc_4_2);
    if constexpr (kRows > 5) D::StepRow(a_5[k], b_0, b_1, b_2, acc_5_0, acc_5_1, acc_5_2);
    if constexpr (kRows > 6) D::StepRow(a_6[k], b_0, b_1, b_2, acc_6_0, acc_6_1, acc_6_2);
    if constexpr (kRows > 7) D::StepRow(a_7[k], b_0, b_1, b_2, acc_7_0, acc_7_1, acc_7_2);
  };
  const ptrdiff_t b_to_k = tile.b_to_k, piece = tile.piece;
  const Tap<KGroup>* const first = tile.taps;
  for (size_t t = 0; t < tile.count; ++t) {
    const KGroup* row = first[t].panels + tile.columns;
    const KGroup* ahead = first[t].panels + tile.ahead;
    ptrdiff_t k = first[t].a - first->a;
    const ptrdiff_t end = k + static_cast<ptrdiff_t>(tile.depth);
    const auto next_k = [&]() KILN_INLINE_ATTR {
      step(k, LoadColumns<kVectors, 0>(dk, row), LoadColumns<kVectors, 1>(dk, row),
           LoadColumns<kVectors, 2>(dk, row));
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

  for_rows([&](size_t i, V& acc_0, V& acc_1, V& acc_2) KILN_INLINE_ATTR {
    hn::StoreU(acc_0, d, at(i, 0));
    if constexpr (kVectors > 1) hn::StoreU(acc_1, d, at(i, 1));
    if constexpr (kVectors > 2) hn::StoreU(acc_2, d, at(i, 2));
  });
}

template <class D, size_t kRows>
HWY_INLINE void TapTileOfRows(const TapTile<D>& tile, size_t vectors) {
  if (vectors == 3) return RegisterTapTile<D, kRows, 3>(tile);
  if (vectors == 2) return RegisterTapTile<D, kRows, 2>(tile);
  RegisterTapTile<D, kRows, 1>(tile);
}

template <class D>
void MultiplyTapTile(const TapTile<D>& tile, size_t rows, size_t vectors) {
  if (rows == kTileRows) return TapTileOfRows<D, kTileRows>(tile, vectors);
  TapTileOfRows<D, kTileRows / 2>(tile, vectors);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
