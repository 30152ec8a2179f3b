// Entries of short tables, which registers hold: a permutation takes an entry for each lane.
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

// Four vectors of entries at most: more permutations take as long as to load lanes one by one.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
template <class D, typename T, size_t kEntries>
constexpr bool kHasEntriesInRegisters =
    std::is_same_v<hn::TFromD<D>, float> && hn::MaxLanes(D()) >= 8 && !kIsPacked<T> &&
    !std::is_same_v<T, bool> && sizeof(T) <= 4 && kEntries <= 4 * hn::MaxLanes(D()) &&
    (kEntries % hn::MaxLanes(D()) == 0 || kMaskedAccess<RawBits<T>>);
#else
template <class D, typename T, size_t kEntries>
constexpr bool kHasEntriesInRegisters = false;
#endif

#if HWY_TARGET == HWY_AVX3_DL
// With VBMI a register holds 64 bytes.
template <class D, typename T, size_t kEntries>
constexpr bool kHasBytesInRegisters =
    std::is_same_v<hn::TFromD<D>, float> && hn::MaxLanes(D()) == 16 && !kIsPacked<T> &&
    !std::is_same_v<T, bool> && sizeof(T) == 1 && kEntries <= 256;
#else
template <class D, typename T, size_t kEntries>
constexpr bool kHasBytesInRegisters = false;
#endif

template <class D, typename T, size_t kEntries>
constexpr bool kLooksUpInRegisters =
    kHasEntriesInRegisters<D, T, kEntries> || kHasBytesInRegisters<D, T, kEntries>;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
/// `count` elements, fewer than a vector has or as many, as their representation.
template <size_t kCount, class D, typename T>
HWY_INLINE auto LoadEntries(D, const T* table) {
  const TagFor<RawBits<T>, D> d;
  const auto* raw = reinterpret_cast<const RawBits<T>*>(table);
  if constexpr (kCount == hn::MaxLanes(d)) return FromStorage<T>(hn::LoadU(d, raw));
  else return FromStorage<T>(hn::MaskedLoad(hn::FirstN(d, kCount), d, raw));
}

/// The entries of indices from kFirst on; what other lanes hold is of no account.
template <size_t kFirst, size_t kEntries, class D, typename T, class I>
HWY_INLINE auto EntriesFrom(D d, const T* table, I indices) {
  constexpr size_t kLanes = hn::MaxLanes(d), kLeft = kEntries - kFirst;
  constexpr size_t kHere = kLeft < kLanes ? kLeft : kLanes;
  const hn::DFromV<I> di;
  const auto here = LoadEntries<kHere>(d, table + kFirst);
  const hn::DFromV<std::remove_const_t<decltype(here)>> dv;
  if constexpr (kLeft <= kLanes) {
    const auto within = hn::And(indices, hn::Set(di, static_cast<int32_t>(kLanes - 1)));
    return hn::TableLookupLanes(here, hn::IndicesFromVec(dv, within));
  } else {
    constexpr size_t kNext = kFirst + (kLeft > 2 * kLanes ? 2 * kLanes : kLanes);
    const auto low = EntriesFrom<kFirst, kNext>(d, table, indices);
    const auto high = EntriesFrom<kNext, kEntries>(d, table, indices);
    const auto is_high = hn::Gt(indices, hn::Set(di, static_cast<int32_t>(kNext - 1)));
    return hn::IfThenElse(hn::RebindMask(dv, is_high), high, low);
  }
}
#endif

#if HWY_TARGET == HWY_AVX3_DL
/// Up to 64 bytes from the one at kFirst on, and 0 behind them.
template <size_t kFirst, size_t kEntries, typename T>
HWY_INLINE __m512i LoadBytes(const T* table) {
  constexpr size_t kLeft = kFirst < kEntries ? kEntries - kFirst : 0;
  if constexpr (kLeft >= 64) return _mm512_loadu_si512(table + kFirst);
  else return _mm512_maskz_loadu_epi8((__mmask64{1} << kLeft) - 1, table + kFirst);
}

/// The bytes of the indices, each in a lane of 32 bits.
template <size_t kEntries, typename T>
HWY_INLINE __m512i BytesOf(const T* table, __m512i indices) {
  constexpr __mmask64 kLowest = 0x1111111111111111;
  const __m512i first = LoadBytes<0, kEntries>(table);
  if constexpr (kEntries <= 64) {
    return _mm512_maskz_permutexvar_epi8(kLowest, indices, first);
  } else {
    const __m512i second = LoadBytes<64, kEntries>(table);
    const __m512i low = _mm512_maskz_permutex2var_epi8(kLowest, first, indices, second);
    if constexpr (kEntries <= 128) return low;
    const __m512i third = LoadBytes<128, kEntries>(table), last = LoadBytes<192, kEntries>(table);
    const __m512i high = _mm512_maskz_permutex2var_epi8(kLowest, third, indices, last);
    return _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(indices, _mm512_set1_epi32(128)), high);
  }
}
#endif

/// In each lane the entry of its index in a table that registers hold, as its representation.
template <size_t kEntries, class D, typename T, class I>
HWY_INLINE auto EntriesInRegisters(D d, const T* table, I indices) {
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (kHasBytesInRegisters<D, T, kEntries>) {
    const TagFor<int32_t, D> di;
    const hn::Vec<decltype(di)> bytes{BytesOf<kEntries>(table, indices.raw)};
    if constexpr (kIsFloating<T>) return FromStorage<T>(LowBits<uint8_t>(bytes));
    else if constexpr (std::is_signed_v<T>) return hn::ShiftRight<24>(hn::ShiftLeft<24>(bytes));
    else return bytes;
  } else
#endif
  {
    const TagFor<int32_t, D> di;
    return EntriesFrom<0, kEntries>(d, table, hn::BitCast(di, indices));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif  // KILN_LOOKUP_INL_H_
