// Vectors of packed elements (core/packed.h): D is the tag of RawBits<T>, a byte an element. What
// is read has the element in the lower half of its byte and anything in the upper one; so may what
// is written.
#if defined(KILN_PACKED_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_PACKED_INL_H_
#undef KILN_PACKED_INL_H_
#else
#define KILN_PACKED_INL_H_
#endif

#include "kiln/core/packed.h"
#include "kiln/core/version.h"
#include "kiln/simd/storage-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Whether halves of bytes are taken apart by vector instructions.
template <class D>
inline constexpr bool kVectorHalves =
    !kPlainLanes && !HWY_HAVE_SCALABLE && hn::MaxLanes(D()) >= 2 && hn::MaxLanes(D()) <= 16;

/// The places of elements that are `stride` apart, from the one at p on.
template <typename T>
HWY_INLINE uintptr_t PlaceAfter(const T* p, size_t i, ptrdiff_t stride) {
  return internal::PlaceOf(p) + static_cast<uintptr_t>(static_cast<ptrdiff_t>(i) * stride);
}

/// The first `count` lanes from elements that are `stride` apart, 0 in the others; and back.
template <typename T, class D>
HWY_INLINE hn::Vec<D> LoadPackedOneByOne(D d, const T* p, ptrdiff_t stride, size_t count) {
  alignas(64) RawBits<T> lanes[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i)
    lanes[i] = static_cast<RawBits<T>>(internal::BitsAt(PlaceAfter(p, i, stride)));
  return hn::LoadU(d, lanes);
}
template <typename T, class D>
HWY_INLINE void StorePackedOneByOne(D d, hn::Vec<D> v, T* p, ptrdiff_t stride, size_t count) {
  alignas(64) RawBits<T> lanes[hn::MaxLanes(d)];
  hn::StoreU(v, d, lanes);
  for (size_t i = 0; i < count; ++i)
    internal::SetBitsAt(PlaceAfter(p, i, stride), static_cast<uint8_t>(lanes[i]));
}

#if HWY_TARGET == HWY_SCALAR  // lacks the instructions, and has one lane

template <typename T, class D>
HWY_INLINE hn::Vec<D> LoadPacked(D d, const T* p) {
  return LoadPackedOneByOne(d, p, 1, 1);
}
template <typename T, class D>
HWY_INLINE void StorePacked(D d, hn::Vec<D> v, T* p) {
  StorePackedOneByOne(d, v, p, 1, 1);
}

#else

/// All lanes from elements side by side.
template <typename T, class D>
HWY_INLINE hn::Vec<D> LoadPacked(D d, const T* p) {
  if constexpr (kVectorHalves<D>) {
    const hn::Rebind<uint8_t, D> du;
    const hn::Half<decltype(du)> dh;
    const uint8_t* const bytes = AddressOf(p);
    const auto first = hn::LoadU(dh, bytes);
    const auto low = hn::ZeroExtendVector(du, first);
    if (HWY_LIKELY((internal::PlaceOf(p) & 1) == 0))
      return hn::BitCast(d, hn::InterleaveLower(du, low, hn::ShiftRight<4>(low)));
    // Each byte has the high half of one byte and the low half of the next one.
    const auto next = hn::ZeroExtendVector(du, hn::LoadU(dh, bytes + 1));
    return hn::BitCast(d, hn::InterleaveLower(du, hn::ShiftRight<4>(low), next));
  } else {
    return LoadPackedOneByOne(d, p, 1, hn::Lanes(d));
  }
}

/// All lanes to elements side by side.
template <typename T, class D>
HWY_INLINE void StorePacked(D d, hn::Vec<D> v, T* p) {
  if constexpr (kVectorHalves<D>) {
    if (HWY_LIKELY((internal::PlaceOf(p) & 1) == 0)) {
      const hn::Repartition<uint16_t, D> du16;
      const hn::Repartition<int16_t, D> di16;
      const hn::Rebind<uint8_t, decltype(du16)> du;
      const auto pairs = hn::BitCast(du16, v);
      const auto low = hn::And(pairs, hn::Set(du16, 0x0F));
      const auto high = hn::And(hn::ShiftRight<4>(pairs), hn::Set(du16, 0xF0));
      hn::StoreU(hn::DemoteTo(du, hn::BitCast(di16, hn::Or(low, high))), du, AddressOf(p));
      return;
    }
  }
  StorePackedOneByOne(d, v, p, 1, hn::Lanes(d));
}

