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

/// Words of rows interleaved, of `row(r)`, vectors of unsigned elements. Widen, shift, or: plain
/// Highway.
template <typename T, class DW, class Row>
HWY_INLINE hn::Vec<DW> Interleave(DW dw, const Row& row) {
  const hn::RebindToUnsigned<DW> du;
  const auto wide = [&](size_t r) HWY_ATTR { return hn::PromoteTo(du, row(r)); };
  auto words = hn::Or(wide(0), hn::ShiftLeft<8 * sizeof(T)>(wide(1)));
  if constexpr (sizeof(T) == 1) {
    words = hn::Or(words, hn::ShiftLeft<16>(hn::Or(wide(2), hn::ShiftLeft<8>(wide(3)))));
  }
  return hn::BitCast(dw, words);
}

/// A vector of words of columns side by side; `first` is the row of their first element, and rows
/// of k are `stride` apart.
template <class D, class DW, typename T>
HWY_INLINE hn::Vec<DW> WordsAcross(DW dw, const T* first, int64_t stride) {
  if constexpr (D::kPerWord > 1) {
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
  } else {
    return hn::GetLane(Whole<hn::CappedTag<float, 1>>().Load(row + ElementOf<D>(k)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
