// Vectors of elements from anywhere, loaded one by one.
#if defined(KILN_COLLECT_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_COLLECT_INL_H_
#undef KILN_COLLECT_INL_H_
#else
#define KILN_COLLECT_INL_H_
#endif

#include <stddef.h>

#include "kiln/core/version.h"
#include "kiln/simd/storage-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// A vector of elements from anywhere: at(i) points to that of lane i. Where vectors have a size
/// that is known while compiling they are joined in registers: loaded from memory where lane after
/// lane was stored, a vector would have to wait until all of them had left the store buffer.
template <size_t kFirst, class D, class At>
HWY_INLINE hn::Vec<D> CollectWhole(D d, const At& at) {
  constexpr size_t kLanes = hn::MaxLanes(D());
#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR
  alignas(64) hn::TFromD<D> lanes[kLanes];
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = *at(kFirst + i);
  return hn::LoadU(d, lanes);
#else
  if constexpr (kLanes == 1) {
    return hn::LoadU(d, at(kFirst));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, CollectWhole<kFirst + kLanes / 2>(half, at),
                       CollectWhole<kFirst>(half, at));
  }
#endif
}

/// The same of the first `count` lanes; the others are 0.
template <class D, class At>
HWY_INLINE hn::Vec<D> CollectPart(D d, size_t count, const At& at) {
  alignas(64) hn::TFromD<D> lanes[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = *at(i);
  return hn::LoadU(d, lanes);
}

/// The first `count` lanes are elements of a line of n, from `first` on and again from its begin;
/// the others are 0. (A function of its own: it is rare, and takes as much text as all else in a
/// loop.)
template <class D, typename X = hn::TFromD<D>>
HWY_NOINLINE hn::Vec<D> CollectAround(D d, const X* line, size_t first, size_t n, size_t count) {
  alignas(64) X lanes[hn::MaxLanes(d)] = {};
  for (size_t i = 0, at = first; i < count; ++i, ++at) {
    if (at == n) at = 0;
    lanes[i] = line[at];
  }
  return hn::LoadU(d, lanes);
}

/// Whether lanes that a mask leaves out of a load may be where no memory is.
template <typename X>
inline constexpr bool kMayMaskLoads = HWY_ARCH_X86 && (HWY_TARGET <= HWY_AVX3 ||
                                                       (HWY_TARGET == HWY_AVX2 && sizeof(X) >= 4));

/// The same where the lanes go around the line's end once: two loads, of what is before it and of
/// what comes after.
template <class D, typename X = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadAroundEnd(D d, const X* line, size_t first, size_t n, size_t count) {
  if constexpr (kMayMaskLoads<X>) {
    const size_t before = n - first;
    if (HWY_LIKELY(count <= before + n)) {
      const auto head = hn::FirstN(d, before);
      const auto rest = hn::AndNot(head, hn::FirstN(d, count));
      const uintptr_t shifted = reinterpret_cast<uintptr_t>(line) - before * sizeof(X);
      return hn::Or(hn::MaskedLoad(head, d, line + first),
                    hn::MaskedLoad(rest, d, reinterpret_cast<const X*>(shifted)));
    }
  }
  return CollectAround(d, line, first, n, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_COLLECT_INL_H_
