// Highway for the current target, and how Kiln's namespaces of a target begin.
#if defined(KILN_TARGET_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TARGET_INL_H_
#undef KILN_TARGET_INL_H_
#else
#define KILN_TARGET_INL_H_
#endif

#include "kiln/core/targets.h"
#include "kiln/core/version.h"
#include "kiln/dot/amx.h"
#include "kiln/simd/float_mode.h"
// Highway after its targets.
#include "hwy/highway.h"
#if HWY_ARCH_ARM_A64 && defined(__linux__)
#include <sys/auxv.h>
#endif

// HWY_BEFORE_NAMESPACE plus what the intrinsics of the dot step need. Every file opens its code
// with this, so that an inline function has the same attributes in all kernels. TargetIndex sends
// CPUs that have AVX3_DL but not these (Ice Lake has no bf16) to AVX3, and those with SVE2 but no
// bf16 to SVE. A lambda has them by HWY_ATTR, which GCC adds to those around it, and which clang
// takes in their place.
#undef KILN_BEFORE_NAMESPACE
#undef KILN_TARGET_STR
#if HWY_TARGET == HWY_AVX3_DL
#define KILN_TARGET_STR HWY_TARGET_STR ",avx512vnni,avx512bf16"
#elif HWY_TARGET == HWY_SVE2 && defined(HWY_TARGET_STR)  // chosen at run time
#define KILN_TARGET_STR HWY_TARGET_STR "+bf16"
#endif
#ifdef KILN_TARGET_STR
#define KILN_BEFORE_NAMESPACE()        \
  HWY_PUSH_ATTRIBUTES(KILN_TARGET_STR) \
  static_assert(true, "requires a semicolon")
#undef HWY_ATTR  // which Highway defines anew for each target
#define HWY_ATTR __attribute__((target(KILN_TARGET_STR)))
#else
#define KILN_BEFORE_NAMESPACE() HWY_BEFORE_NAMESPACE()
#endif

// A name that Highway 1.0.3 does not have, of a target with dots of bf16 and of bytes.
#undef KILN_IS_NEON_BF16
#if defined(HWY_NEON_BF16)
#define KILN_IS_NEON_BF16 (HWY_TARGET == HWY_NEON_BF16)
#else
#define KILN_IS_NEON_BF16 0
#endif

/// HWY_ATTR for a lambda that is part of a loop wherever it is called.
#undef KILN_INLINE_ATTR
#define KILN_INLINE_ATTR HWY_ATTR __attribute__((always_inline))

#ifndef KILN_DISPATCH
/// The function for this CPU out of what HWY_EXPORT made; its name may be qualified.
#ifdef KILN_MULTIPLIES_BF16
#define KILN_DISPATCH(function) \
  (HWY_DISPATCH_TABLE(function)[kiln::TargetIndex<HWY_TARGETS, true>()])
#else
#define KILN_DISPATCH(function) (HWY_DISPATCH_TABLE(function)[kiln::TargetIndex<HWY_TARGETS>()])
#endif

namespace kiln::inline KILN_ABI {

/// Where a target stands in the tables of HWY_EXPORT.
constexpr size_t IndexOfTarget(int64_t target) {
  const int64_t shifted = HWY_CHOSEN_TARGET_SHIFT(target);
  size_t index = 0;
  while ((shifted >> index) % 2 == 0) ++index;
  return index;
}

/// The entry of a table for this CPU. A template because targets may differ between source files.
/// Follows hwy::DisableTargets and hwy::SetSupportedTargetsForTest. See targets.h for bf16.
template <int64_t kTargets, bool kMultipliesBf16 = false>
size_t TargetIndex() {
  if constexpr ((kTargets & (kTargets - 1)) == 0) {
    return 0;  // the table has one entry
  } else {
    hwy::ChosenTarget& chosen = hwy::GetChosenTarget();
    if (!chosen.IsInitialized()) chosen.Update(hwy::SupportedTargets());
    const size_t index = chosen.GetIndex();
#if HWY_ARCH_X86
    static_assert((kTargets & HWY_AVX3_DL) == 0 || (kTargets & HWY_AVX3) != 0);
    const bool dots = __builtin_cpu_supports("avx512bf16") &&
                      __builtin_cpu_supports("avx512vnni") &&
                      !(kMultipliesBf16 && __builtin_cpu_is("intel") && !HasAmx());
    if (index == IndexOfTarget(HWY_AVX3_DL) && !dots) return IndexOfTarget(HWY_AVX3);
#elif HWY_ARCH_ARM_A64 && defined(__linux__)
    if constexpr ((kTargets & HWY_SVE2) != 0) {
      static_assert((kTargets & HWY_SVE) != 0);
      constexpr unsigned long kSveBf16 = 1ul << 12;  // HWCAP2_SVEBF16
      const bool dots = (getauxval(AT_HWCAP2) & kSveBf16) != 0;
      if (index == IndexOfTarget(HWY_SVE2) && !dots) return IndexOfTarget(HWY_SVE);
    }
#endif
    return index;
  }
}

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_DISPATCH

#if HWY_TARGET == HWY_EMU128
// Highway 1.3 has zero for a quotient by zero there (1.0.3 divides). This goes before it, as it is
// for fewer types.
HWY_BEFORE_NAMESPACE();
namespace hwy {
namespace HWY_NAMESPACE {
template <typename T, size_t N>
HWY_API Vec128<T, N> Div(Vec128<T, N> a, Vec128<T, N> b) {
  for (size_t i = 0; i < N; ++i) a.raw[i] /= b.raw[i];
  return a;
}
}  // namespace HWY_NAMESPACE
}  // namespace hwy
HWY_AFTER_NAMESPACE();
#endif

#endif  // KILN_TARGET_INL_H_
