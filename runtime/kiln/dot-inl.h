// How elements are multiplied: a lane holds a *word* of them along k and adds into an accumulator.
// The only file with intrinsics, since Highway 1.0.3 has no 16- or 8-bit dot on x86.
//
//   operands                  word                     accumulator
//   f32, or mixed floats      float                    float
//   bf16 x bf16               2 bf16 of neighbouring k float    where that is an instruction
//                             float                    float    elsewhere
//   i8, u8 in any pair        4 bytes of neighbouring k int32, wrapping
//                             2 of them, 16 bits wide  int32, wrapping          AVX2, AVX3
//   i32, or mixed integers    int32                    int32, wrapping
//   f64                       double                   double
#if defined(KILN_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_DOT_INL_H_
#undef KILN_DOT_INL_H_
#else
#define KILN_DOT_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "kiln/target-inl.h"
#include "kiln/types.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Instead of a vector of y, in a narrow tile.
struct NoColumns {};

/// A row of a register tile: one word of x times vectors of y.
template <class Self>
struct DotRows {
  static constexpr uint32_t kFlip = 0;
  static constexpr bool kSwapsPairs = false;

  template <typename Word, class VY, class Y1, class Y2, class VA>
  static HWY_INLINE void StepRow(Word x, VY y_0, Y1 y_1, Y2 y_2, VA& acc_0, VA& acc_1, VA& acc_2) {
    const auto all = hn::Set(hn::DFromV<VY>(), x);
    AddProduct(all, y_0, acc_0);
    AddProduct(all, y_1, acc_1);
    AddProduct(all, y_2, acc_2);
  }

  /// Before the first k, for bytes: at `start` is what LeftPanels holds for this row after the
  /// words of its last k. It undoes kFlip. (After the loop it would do as well, but then GCC copies
  /// every accumulator in every step.)
  template <typename Word, class VA>
  static HWY_INLINE void StartRow(const Word* start, VA& acc_0, VA& acc_1, VA& acc_2) {
    if constexpr (Self::kFlip != 0) {
      const auto all = hn::Set(hn::DFromV<VA>(), *start);
      acc_0 = hn::Add(acc_0, all);
      acc_1 = hn::Add(acc_1, all);
      acc_2 = hn::Add(acc_2, all);
    }
  }

 private:
  template <class VY, class VA>
  static HWY_INLINE void AddProduct(VY x, VY y, VA& acc) {
    acc = Self::Step(x, y, acc);
  }
  template <class VY, class VA>
  static HWY_INLINE void AddProduct(VY, NoColumns, VA&) {}
};

/// acc + x * y, with all of them in registers. Left to itself, GCC 12 reads y from memory again for
/// each row of a tile and copies sums where there are only 16 registers: two loads a cycle, which
/// is what most cores of AVX2 have, are too few for that (Zen 3: three quarters of the speed).
template <class V>
HWY_INLINE V MultiplyAdd(V x, V y, V acc) {
#if HWY_TARGET == HWY_AVX2
  if constexpr (std::is_same_v<hn::TFromV<V>, float>) {
    asm("vfmadd231ps %2, %1, %0" : "+x"(acc.raw) : "x"(x.raw), "x"(y.raw));
    return acc;
  }
  if constexpr (std::is_same_v<hn::TFromV<V>, double>) {
    asm("vfmadd231pd %2, %1, %0" : "+x"(acc.raw) : "x"(x.raw), "x"(y.raw));
    return acc;
  }
#endif
  return hn::MulAdd(x, y, acc);
}

/// One element a word: the lanes are multiplied and added as they are.
template <class Self, typename T, typename W = T>
struct WholeWords : DotRows<Self> {
  using X = T;  // what elements of x are converted to before they become words
  using Y = T;
  using Word = W;
  using Acc = W;
  static constexpr size_t kPerWord = 1;

  template <class V>
  static HWY_INLINE V Step(V x, V y, V acc) {
    return MultiplyAdd(x, y, acc);
  }
};

template <typename TX, typename TY = TX>
struct Dot;

template <>
struct Dot<float> : WholeWords<Dot<float>, float> {};
template <>
struct Dot<double> : WholeWords<Dot<double>, double> {};
template <>
struct Dot<int32_t> : WholeWords<Dot<int32_t>, int32_t> {
  template <class V>
  static HWY_INLINE V Step(V x, V y, V acc) {
    return hn::Add(acc, hn::Mul(x, y));
  }
};

#if HWY_TARGET == HWY_AVX3_DL
template <>
struct Dot<bf16> : DotRows<Dot<bf16>> {
  using X = bf16;
  using Y = bf16;
  using Word = int32_t;
  using Acc = float;
  static constexpr size_t kPerWord = 2;

  template <class VI, class VF>
  static HWY_INLINE VF Step(VI x, VI y, VF acc) {
    return VF{_mm512_dpbf16_ps(acc.raw, (__m512bh)x.raw, (__m512bh)y.raw)};
  }
};
#else
/// A bf16 becomes a float as it is packed. Neighbouring k change places: vdpbf16ps begins with the
/// odd one, and so the sums are the same on all machines, but for subnormals, which it takes for
/// zeros.
template <>
struct Dot<bf16> : WholeWords<Dot<bf16>, bf16, float> {
  static constexpr bool kSwapsPairs = true;
};
#endif

