// How elements are multiplied: a lane holds a *k-group* of them and adds into an accumulator.
// The only file with intrinsics, since Highway 1.0.3 has no 16- or 8-bit dot on x86.
//
//   operands                  k-group                   accumulator
//   f32, or mixed floats      float                    float
//   bf16 x bf16               2 bf16 of neighbouring k float    where that is an instruction
//                             float                    float    elsewhere
//   i8, u8 in any pair        4 bytes of neighbouring k int32, wrapping          vpdpbusd, sdot,
//   udot
//                             2 of them, 16 bits wide  int32, wrapping          AVX2, AVX3
//   i32, or mixed integers    int32                    int32, wrapping
//   f64                       double                   double
//
// Where a CPU has AMX, its tiles take the k-groups of AVX3_DL (amx.h).
#if defined(KILN_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_DOT_INL_H_
#undef KILN_DOT_INL_H_
#else
#define KILN_DOT_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/dot/amx.h"
#include "kiln/simd/target-inl.h"

// What multiplies several elements of a lane at once. That is a matter of the target alone, and not
// of what else the compiler may assume: how operands are packed is a part of a namespace, and the
// library may have been compiled with other options than a kernel.
#undef KILN_HAS_SDOT        // of bytes: sdot and udot of Arm
#undef KILN_HAS_BF16_PAIRS  // of bf16: vdpbf16ps, bfdot
#if HWY_ARCH_ARM_A64 && (HWY_HAVE_SCALABLE || KILN_IS_NEON_BF16)
#define KILN_HAS_SDOT 1
#else
#define KILN_HAS_SDOT 0
#endif
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_SVE2 || KILN_IS_NEON_BF16
#define KILN_HAS_BF16_PAIRS 1
#else
#define KILN_HAS_BF16_PAIRS 0
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// In place of a vector of B that a narrow tile does not have.
struct NoColumns {};

/// A row of a register tile: one group of A times vectors of B.
template <class Self>
struct DotRows {
  /// Which register tiles compute it: dots that differ only in how they are packed share them.
  using Arithmetic = Self;
  static constexpr AmxElements kAmx = AmxElements::kNone;
  static constexpr uint32_t kFlip = 0;
  static constexpr bool kSwapsPairs = false;

  template <typename KGroup, class VY, class Y1, class Y2, class VA>
  static HWY_INLINE void StepRow(KGroup a, VY b_0, Y1 b_1, Y2 b_2, VA& acc_0, VA& acc_1,
                                 VA& acc_2) {
    const auto all = hn::Set(hn::DFromV<VY>(), a);
    AddProduct(all, b_0, acc_0);
    AddProduct(all, b_1, acc_1);
    AddProduct(all, b_2, acc_2);
  }

  /// Before the first k, for bytes: at `start` is what PackedA holds for this row after the
  /// groups of its last k. It undoes kFlip. (After the loop it would do as well, but then GCC
  /// copies every accumulator in every step.)
  template <typename KGroup, class VA>
  static HWY_INLINE void StartRow(const KGroup* start, VA& acc_0, VA& acc_1, VA& acc_2) {
    if constexpr (Self::kFlip != 0) {
      const auto all = hn::Set(hn::DFromV<VA>(), *start);
      acc_0 = hn::Add(acc_0, all);
      acc_1 = hn::Add(acc_1, all);
      acc_2 = hn::Add(acc_2, all);
    }
  }

 private:
  template <class VY, class VA>
  static HWY_INLINE void AddProduct(VY a, VY b, VA& acc) {
    acc = Self::Step(a, b, acc);
  }
  template <class VY, class VA>
  static HWY_INLINE void AddProduct(VY, NoColumns, VA&) {}
};

/// acc + a * b, with all of them in registers. Left to itself, GCC 12 reads B from memory again for
/// each row of a tile and copies sums where there are only 16 registers: two loads a cycle, which
/// is what most cores of AVX2 have, are too few for that (Zen 3: three quarters of the speed).
template <class V>
HWY_INLINE V MultiplyAdd(V a, V b, V acc) {
#if HWY_TARGET == HWY_AVX2
  if constexpr (std::is_same_v<hn::TFromV<V>, float>) {
    asm("vfmadd231ps %2, %1, %0" : "+x"(acc.raw) : "x"(a.raw), "x"(b.raw));
    return acc;
  }
  if constexpr (std::is_same_v<hn::TFromV<V>, double>) {
    asm("vfmadd231pd %2, %1, %0" : "+x"(acc.raw) : "x"(a.raw), "x"(b.raw));
    return acc;
  }
#endif
  return hn::MulAdd(a, b, acc);
}

/// One element a k-group: the lanes are multiplied and added as they are.
template <class Self, typename T, typename W = T>
struct SingleK : DotRows<Self> {
  using A = T;  // what elements of A are converted to before they are packed
  using B = T;
  using KGroup = W;
  using Acc = W;
  static constexpr size_t kKPerGroup = 1;

  template <class V>
  static HWY_INLINE V Step(V a, V b, V acc) {
    return MultiplyAdd(a, b, acc);
  }
};

