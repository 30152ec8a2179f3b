// What all register tiles have: their sums, in registers from the first k to the last.
#if defined(KILN_REGISTER_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_REGISTER_SUMS_INL_H_
#undef KILN_REGISTER_SUMS_INL_H_
#else
#define KILN_REGISTER_SUMS_INL_H_
#endif

#include <stddef.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/dot/dot-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A row of a tile, known to the compiler: what differs by rows is chosen while compiling.
template <size_t kRow>
using TileRow = std::integral_constant<size_t, kRow>;

/// Loads the sums of kRows rows by kVectors vectors from `tile.sums`, or begins them at zero, calls
/// body(for_rows), and stores them. for_rows(fn) calls fn(TileRow<i>(), sum_0, sum_1, sum_2) for
/// each row. They are variables, not an array: a vector of SVE cannot be an element of one.
template <class D, size_t kRows, size_t kVectors, class Tile, class Body>
HWY_INLINE void WithRegisterSums(const Tile& tile, const Body& body) {
  const hn::ScalableTag<typename D::Acc> d;
  using V = hn::Vec<decltype(d)>;

  V sum_0_0 = hn::Zero(d), sum_0_1 = hn::Zero(d), sum_0_2 = hn::Zero(d);
  V sum_1_0 = hn::Zero(d), sum_1_1 = hn::Zero(d), sum_1_2 = hn::Zero(d);
  V sum_2_0 = hn::Zero(d), sum_2_1 = hn::Zero(d), sum_2_2 = hn::Zero(d);
  V sum_3_0 = hn::Zero(d), sum_3_1 = hn::Zero(d), sum_3_2 = hn::Zero(d);
  V sum_4_0 = hn::Zero(d), sum_4_1 = hn::Zero(d), sum_4_2 = hn::Zero(d);
  V sum_5_0 = hn::Zero(d), sum_5_1 = hn::Zero(d), sum_5_2 = hn::Zero(d);
  V sum_6_0 = hn::Zero(d), sum_6_1 = hn::Zero(d), sum_6_2 = hn::Zero(d);
  V sum_7_0 = hn::Zero(d), sum_7_1 = hn::Zero(d), sum_7_2 = hn::Zero(d);
  const auto for_rows = [&](const auto& fn) KILN_INLINE_ATTR {
    fn(TileRow<0>(), sum_0_0, sum_0_1, sum_0_2);
    if constexpr (kRows > 1) fn(TileRow<1>(), sum_1_0, sum_1_1, sum_1_2);
    if constexpr (kRows > 2) fn(TileRow<2>(), sum_2_0, sum_2_1, sum_2_2);
    if constexpr (kRows > 3) fn(TileRow<3>(), sum_3_0, sum_3_1, sum_3_2);
    if constexpr (kRows > 4) fn(TileRow<4>(), sum_4_0, sum_4_1, sum_4_2);
    if constexpr (kRows > 5) fn(TileRow<5>(), sum_5_0, sum_5_1, sum_5_2);
    if constexpr (kRows > 6) fn(TileRow<6>(), sum_6_0, sum_6_1, sum_6_2);
    if constexpr (kRows > 7) fn(TileRow<7>(), sum_7_0, sum_7_1, sum_7_2);
  };

  const auto at = [&tile](size_t i, ptrdiff_t vector) KILN_INLINE_ATTR {
    return tile.sums + static_cast<ptrdiff_t>(i) * tile.sums_to_row + vector * tile.sums_to_vector;
  };
  if (!tile.from_zero) {
    for_rows([&](auto i, V& sum_0, V& sum_1, V& sum_2) KILN_INLINE_ATTR {
      sum_0 = hn::LoadU(d, at(i, 0));
      if constexpr (kVectors > 1) sum_1 = hn::LoadU(d, at(i, 1));
      if constexpr (kVectors > 2) sum_2 = hn::LoadU(d, at(i, 2));
    });
  }
  body(for_rows);
  for_rows([&](auto i, V& sum_0, V& sum_1, V& sum_2) KILN_INLINE_ATTR {
    hn::StoreU(sum_0, d, at(i, 0));
    if constexpr (kVectors > 1) hn::StoreU(sum_1, d, at(i, 1));
    if constexpr (kVectors > 2) hn::StoreU(sum_2, d, at(i, 2));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
