// IsEitherNaN: two vectors of floats in one comparison.
#if defined(KILN_EITHER_NAN_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_EITHER_NAN_INL_H_
#undef KILN_EITHER_NAN_INL_H_
#else
#define KILN_EITHER_NAN_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/simd/represent-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Whether one of the two is NaN.
template <FloatVector V>
HWY_INLINE hn::Mask<hn::DFromV<V>> IsEitherNaN(V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3  // by one comparison, which Highway does not offer
  using M = hn::Mask<hn::DFromV<V>>;
  constexpr bool kDoubles = sizeof(LaneOf<V>) == 8;
  if constexpr (sizeof(a.raw) == 64 && kDoubles) {
    return M{_mm512_cmp_pd_mask(a.raw, b.raw, _CMP_UNORD_Q)};
  } else if constexpr (sizeof(a.raw) == 64) {
    return M{_mm512_cmp_ps_mask(a.raw, b.raw, _CMP_UNORD_Q)};
  } else if constexpr (sizeof(a.raw) == 32 && kDoubles) {
    return M{_mm256_cmp_pd_mask(a.raw, b.raw, _CMP_UNORD_Q)};
  } else if constexpr (sizeof(a.raw) == 32) {
    return M{_mm256_cmp_ps_mask(a.raw, b.raw, _CMP_UNORD_Q)};
  }
#elif HWY_TARGET == HWY_AVX2
  using M = hn::Mask<hn::DFromV<V>>;
  if constexpr (sizeof(a.raw) == 32 && sizeof(LaneOf<V>) == 8) {
    return M{_mm256_cmp_pd(a.raw, b.raw, _CMP_UNORD_Q)};
  } else if constexpr (sizeof(a.raw) == 32) {
    return M{_mm256_cmp_ps(a.raw, b.raw, _CMP_UNORD_Q)};
  }
#endif
  return hn::Or(hn::IsNaN(a), hn::IsNaN(b));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif  // KILN_EITHER_NAN_INL_H_