template <typename TA, typename TB = TA>
struct Dot;

template <>
struct Dot<float> : SingleK<Dot<float>, float> {};
template <>
struct Dot<double> : SingleK<Dot<double>, double> {};
template <>
struct Dot<int32_t> : SingleK<Dot<int32_t>, int32_t> {
  template <class V>
  static HWY_INLINE V Step(V a, V b, V acc) {
    return hn::Add(acc, hn::Mul(a, b));
  }
};

#if KILN_HAS_BF16_PAIRS
template <>
struct Dot<bf16> : DotRows<Dot<bf16>> {
  using A = bf16;
  using B = bf16;
  using KGroup = int32_t;
  using Acc = float;
#if HWY_TARGET == HWY_AVX3_DL
  static constexpr AmxElements kAmx = AmxElements::kBf16;
#endif
  static constexpr size_t kKPerGroup = 2;

  template <class VI, class VF>
  static HWY_INLINE VF Step(VI a, VI b, VF acc) {
#if HWY_HAVE_SCALABLE
    return svbfdot_f32(acc, svreinterpret_bf16_s32(a), svreinterpret_bf16_s32(b));
#elif HWY_ARCH_ARM_A64
    if constexpr (sizeof(acc.raw) == 16) {
      const auto pairs = [](int32x4_t v) HWY_ATTR { return vreinterpretq_bf16_s32(v); };
      return VF{vbfdotq_f32(acc.raw, pairs(a.raw), pairs(b.raw))};
    } else {
      const auto pairs = [](int32x2_t v) HWY_ATTR { return vreinterpret_bf16_s32(v); };
      return VF{vbfdot_f32(acc.raw, pairs(a.raw), pairs(b.raw))};
    }
#else
    return VF{_mm512_dpbf16_ps(acc.raw, (__m512bh)a.raw, (__m512bh)b.raw)};
#endif
  }
};
#else
/// A bf16 becomes a float as it is packed. Neighbouring k change places: vdpbf16ps begins with the
/// odd one, and so the sums are the same on all machines of x86, but for subnormals, which it takes
/// for zeros. (bfdot does so, too, and rounds to odd: its sums are others, and as close.)
template <>
struct Dot<bf16> : SingleK<Dot<bf16>, bf16, float> {
  using Arithmetic = Dot<float>;
  static constexpr bool kSwapsPairs = true;
};
#endif

#if KILN_HAS_SDOT && HWY_HAVE_SCALABLE
HWY_INLINE svint32_t Sdot(svint32_t acc, svint8_t a, svint8_t b) { return svdot_s32(acc, a, b); }
HWY_INLINE svint32_t Sdot(svint32_t acc, svuint8_t a, svuint8_t b) {
  return svreinterpret_s32_u32(svdot_u32(svreinterpret_u32_s32(acc), a, b));
}
#elif KILN_HAS_SDOT
HWY_INLINE int32x4_t Sdot(int32x4_t acc, int8x16_t a, int8x16_t b) { return vdotq_s32(acc, a, b); }
HWY_INLINE int32x2_t Sdot(int32x2_t acc, int8x8_t a, int8x8_t b) { return vdot_s32(acc, a, b); }
HWY_INLINE int32x4_t Sdot(int32x4_t acc, uint8x16_t a, uint8x16_t b) {
  return vreinterpretq_s32_u32(vdotq_u32(vreinterpretq_u32_s32(acc), a, b));
}
HWY_INLINE int32x2_t Sdot(int32x2_t acc, uint8x8_t a, uint8x8_t b) {
  return vreinterpret_s32_u32(vdot_u32(vreinterpret_u32_s32(acc), a, b));
}
template <class V, class VB>
HWY_INLINE V Sdot(V acc, VB a, VB b) {
  return V{Sdot(acc.raw, a.raw, b.raw)};
}
#endif

/// Bytes, signed or not. Nothing saturates on any of these ways.
template <typename TA, typename TB>
struct ByteQuads : DotRows<ByteQuads<TA, TB>> {
  using A = TA;
  using B = TB;
  using KGroup = int32_t;
  using Acc = int32_t;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // They become 16 bits wide as they are packed, and pmaddwd adds the products of two.
  using Arithmetic = ByteQuads<int8_t, int8_t>;
  static constexpr size_t kKPerGroup = 2;

  // Assembly, as GCC 12 would add the products of several k first, for which there are no
  // registers. Twelve of 16 have sums, two are for A and a product: so the third vector of B is no
  // operand of assembly, and is read where it is used.
  template <class VY, class Y1, class Y2, class VA>
  static HWY_INLINE void StepRow(KGroup a, VY b_0, Y1 b_1, Y2 b_2, VA& acc_0, VA& acc_1,
                                 VA& acc_2) {
    const auto all = hn::Set(hn::DFromV<VY>(), a);
    acc_0 = Step(all, b_0, acc_0);
    if constexpr (!std::is_same_v<Y1, NoColumns>) acc_1 = Step(all, b_1, acc_1);
    if constexpr (!std::is_same_v<Y2, NoColumns>) Add(Y2{Multiply(all.raw, b_2.raw)}, acc_2);
  }