#endif

/// Elements side by side as the vector of their representation, of as many lanes as D.
template <typename T, class D>
HWY_INLINE auto LoadWhole(D, const T* p) {
  const TagFor<RawBits<T>, D> d;
  if constexpr (!kIsPacked<T>) {
    return FromStorage<T>(hn::LoadU(d, reinterpret_cast<const RawBits<T>*>(p)));
#if HWY_TARGET == HWY_AVX3_DL
  } else if constexpr (hn::MaxLanes(D()) == 16) {
    if (HWY_UNLIKELY((internal::PlaceOf(p) & 1) != 0)) return FromStorage<T>(LoadPacked(d, p));
    // To the top of each lane of 32 bits, from all 16 elements in each 64 bits.
    alignas(64) static constexpr uint8_t kTo[64] = {
        0, 0,  0, 60, 0, 0,  0, 0,  0, 0,  0, 4,  0, 0,  0, 8,  0, 0,  0, 12, 0, 0,
        0, 16, 0, 0,  0, 20, 0, 0,  0, 24, 0, 0,  0, 28, 0, 0,  0, 32, 0, 0,  0, 36,
        0, 0,  0, 40, 0, 0,  0, 44, 0, 0,  0, 48, 0, 0,  0, 52, 0, 0,  0, 56};
    const TagFor<int32_t, D> di;
    const TagFor<uint32_t, D> du;
    int64_t word;
    std::memcpy(&word, AddressOf(p), sizeof word);
    const hn::Vec<decltype(du)> top{
        _mm512_multishift_epi64_epi8(_mm512_load_si512(kTo), _mm512_set1_epi64(word))};
    if constexpr (std::is_same_v<T, i4>) {
      return hn::ShiftRight<28>(hn::BitCast(di, top));
    } else {
      return hn::BitCast(di, hn::ShiftRight<28>(top));
    }
#endif
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && HWY_TARGET != HWY_AVX3_DL
  } else if constexpr (hn::MaxLanes(D()) == (HWY_TARGET == HWY_AVX2 ? 8 : 16)) {
    if (HWY_UNLIKELY((internal::PlaceOf(p) & 1) != 0)) return FromStorage<T>(LoadPacked(d, p));
    // Each lane of 32 bits gets all elements of its eight, and shifts its own to the top.
    alignas(64) static constexpr uint32_t kToTop[16] = {28, 24, 20, 16, 12, 8, 4, 0,
                                                        28, 24, 20, 16, 12, 8, 4, 0};
    const TagFor<int32_t, D> di;
    const TagFor<uint32_t, D> du;
#if HWY_TARGET == HWY_AVX2
    uint32_t word;
    std::memcpy(&word, AddressOf(p), sizeof word);
    const auto all = hn::Set(du, word);
#else
    alignas(64) static constexpr int32_t kHalf[16] = {0, 0, 0, 0, 0, 0, 0, 0,
                                                      1, 1, 1, 1, 1, 1, 1, 1};
    const __m128i words = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(AddressOf(p)));
    const hn::Vec<decltype(du)> all{
        _mm512_permutexvar_epi32(_mm512_load_si512(kHalf), _mm512_castsi128_si512(words))};
#endif
    const auto top = hn::Shl(all, hn::Load(du, kToTop));
    if constexpr (std::is_same_v<T, i4>) {
      return hn::ShiftRight<28>(hn::BitCast(di, top));
    } else {
      return hn::BitCast(di, hn::ShiftRight<28>(top));
    }
#endif
  } else {
    return FromStorage<T>(LoadPacked(d, p));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_PACKED_INL_H_
