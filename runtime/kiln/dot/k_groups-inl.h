// The k-groups of a dot, made of elements in memory: several neighbours along k side by side, or
// one that is widened.
#if defined(KILN_K_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_K_GROUPS_INL_H_
#undef KILN_K_GROUPS_INL_H_
#else
#define KILN_K_GROUPS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/dot/dot-inl.h"
#include "kiln/simd/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// K-groups of a depth; elements that the last one lacks are zeros.
template <class D>
constexpr size_t KGroupsOf(size_t depth) {
  const size_t groups = DivUp(depth, D::kKPerGroup);
  return D::kSwapsPairs ? RoundUp(groups, 2) : groups;
}

/// Those of a packed block. AMX multiplies sixteen at a time, of which the last may be zeros.
template <class D>
size_t PackedKGroupsOf(size_t depth) {
  const size_t groups = KGroupsOf<D>(depth);
  return UsesAmx<D>() ? RoundUp(groups, kAmxKGroups) : groups;
}

/// The first element of k-group k.
template <class D>
constexpr size_t ElementOf(size_t k) {
  return D::kSwapsPairs ? k ^ 1 : k * D::kKPerGroup;
}

/// Whether k-groups are the elements of memory as they are, contiguous along k.
template <class D, typename T>
constexpr bool kIsPlain = D::kKPerGroup * sizeof(T) == sizeof(typename D::KGroup);

/// Whether k-groups are single elements of memory that become floats as they are loaded.
template <class D, typename T>
constexpr bool kIsWidened =
    D::kKPerGroup == 1 && std::is_same_v<typename D::B, float>&&
                              std::is_same_v<typename D::KGroup, float>&& kIsNarrowFloat<T>;

/// Whether a B of T may be streamed as it is stored.
template <class D, typename T>
constexpr bool kMayStreamB = std::is_same_v<T, typename D::B> || kIsWidened<D, T>;

