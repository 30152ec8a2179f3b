// Entries of short tables, which registers hold: permutations take an entry for each lane.
#if defined(KILN_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_LOOKUP_INL_H_
#undef KILN_LOOKUP_INL_H_
#else
#define KILN_LOOKUP_INL_H_
#endif

#include <stddef.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/simd/storage-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// How many elements a table has.
template <size_t kEntries>
struct Entries {};

/// Whether lanes have 32 bits, and elements of T a byte at least and no more than those.
template <class D, typename T>
constexpr bool kMayPermute = std::is_same_v<hn::TFromD<D>, float> && !kIsPacked<T> &&
                             !std::is_same_v<T, bool> && sizeof(T) <= 4;

/// The largest power of two that is less.
constexpr size_t HalfOf(size_t entries) {
  size_t half = 1;
  while (half * 2 < entries) half *= 2;
  return half;
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// A permutation takes the elements as they are from two registers; bytes with VBMI.
template <class D, typename T, size_t kEntries>
constexpr bool kLooksUpInRegisters =
    kMayPermute<D, T>&& hn::MaxLanes(D()) == 16 &&
    (sizeof(T) > 1 || HWY_TARGET == HWY_AVX3_DL) && kEntries <= 256;

/// A register of elements from the one at kFirst on, and 0 from kEnd on.
template <size_t kFirst, size_t kEnd, typename T>
HWY_INLINE __m512i LoadEntries(const T* table) {
  constexpr size_t kCount = kFirst < kEnd ? kEnd - kFirst : 0, kRoom = 64 / sizeof(T);
  constexpr uint64_t kFew = (uint64_t{1} << (kCount % kRoom)) - 1;
  if constexpr (kCount == 0)
    return _mm512_setzero_si512();
  else if constexpr (kCount >= kRoom)
    return _mm512_loadu_si512(table + kFirst);
  else if constexpr (sizeof(T) == 1)
    return _mm512_maskz_loadu_epi8(kFew, table + kFirst);
  else if constexpr (sizeof(T) == 2)
    return _mm512_maskz_loadu_epi16(kFew, table + kFirst);
  else
    return _mm512_maskz_loadu_epi32(kFew, table + kFirst);
}

/// The bits of the entries of indices from kFirst on, of which it has no bit.
template <size_t kFirst, size_t kEnd, typename T>
HWY_INLINE __m512i BitsOfEntries(const T* table, __m512i indices) {
  constexpr size_t kRoom = 64 / sizeof(T);
  if constexpr (kEnd - kFirst <= 2 * kRoom) {
    const __m512i low = LoadEntries<kFirst, kEnd>(table);
    const __m512i high = LoadEntries<kFirst + kRoom, kEnd>(table);
#if HWY_TARGET == HWY_AVX3_DL
    if constexpr (sizeof(T) == 1)
      return _mm512_maskz_permutex2var_epi8(0x1111111111111111, low, indices, high);
#endif
    if constexpr (sizeof(T) == 2)
      return _mm512_maskz_permutex2var_epi16(0x55555555, low, indices, high);
    else
      return _mm512_permutex2var_epi32(low, indices, high);
  } else {
    constexpr size_t kHalf = HalfOf(kEnd - kFirst);
    const __m512i low = BitsOfEntries<kFirst, kFirst + kHalf>(table, indices);
    const __m512i high = BitsOfEntries<kFirst + kHalf, kEnd>(table, indices);
    const __m512i bit = _mm512_set1_epi32(static_cast<int>(kHalf));
    return _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(indices, bit), high);
  }
}

/// In each lane the entry of its index, as its representation.
template <size_t kEntries, class D, typename T, class I>
HWY_INLINE auto LookUp(D, const T* table, I indices) {
  const TagFor<uint32_t, D> du;
  const hn::Vec<decltype(du)> bits{BitsOfEntries<0, kEntries>(table, indices.raw)};
  if constexpr (sizeof(T) == 4)
    return FromStorage<T>(hn::BitCast(TagFor<RawBits<T>, D>(), bits));
  else if constexpr (sizeof(T) == 2)
    return FromStorage<T>(LowBits<uint16_t>(bits));
  else
    return FromStorage<T>(hn::BitCast(TagFor<RawBits<T>, D>(), LowBits<uint8_t>(bits)));
}

#elif HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2

// Four permutations of eight lanes at most: more take as long as to load these one by one.
template <class D, typename T, size_t kEntries>
constexpr bool kLooksUpInRegisters = kMayPermute<D, T>&& hn::MaxLanes(D()) == 8 &&
                                     (kEntries % 8 == 0 || kMaskedAccess<RawBits<T>>)&&kEntries <=
                                         32;

template <size_t kFirst, size_t kEnd, class D, typename T, class I>
HWY_INLINE auto EntriesFrom(D d, const T* table, I indices) {
  constexpr size_t kCount = kEnd - kFirst;
  if constexpr (kCount <= 8) {
    const TagFor<RawBits<T>, D> raw;
    const auto* from = reinterpret_cast<const RawBits<T>*>(table + kFirst);
    const auto bits =
        kCount == 8 ? hn::LoadU(raw, from) : hn::MaskedLoad(hn::FirstN(raw, kCount), raw, from);
    const auto entries = FromStorage<T>(bits);
    const auto within = hn::And(indices, hn::Set(hn::DFromV<I>(), 7));
    const hn::DFromV<std::remove_const_t<decltype(entries)>> dv;
    return hn::TableLookupLanes(entries, hn::IndicesFromVec(dv, within));
  } else {
    constexpr size_t kHalf = HalfOf(kCount);
    const auto low = EntriesFrom<kFirst, kFirst + kHalf>(d, table, indices);
    const auto high = EntriesFrom<kFirst + kHalf, kEnd>(d, table, indices);
    const hn::DFromV<I> di;
    const auto is_high = hn::TestBit(indices, hn::Set(di, static_cast<int32_t>(kHalf)));
    const hn::DFromV<std::remove_const_t<decltype(low)>> dv;
    return hn::IfThenElse(hn::RebindMask(dv, is_high), high, low);
  }
}

template <size_t kEntries, class D, typename T, class I>
HWY_INLINE auto LookUp(D d, const T* table, I indices) {
  return EntriesFrom<0, kEntries>(d, table, hn::BitCast(TagFor<int32_t, D>(), indices));
}

#else

template <class D, typename T, size_t kEntries>
constexpr bool kLooksUpInRegisters = false;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif  // KILN_LOOKUP_INL_H_
