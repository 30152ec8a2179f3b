// The words of a dot, made of elements in memory: several elements of neighbouring k side by side,
// or one that is widened.
#if defined(KILN_WORDS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_WORDS_INL_H_
#undef KILN_WORDS_INL_H_
#else
#define KILN_WORDS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "kiln/dot-inl.h"
#include "kiln/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The words of a depth of k; elements that are missing in the last are zeros.
template <class D>
constexpr size_t WordsOf(size_t depth) {
  const size_t words = DivUp(depth, D::kPerWord);
  return D::kSwapsPairs ? RoundUp(words, 2) : words;
}

/// The first element of word k.
template <class D>
constexpr size_t ElementOf(size_t k) {
  return D::kSwapsPairs ? k ^ 1 : k * D::kPerWord;
}

/// Whether words are elements as they lie in memory side by side along k.
template <class D, typename T>
constexpr bool kIsPlain = D::kPerWord * sizeof(T) == sizeof(typename D::Word);

template <class D, class V>
HWY_INLINE V Flip(V words) {
  if constexpr (D::kFlip == 0) {
    return words;
  } else {
    return hn::Xor(words, hn::Set(hn::DFromV<V>(), static_cast<int32_t>(D::kFlip)));
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
/// Words of four rows of bytes: side by side in one vector, in which first quarters of rows change
/// places and then the bytes of each. Less than half of the instructions that it takes to widen.
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

/// Words of rows interleaved, of `row(r)`, vectors of unsigned elements.
template <typename T, class DW, class Row>
HWY_INLINE hn::Vec<DW> Interleave(DW dw, const Row& row) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  // Of words of a whole vector: smaller ones may have quarters of less than a word.
  if constexpr (sizeof(T) == 1 && sizeof(hn::Vec<DW>) >= 32) return InterleaveBytes(dw, row);
#endif
  const hn::RebindToUnsigned<DW> du;
  const auto wide = [&](size_t r) HWY_ATTR { return hn::PromoteTo(du, row(r)); };
  auto words = hn::Or(wide(0), hn::ShiftLeft<8 * sizeof(T)>(wide(1)));
  if constexpr (sizeof(T) == 1) {
    words = hn::Or(words, hn::ShiftLeft<16>(hn::Or(wide(2), hn::ShiftLeft<8>(wide(3)))));
  }
  return hn::BitCast(dw, words);
}

/// Words of two bytes of T that become 16 bits wide.
template <typename T, class DW, class V>
HWY_INLINE hn::Vec<DW> WidenPairs(DW dw, V pairs) {
  const hn::Repartition<int16_t, DW> d16;
  return hn::BitCast(dw, hn::PromoteTo(d16, hn::BitCast(hn::Rebind<T, decltype(d16)>(), pairs)));
}

/// Whether words are pairs of what is narrower than their halves.
template <class D, typename T>
constexpr bool kWidensPairs = D::kPerWord == 2 && sizeof(T) == 1;

/// A vector of words of columns side by side; `first` is the row of their first element, and rows
/// of k are `stride` apart.
template <class D, class DW, typename T>
HWY_INLINE hn::Vec<DW> WordsAcross(DW dw, const T* first, int64_t stride) {
  if constexpr (kWidensPairs<D, T>) {
    const hn::Rebind<T, DW> d8;
    const hn::Repartition<int16_t, DW> d16;
    const auto even = hn::PromoteTo(dw, hn::LoadU(d8, first));
    const auto odd = hn::ShiftLeft<16>(hn::PromoteTo(dw, hn::LoadU(d8, first + stride)));
    return hn::BitCast(dw, hn::OddEven(hn::BitCast(d16, odd), hn::BitCast(d16, even)));
  } else if constexpr (D::kPerWord > 1) {
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

/// A vector of the words of one row, from word k on, which is even if vectors have several;
/// elements are neighbours.
template <class D, class DW, typename T>
HWY_INLINE hn::Vec<DW> WordsAlong(DW dw, const T* row, size_t k) {
  if constexpr (kIsPlain<D, T>) {
    return hn::LoadU(dw, reinterpret_cast<const typename D::Word*>(row + k * D::kPerWord));
  } else if constexpr (kWidensPairs<D, T>) {
    const hn::Rebind<T, hn::Repartition<int16_t, DW>> d8;
    return WidenPairs<T>(dw, hn::LoadU(d8, row + k * D::kPerWord));
  } else {
    if constexpr (!D::kSwapsPairs) return Whole<DW>().Load(row + k);
#if HWY_TARGET == HWY_SCALAR
    return Whole<DW>().Load(row + ElementOf<D>(k));
#else
    return hn::Reverse2(dw, Whole<DW>().Load(row + k));
#endif
  }
}

/// One of them.
template <class D, typename T>
HWY_INLINE typename D::Word WordAt(const T* row, size_t k) {
  if constexpr (kIsPlain<D, T>) {
    typename D::Word word;
    memcpy(&word, static_cast<const void*>(row + k * D::kPerWord), sizeof(word));
    return word;
  } else if constexpr (kWidensPairs<D, T>) {
    const int16_t pair[] = {row[k * D::kPerWord], row[k * D::kPerWord + 1]};
    typename D::Word word;
    memcpy(&word, pair, sizeof(word));
    return word;
  } else {
    return hn::GetLane(Whole<hn::CappedTag<float, 1>>().Load(row + ElementOf<D>(k)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