/// Bytes, signed or not. Nothing saturates on any of the three ways.
template <typename TX, typename TY>
struct ByteWords : DotRows<ByteWords<TX, TY>> {
  using X = TX;
  using Y = TY;
  using Word = int32_t;
  using Acc = int32_t;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // They become 16 bits wide as they are packed, and pmaddwd adds the products of two.
  static constexpr size_t kPerWord = 2;

  // Assembly, as GCC 12 would add the products of several k first, for which there are no
  // registers. Twelve of 16 have sums, two are for x and a product: so the third vector of y is no
  // operand of assembly, and is read where it is used.
  template <class VY, class Y1, class Y2, class VA>
  static HWY_INLINE void StepRow(Word x, VY y_0, Y1 y_1, Y2 y_2, VA& acc_0, VA& acc_1, VA& acc_2) {
    const auto all = hn::Set(hn::DFromV<VY>(), x);
    acc_0 = Step(all, y_0, acc_0);
    if constexpr (!std::is_same_v<Y1, NoColumns>) acc_1 = Step(all, y_1, acc_1);
    if constexpr (!std::is_same_v<Y2, NoColumns>) Add(Y2{Multiply(all.raw, y_2.raw)}, acc_2);
  }

  template <class V>
  static HWY_INLINE V Step(V x, V y, V acc) {
    V sum;
    asm("vpmaddwd %2, %1, %0" : "=v"(sum.raw) : "v"(x.raw), "v"(y.raw));
    Add(sum, acc);
    return acc;
  }

 private:
  template <class V>
  static HWY_INLINE void Add(V sum, V& acc) {
    asm("vpaddd %1, %0, %0" : "+v"(acc.raw) : "v"(sum.raw));
  }
  static HWY_INLINE __m256i Multiply(__m256i x, __m256i y) { return _mm256_madd_epi16(x, y); }
#if HWY_TARGET == HWY_AVX3
  static HWY_INLINE __m512i Multiply(__m512i x, __m512i y) { return _mm512_madd_epi16(x, y); }
#endif
#else
  static constexpr size_t kPerWord = 4;

  // vpdpbusd takes unsigned times signed. Where both operands are alike, y is stored as y ± 128
  // (the flip of its highest bits), which makes a sum wrong by 128 times the sum of the row of x.
  // LeftPanels gathers that as it packs.
  static constexpr bool kNative = HWY_TARGET == HWY_AVX3_DL;
  static constexpr uint32_t kFlip =
      kNative && std::is_signed_v<TX> == std::is_signed_v<TY> ? 0x80808080u : 0;

  template <class V>
  static HWY_INLINE V Step(V x, V y, V acc) {
#if HWY_TARGET == HWY_AVX3_DL
    // Not the intrinsic: GCC 12 would copy all sums of a tile that stores them under masks, for
    // each k.
    const V of_unsigned = std::is_signed_v<TX> ? y : x, of_signed = std::is_signed_v<TX> ? x : y;
    asm("vpdpbusd %2, %1, %0" : "+v"(acc.raw) : "v"(of_unsigned.raw), "v"(of_signed.raw));
    return acc;
#else
    acc = hn::Add(acc, hn::Mul(Byte<TX, 0>(x), Byte<TY, 0>(y)));
    acc = hn::Add(acc, hn::Mul(Byte<TX, 1>(x), Byte<TY, 1>(y)));
    acc = hn::Add(acc, hn::Mul(Byte<TX, 2>(x), Byte<TY, 2>(y)));
    return hn::Add(acc, hn::Mul(Byte<TX, 3>(x), Byte<TY, 3>(y)));
#endif
  }

 private:
  template <typename T, int kByte, class V>
  static HWY_INLINE V Byte(V words) {
    const V top = hn::ShiftLeft<24 - 8 * kByte>(words);
    if constexpr (std::is_signed_v<T>) return hn::ShiftRight<24>(top);
    const hn::RebindToUnsigned<hn::DFromV<V>> du;
    return hn::BitCast(hn::DFromV<V>(), hn::ShiftRight<24>(hn::BitCast(du, top)));
  }
#endif
};

template <>
struct Dot<int8_t, int8_t> : ByteWords<int8_t, int8_t> {};
template <>
struct Dot<int8_t, uint8_t> : ByteWords<int8_t, uint8_t> {};
template <>
struct Dot<uint8_t, int8_t> : ByteWords<uint8_t, int8_t> {};
template <>
struct Dot<uint8_t, uint8_t> : ByteWords<uint8_t, uint8_t> {};

/// f16, and any mixture: each operand is widened as it is packed.
template <typename TX, typename TY>
struct Dot : Dot<std::conditional_t<std::is_integral_v<TX>, int32_t, float>> {
  static_assert(std::is_integral_v<TX> == std::is_integral_v<TY>, "a dot of floats or of integers");
};

/// The dot that a format is packed for: named by its type of element, or itself.
template <class As>
struct DotOfT {
  using type = Dot<As>;
};
template <typename TX, typename TY>
struct DotOfT<Dot<TX, TY>> {
  using type = Dot<TX, TY>;
};
template <class As>
using DotOf = typename DotOfT<As>::type;

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