  template <class V>
  static HWY_INLINE V Step(V a, V b, V acc) {
    V sum;
    asm("vpmaddwd %2, %1, %0" : "=v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    Add(sum, acc);
    return acc;
  }

 private:
  template <class V>
  static HWY_INLINE void Add(V sum, V& acc) {
    asm("vpaddd %1, %0, %0" : "+v"(acc.raw) : "v"(sum.raw));
  }
  static HWY_INLINE __m256i Multiply(__m256i a, __m256i b) { return _mm256_madd_epi16(a, b); }
#if HWY_TARGET == HWY_AVX3
  static HWY_INLINE __m512i Multiply(__m512i a, __m512i b) { return _mm512_madd_epi16(a, b); }
#endif
#else
  static constexpr size_t kKPerGroup = 4;

#if HWY_TARGET == HWY_AVX3_DL
  static constexpr AmxElements kAmx =
      std::is_signed_v<TA> ? (std::is_signed_v<TB> ? AmxElements::kS8S8 : AmxElements::kS8U8)
                           : (std::is_signed_v<TB> ? AmxElements::kU8S8 : AmxElements::kU8U8);
#endif

  // vpdpbusd takes unsigned times signed, sdot and udot two that are alike. Where the operands are
  // not so, B is stored as B ± 128 (the flip of its highest bits), which makes a sum wrong by 128
  // times the sum of the row of A. PackedA gathers that as it packs.
  static constexpr bool kAlike = std::is_signed_v<TA> == std::is_signed_v<TB>;
  static constexpr uint32_t kFlip =
      (HWY_TARGET == HWY_AVX3_DL && kAlike) || (KILN_HAS_SDOT && !kAlike) ? 0x80808080u : 0;

  template <class V>
  static HWY_INLINE V Step(V a, V b, V acc) {
#if HWY_TARGET == HWY_AVX3_DL
    // Not the intrinsic: GCC 12 would copy all sums of a tile that stores them under masks, for
    // each k.
    const V of_unsigned = std::is_signed_v<TA> ? b : a, of_signed = std::is_signed_v<TA> ? a : b;
    asm("vpdpbusd %2, %1, %0" : "+v"(acc.raw) : "v"(of_unsigned.raw), "v"(of_signed.raw));
    return acc;
#elif KILN_HAS_SDOT
    const hn::Repartition<TA, hn::DFromV<V>> d;  // of both, now
    return Sdot(acc, hn::BitCast(d, a), hn::BitCast(d, b));
#else
    acc = hn::Add(acc, hn::Mul(Byte<TA, 0>(a), Byte<TB, 0>(b)));
    acc = hn::Add(acc, hn::Mul(Byte<TA, 1>(a), Byte<TB, 1>(b)));
    acc = hn::Add(acc, hn::Mul(Byte<TA, 2>(a), Byte<TB, 2>(b)));
    return hn::Add(acc, hn::Mul(Byte<TA, 3>(a), Byte<TB, 3>(b)));
#endif
  }

 private:
  template <typename T, int kByte, class V>
  static HWY_INLINE V Byte(V groups) {
    const V top = hn::ShiftLeft<24 - 8 * kByte>(groups);
    if constexpr (std::is_signed_v<T>) return hn::ShiftRight<24>(top);
    const hn::RebindToUnsigned<hn::DFromV<V>> du;
    return hn::BitCast(hn::DFromV<V>(), hn::ShiftRight<24>(hn::BitCast(du, top)));
  }
#endif
};

template <>
struct Dot<int8_t, int8_t> : ByteQuads<int8_t, int8_t> {};
template <>
struct Dot<int8_t, uint8_t> : ByteQuads<int8_t, uint8_t> {};
template <>
struct Dot<uint8_t, int8_t> : ByteQuads<uint8_t, int8_t> {};
template <>
struct Dot<uint8_t, uint8_t> : ByteQuads<uint8_t, uint8_t> {};

/// f16, and any mixture: each operand is widened as it is packed.
template <typename TA, typename TB>
struct Dot : Dot<std::conditional_t<std::is_integral_v<TA>, int32_t, float>> {
  static_assert(std::is_integral_v<TA> == std::is_integral_v<TB>, "a dot of floats or of integers");
};

/// The dot that a format is packed for: named by its type of element, or itself.
template <class As>
struct DotOfT {
  using type = Dot<As>;
};
template <typename TA, typename TB>
struct DotOfT<Dot<TA, TB>> {
  using type = Dot<TA, TB>;
};
template <class As>
using DotOf = typename DotOfT<As>::type;

/// Whether tiles of AMX multiply it here.
template <class D>
HWY_INLINE bool UsesAmx() {
  if constexpr (D::kAmx == AmxElements::kNone) return false;
  return HasAmx();
}

/// What B is flipped by. AMX multiplies any pair of bytes as they are.
template <class D>
HWY_INLINE uint32_t FlipOf() {
  return UsesAmx<D>() ? 0 : D::kFlip;
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
