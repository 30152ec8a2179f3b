// Tables of 32 floats from which one instruction takes 16 lanes, and of 16 doubles, with AVX-512;
// and of 8 floats with AVX2.
#if defined(KILN_TABLE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TABLE_INL_H_
#undef KILN_TABLE_INL_H_
#else
#define KILN_TABLE_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/constants-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

template <class V>
using ConstantsOf = MathConstants<LaneOf<V>>;
template <class V>
using BitsTagOf = TagFor<typename ConstantsOf<V>::Bits, hn::DFromV<V>>;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
constexpr bool kHasTables = true;

/// In each lane the entry of its index, of which the low five bits count.
template <FloatVector V>
HWY_INLINE V EntryOf(const float (&table)[32], hn::Vec<BitsTagOf<V>> index) {
  const __m512 low = _mm512_load_ps(table), high = _mm512_load_ps(table + 16);
  if constexpr (sizeof(V) == 64) {
    return V{_mm512_permutex2var_ps(low, index.raw, high)};
  } else if constexpr (sizeof(V) == 32) {
    const __m512i wide = _mm512_castsi256_si512(index.raw);
    return V{_mm512_castps512_ps256(_mm512_permutex2var_ps(low, wide, high))};
  } else {
    const __m512i wide = _mm512_castsi128_si512(index.raw);
    return V{_mm512_castps512_ps128(_mm512_permutex2var_ps(low, wide, high))};
  }
}

/// The same of doubles, by the low four bits.
template <FloatVector V>
HWY_INLINE V EntryOf(const double (&table)[16], hn::Vec<BitsTagOf<V>> index) {
  const __m512d low = _mm512_load_pd(table), high = _mm512_load_pd(table + 8);
  if constexpr (sizeof(V) == 64) {
    return V{_mm512_permutex2var_pd(low, index.raw, high)};
  } else if constexpr (sizeof(V) == 32) {
    const __m512i wide = _mm512_castsi256_si512(index.raw);
    return V{_mm512_castpd512_pd256(_mm512_permutex2var_pd(low, wide, high))};
  } else {
    const __m512i wide = _mm512_castsi128_si512(index.raw);
    return V{_mm512_castpd512_pd128(_mm512_permutex2var_pd(low, wide, high))};
  }
}

/// A polynomial in v, of which a table has the coefficients for each power; or what it is from the
/// power kFirst on, divided by that.
template <size_t kFirst = 0, size_t kCount, FloatVector V>
HWY_INLINE V PolynomialByTable(const float (&table)[kCount][32], V v, hn::Vec<BitsTagOf<V>> index) {
  V sum = EntryOf<V>(table[kCount - 1], index);
  for (size_t k = kCount - 1; k-- > kFirst;) sum = hn::MulAdd(sum, v, EntryOf<V>(table[k], index));
  return sum;
}
#else
constexpr bool kHasTables = false;
#endif

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2
constexpr bool kHasShortTables = true;

/// In each lane the entry of its index, of which the low three bits count.
template <FloatVector V>
HWY_INLINE hn::Vec<BitsTagOf<V>> EntryOf(const uint32_t (&table)[8], hn::Vec<BitsTagOf<V>> index) {
  using Bits = hn::Vec<BitsTagOf<V>>;
  const __m256i all = _mm256_load_si256(reinterpret_cast<const __m256i*>(table));
  if constexpr (sizeof(V) == 32) {
    return Bits{_mm256_permutevar8x32_epi32(all, index.raw)};
  } else {
    const __m256i wide = _mm256_castsi128_si256(index.raw);
    return Bits{_mm256_castsi256_si128(_mm256_permutevar8x32_epi32(all, wide))};
  }
}
#else
constexpr bool kHasShortTables = false;
#endif

template <FloatVector V>
constexpr bool kHasTablesOf = kHasTables&& std::is_same_v<LaneOf<V>, float>;
template <FloatVector V>
constexpr bool kHasShortTablesOf = kHasShortTables&& std::is_same_v<LaneOf<V>, float>;

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif  // KILN_TABLE_INL_H_