/// `flip`: FlipOf<D>().
template <class D, class V>
HWY_INLINE V Flip(V groups, [[maybe_unused]] uint32_t flip) {
  if constexpr (D::kFlip == 0) {
    return groups;
  } else {
    return hn::Xor(groups, hn::Set(hn::DFromV<V>(), static_cast<int32_t>(flip)));
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
/// K-groups of four rows of bytes: side by side in one vector, in which first quarters of rows
/// change places and then the bytes of each. Less than half of the instructions that it takes to
/// widen.
template <class DW, class Row>
HWY_INLINE hn::Vec<DW> InterleaveBytes(DW dw, const Row& row) {
  const hn::Repartition<uint8_t, DW> d;
  const hn::Half<decltype(d)> dh;
  const auto rows =
      hn::Combine(d, hn::Combine(dh, row(3), row(2)), hn::Combine(dh, row(1), row(0)));
  constexpr int32_t kRow = static_cast<int32_t>(hn::MaxLanes(dw)) / 4;  // quarters of four bytes
  alignas(64) int32_t quarters[4 * kRow];
  for (int32_t i = 0; i < 4 * kRow; ++i) quarters[i] = i % 4 * kRow + i / 4;
  alignas(16) static constexpr uint8_t kBytes[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                     2, 6, 10, 14, 3, 7, 11, 15};
  const auto turned =
      hn::TableLookupLanes(hn::BitCast(dw, rows), hn::SetTableIndices(dw, quarters));
  return hn::BitCast(dw, hn::TableLookupBytes(hn::BitCast(d, turned), hn::LoadDup128(d, kBytes)));
}
#endif

/// K-groups of rows interleaved, of `row(r)`, vectors of unsigned elements.
template <typename T, class DW, class Row>
HWY_INLINE hn::Vec<DW> Interleave(DW dw, const Row& row) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  // Of groups of a whole vector: smaller ones may have quarters of less than a group.
  if constexpr (sizeof(T) == 1 && sizeof(hn::Vec<DW>) >= 32) return InterleaveBytes(dw, row);
#endif
  const hn::RebindToUnsigned<DW> du;
  const auto wide = [&](size_t r) HWY_ATTR { return hn::PromoteTo(du, row(r)); };
  auto groups = hn::Or(wide(0), hn::ShiftLeft<8 * sizeof(T)>(wide(1)));
  if constexpr (sizeof(T) == 1) {
    groups = hn::Or(groups, hn::ShiftLeft<16>(hn::Or(wide(2), hn::ShiftLeft<8>(wide(3)))));
  }
  return hn::BitCast(dw, groups);
}

/// K-groups of two bytes of T that become 16 bits wide.
template <typename T, class DW, class V>
HWY_INLINE hn::Vec<DW> WidenPairs(DW dw, V pairs) {
  const hn::Repartition<int16_t, DW> d16;
  return hn::BitCast(dw, hn::PromoteTo(d16, hn::BitCast(hn::Rebind<T, decltype(d16)>(), pairs)));
}

/// Whether k-groups are pairs of elements that are widened to halves.
template <class D, typename T>
constexpr bool kWidensPairs = D::kKPerGroup == 2 && sizeof(T) == 1;

/// A vector of k-groups of columns side by side; `first` is the row of their first element, and
/// rows of k are `stride` apart.
template <class D, class DW, typename T>
HWY_INLINE hn::Vec<DW> KGroupsAcross(DW dw, const T* first, int64_t stride) {
  if constexpr (kWidensPairs<D, T>) {
    const hn::Rebind<T, DW> d8;
    const hn::Repartition<int16_t, DW> d16;
    const auto even = hn::PromoteTo(dw, hn::LoadU(d8, first));
    const auto odd = hn::ShiftLeft<16>(hn::PromoteTo(dw, hn::LoadU(d8, first + stride)));
    return hn::BitCast(dw, hn::OddEven(hn::BitCast(d16, odd), hn::BitCast(d16, even)));
  } else if constexpr (D::kKPerGroup > 1) {
    using U = hwy::UnsignedFromSize<sizeof(T)>;
    const hn::Rebind<U, DW> du;
    return Interleave<T>(dw, [&](size_t r) HWY_ATTR {
      return hn::LoadU(du, reinterpret_cast<const U*>(first + static_cast<int64_t>(r) * stride));
    });
  } else if constexpr (kIsPlain<D, T>) {
    return hn::LoadU(dw, first);
  } else {
    return Whole<DW>().Load(first);
  }
}

#if HWY_TARGET == HWY_AVX3_DL
/// Stores neighbours, which are rounded as any store does it, to an aligned address.
template <class V>
HWY_INLINE void StoreRounded(V low, V high, bf16* to) {
  if (HWY_LIKELY(!HasSubnormal(low, high))) {
    _mm512_store_si512(to, (__m512i)_mm512_cvtne2ps_pbh(high.raw, low.raw));
  } else {
    const Whole<hn::DFromV<V>> at;
    at.Store(low, to);
    at.Store(high, to + hn::Lanes(hn::DFromV<V>()));
  }
}
#endif

/// Whether the k-groups of a line of columns are made at once, for which KGroupsAcross would load
/// and widen each row once for each of their vectors.
template <class D, typename T>
constexpr bool kInterleavesLines = HWY_TARGET == HWY_AVX3_DL&& D::kKPerGroup > 1 && kIsPlain<D, T>;

#if HWY_TARGET == HWY_AVX3_DL
/// Two rows of halves, element by element: the first half of both, and the second.
struct InterleavedHalves {
  __m512i low, high;
};
HWY_INLINE InterleavedHalves InterleaveHalves(__m512i even, __m512i odd) {
  alignas(64) static constexpr uint16_t kLow[] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                  37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                  11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const hn::ScalableTag<uint16_t> d;
  const auto low = hn::Load(d, kLow), high = hn::Add(low, hn::Set(d, 16));
  return {_mm512_permutex2var_epi16(even, low.raw, odd),
          _mm512_permutex2var_epi16(even, high.raw, odd)};
}
/// The same of bytes.
HWY_INLINE InterleavedHalves InterleaveRowsOfBytes(__m512i even, __m512i odd) {
  const hn::ScalableTag<uint8_t> d;
  alignas(64) static constexpr uint8_t kLow[] = {
      0,  64, 1,  65, 2,  66, 3,  67, 4,  68, 5,  69, 6,  70, 7,  71, 8,  72, 9,  73, 10, 74,
      11, 75, 12, 76, 13, 77, 14, 78, 15, 79, 16, 80, 17, 81, 18, 82, 19, 83, 20, 84, 21, 85,
      22, 86, 23, 87, 24, 88, 25, 89, 26, 90, 27, 91, 28, 92, 29, 93, 30, 94, 31, 95};
  const auto low = hn::Load(d, kLow), high = hn::Add(low, hn::Set(d, 32));
  return {_mm512_permutex2var_epi8(even, low.raw, odd),
          _mm512_permutex2var_epi8(even, high.raw, odd)};
}

/// The vectors of k-groups of as many columns as a line has elements.
template <class D, typename T, class V>
HWY_INLINE void InterleaveLine(const T* first, int64_t stride, V& v_0, V& v_1) {
  const auto pairs =
      InterleaveHalves(_mm512_loadu_si512(first), _mm512_loadu_si512(first + stride));
  v_0 = V{pairs.low}, v_1 = V{pairs.high};
}
template <class D, typename T, class V>
HWY_INLINE void InterleaveLine(const T* first, int64_t stride, V& v_0, V& v_1, V& v_2, V& v_3) {
  const auto row = [&](int64_t r) HWY_ATTR { return _mm512_loadu_si512(first + r * stride); };
  const auto upper = InterleaveRowsOfBytes(row(0), row(1));
  const auto lower = InterleaveRowsOfBytes(row(2), row(3));
  const auto left = InterleaveHalves(upper.low, lower.low);
  const auto right = InterleaveHalves(upper.high, lower.high);
  v_0 = V{left.low}, v_1 = V{left.high}, v_2 = V{right.low}, v_3 = V{right.high};
}

/// Stores the k-groups of as many columns as two vectors have.
template <class D, typename T>
HWY_INLINE void StoreTwoVectors(const T* first, int64_t stride, typename D::KGroup* to) {
  const hn::ScalableTag<typename D::KGroup> dw;
  if constexpr (D::kKPerGroup == 2 && sizeof(T) == 2) {
    hn::Vec<decltype(dw)> left, right;
    InterleaveLine<D>(first, stride, left, right);
    hn::Store(left, dw, to);
    hn::Store(right, dw, to + hn::Lanes(dw));
  } else {
    hn::Store(KGroupsAcross<D>(dw, first, stride), dw, to);
    hn::Store(KGroupsAcross<D>(dw, first + hn::Lanes(dw), stride), dw, to + hn::Lanes(dw));
  }
}
#endif

/// A vector of the k-groups of one row, from k-group k on, which is even if vectors have several;
/// elements are neighbours.
template <class D, class DW, typename T>
HWY_INLINE hn::Vec<DW> KGroupsAlong(DW dw, const T* row, size_t k) {
  if constexpr (kIsPlain<D, T>) {
    return hn::LoadU(dw, reinterpret_cast<const typename D::KGroup*>(row + k * D::kKPerGroup));
  } else if constexpr (kWidensPairs<D, T>) {
    const hn::Rebind<T, hn::Repartition<int16_t, DW>> d8;
    return WidenPairs<T>(dw, hn::LoadU(d8, row + k * D::kKPerGroup));
  } else {
    if constexpr (!D::kSwapsPairs) return Whole<DW>().Load(row + k);
#if HWY_TARGET == HWY_SCALAR
    return Whole<DW>().Load(row + ElementOf<D>(k));
#else
    return hn::Reverse2(dw, Whole<DW>().Load(row + k));
#endif
  }
}

/// One k-group of a row.
template <class D, typename T>
HWY_INLINE typename D::KGroup KGroupAt(const T* row, size_t k) {
  if constexpr (kIsPlain<D, T>) {
    typename D::KGroup group;
    memcpy(&group, static_cast<const void*>(row + k * D::kKPerGroup), sizeof(group));
    return group;
  } else if constexpr (kWidensPairs<D, T>) {
    const int16_t pair[] = {row[k * D::kKPerGroup], row[k * D::kKPerGroup + 1]};
    typename D::KGroup group;
    memcpy(&group, pair, sizeof(group));
    return group;
  } else {
    return hn::GetLane(Whole<OneLane<float>>().Load(row + ElementOf<D>(k)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
