// Exp and Exp2 of vectors, and what other functions make of them; see math-inl.h.
#if defined(KILN_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_EXP_INL_H_
#undef KILN_EXP_INL_H_
#else
#define KILN_EXP_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/table-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// x, or low if that is more; NaN stays.
template <FloatVector V>
HWY_INLINE V AtLeast(LaneOf<V> low, V x) {
  const V lo = hn::Set(hn::DFromV<V>(), low);
  if constexpr (HWY_ARCH_X86 && !kPlainLanes) {
    return hn::Max(lo, x);  // the instruction gives the second argument if one is NaN
  } else {
    return hn::IfThenElse(hn::Lt(x, lo), lo, x);
  }
}

/// x, or high if that is less; NaN stays.
template <FloatVector V>
HWY_INLINE V AtMost(LaneOf<V> high, V x) {
  const V hi = hn::Set(hn::DFromV<V>(), high);
  if constexpr (HWY_ARCH_X86 && !kPlainLanes) {
    return hn::Min(hi, x);
  } else {
    return hn::IfThenElse(hn::Gt(x, hi), hi, x);
  }
}

/// x between low and high; NaN stays.
template <FloatVector V>
HWY_INLINE V ClampKeepingNaN(V x, LaneOf<V> low, LaneOf<V> high) {
  return AtMost(high, AtLeast(low, x));
}

/// Whether x is at least `least`, or NaN: one comparison where compilers make two instructions of
/// it.
template <FloatVector V>
HWY_INLINE auto IsNotBelow(V x, V least) {
  [[maybe_unused]] constexpr bool kFloat = std::is_same_v<LaneOf<V>, float>;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  using M = hn::Mask<hn::DFromV<V>>;
  if constexpr (sizeof(V) == 64 && kFloat)
    return M{_mm512_cmp_ps_mask(x.raw, least.raw, _CMP_NLT_UQ)};
  if constexpr (sizeof(V) == 64 && !kFloat)
    return M{_mm512_cmp_pd_mask(x.raw, least.raw, _CMP_NLT_UQ)};
#elif HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2
  using M = hn::Mask<hn::DFromV<V>>;
  if constexpr (sizeof(V) == 32 && kFloat) return M{_mm256_cmp_ps(x.raw, least.raw, _CMP_NLT_UQ)};
  if constexpr (sizeof(V) == 32 && !kFloat) return M{_mm256_cmp_pd(x.raw, least.raw, _CMP_NLT_UQ)};
#endif
  return hn::Not(hn::Lt(x, least));
}

/// f of an f64 for each lane, rounded once. For targets without fused multiply-add, of which only
/// the slowest is compiled: their products lose what some functions need.
template <FloatVector V, class F>
HWY_INLINE V InF64(V x, F f) {
  using X = LaneOf<V>;
  return LaneByLane([f](X lane) { return static_cast<X>(f(double{lane})); }, x);
}

// ---- 2^n exp(r), with n an integer and |r| <= ln(2) / 2.

/// 2^(n + more - bias) of n + kMagic.
template <FloatVector V>
HWY_INLINE V PowerOfTwo(V n_magic, hn::Vec<BitsTagOf<V>> more) {
  const hn::DFromV<V> d;
  const auto bits = hn::BitCast(BitsTagOf<V>(), n_magic);
  constexpr int kMantissa = ConstantsOf<V>::kMantissa;
  return hn::BitCast(d, hn::Add(hn::ShiftLeft<kMantissa>(bits), hn::ShiftLeft<kMantissa>(more)));
}

/// x 2^n of n + kMagic, where neither is near the ends of what there is.
template <FloatVector V>
HWY_INLINE V TimesPowerOfTwo(V x, V n_magic) {
  const BitsTagOf<V> bits;
  constexpr int kMantissa = ConstantsOf<V>::kMantissa;
  return hn::BitCast(
      hn::DFromV<V>(),
      hn::Add(hn::BitCast(bits, x), hn::ShiftLeft<kMantissa>(hn::BitCast(bits, n_magic))));
}

/// exp(r) of small r.
template <FloatVector V>
HWY_INLINE V SmallExp(V r) {
  const V one = hn::Set(hn::DFromV<V>(), 1);
  return hn::Add(hn::MulAdd(hn::Mul(r, r), ExpTail(r), r), one);
}

// 2^n exp(r) as a product of what has all digits and a `scale`, so that only the multiplication by
// that rounds if the result is subnormal. With AVX-512, vscalefps takes the exponent itself as its
// scale, rounded down; and one instruction takes 16 floats from a table of 32, so that the n of f32
// has five more bits, and r is as small as needs a cubic only: 13 instructions, otherwise 15. AVX2
// has tables of 8, for three more bits.

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
/// The last place of a sum with it is that of n.
template <typename X>
constexpr X ScaledMagic() {
  return std::is_same_v<X, float> ? X{0x1.8p18f} : MathConstants<X>::kMagic;
}

/// 2^(k / 32)
alignas(64) constexpr float kPowersOfTwo[32] = {
    0x1p+0f,        0x1.059b0ep+0f, 0x1.0b5586p+0f, 0x1.11301ep+0f, 0x1.172b84p+0f, 0x1.1d4874p+0f,
    0x1.2387a6p+0f, 0x1.29e9ep+0f,  0x1.306fep+0f,  0x1.371a74p+0f, 0x1.3dea64p+0f, 0x1.44e086p+0f,
    0x1.4bfdaep+0f, 0x1.5342b6p+0f, 0x1.5ab07ep+0f, 0x1.6247ecp+0f, 0x1.6a09e6p+0f, 0x1.71f75ep+0f,
    0x1.7a1148p+0f, 0x1.82589ap+0f, 0x1.8ace54p+0f, 0x1.93737cp+0f, 0x1.9c4918p+0f, 0x1.a5503cp+0f,
    0x1.ae89fap+0f, 0x1.b7f77p+0f,  0x1.c199bep+0f, 0x1.cb720ep+0f, 0x1.d5818ep+0f, 0x1.dfc974p+0f,
    0x1.ea4afap+0f, 0x1.f50766p+0f};

template <FloatVector V>
HWY_INLINE V ScaleExp(V r, V n_magic, hn::Mask<hn::DFromV<V>> /*tiny*/, V& scale) {
  const hn::DFromV<V> d;
  scale = hn::Sub(n_magic, hn::Set(d, ScaledMagic<LaneOf<V>>()));
  if constexpr (std::is_same_v<LaneOf<V>, float>) {
    const V power = EntryOf<V>(kPowersOfTwo, hn::BitCast(BitsTagOf<V>(), n_magic));
    const V tail = hn::MulAdd(r, hn::Set(d, 0x1.555556p-3f), hn::Set(d, 0.5f));
    return hn::MulAdd(power, hn::MulAdd(hn::Mul(r, r), tail, r), power);
  } else {
    return SmallExp(r);
  }
}

template <FloatVector V>
HWY_INLINE V ApplyScale(V product, V scale) {
  constexpr bool kFloat = std::is_same_v<LaneOf<V>, float>;
  if constexpr (sizeof(V) == 64 && kFloat) {
    return V{_mm512_scalef_ps(product.raw, scale.raw)};
  } else if constexpr (sizeof(V) == 64) {
    return V{_mm512_scalef_pd(product.raw, scale.raw)};
  } else if constexpr (sizeof(V) == 32 && kFloat) {
    return V{_mm256_scalef_ps(product.raw, scale.raw)};
  } else if constexpr (sizeof(V) == 32) {
    return V{_mm256_scalef_pd(product.raw, scale.raw)};
  } else if constexpr (kFloat) {
    return V{_mm_scalef_ps(product.raw, scale.raw)};
  } else {
    return V{_mm_scalef_pd(product.raw, scale.raw)};
  }
}
#else

template <typename X>
constexpr X ScaledMagic() {
  return kHasShortTables && std::is_same_v<X, float> ? X{0x1.8p20f} : MathConstants<X>::kMagic;
}

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2
/// The bits of 2^(k / 8) / 2, without k in front of those of a fraction.
alignas(32) constexpr uint32_t kHalfPowersOfTwo[8] = {
    0x3F000000, 0x3EFB95C2, 0x3EF837F0, 0x3EF5FED7, 0x3EF504F3, 0x3EF5672A, 0x3EF744FD, 0x3EFAC0C7};

/// The bits of 2^n / 2 of n + ScaledMagic: what n has in front of its last three bits goes to the
/// exponent, and these, which are there too, are what the table lacks.
template <FloatVector V>
HWY_INLINE hn::Vec<BitsTagOf<V>> HalfPowerOfTwo(V n_magic) {
  const auto bits = hn::BitCast(BitsTagOf<V>(), n_magic);
  return hn::Add(EntryOf<V>(kHalfPowersOfTwo, bits),
                 hn::ShiftLeft<ConstantsOf<V>::kMantissa - 3>(bits));
}

template <FloatVector V>
HWY_INLINE V ScaleExpByTable(V r, V n_magic, hn::Mask<hn::DFromV<V>> tiny, V& scale) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const BitsTagOf<V> du;
  const auto step =
      hn::And(hn::BitCast(du, hn::VecFromMask(d, tiny)), hn::Set(du, C::kTinyStep << C::kMantissa));
  scale = hn::BitCast(d, hn::Sub(hn::BitCast(du, hn::Set(d, 2)), step));
  const V power = hn::BitCast(d, hn::Add(HalfPowerOfTwo(n_magic), step));
  const V tail = hn::MulAdd(r, hn::Set(d, 0x1.555bb8p-3f), hn::Set(d, 0x1.000884p-1f));
  return hn::MulAdd(power, hn::MulAdd(hn::Mul(r, r), tail, r), power);
}
#else
template <FloatVector V, class M>
V ScaleExpByTable(V r, V n_magic, M tiny, V& scale) = delete;
#endif

template <FloatVector V>
HWY_INLINE V ScaleExp(V r, V n_magic, hn::Mask<hn::DFromV<V>> tiny, V& scale) {
  using C = ConstantsOf<V>;
  if constexpr (kHasShortTablesOf<V>) return ScaleExpByTable(r, n_magic, tiny, scale);
  const hn::DFromV<V> d;
  const BitsTagOf<V> du;
  // The power is half of what it should be, so that it is finite for all finite results.
  const auto bias =
      hn::IfThenElse(hn::RebindMask(du, tiny), hn::Set(du, C::kBias - 1 + C::kTinyStep),
                     hn::Set(du, C::kBias - 1));
  scale = hn::IfThenElse(tiny, hn::Set(d, C::kTinyScale), hn::Set(d, 2));
  return hn::Mul(SmallExp(r), PowerOfTwo(n_magic, bias));
}

template <FloatVector V>
HWY_INLINE V ApplyScale(V product, V scale) {
  return hn::Mul(product, scale);
}
#endif

// What is 0 is made so before it is scaled: x86 takes 30 times as long for a result that
// underflows, as masked softmaxes have them in every row.

/// exp(x + low...), scaled; 0 below `least`. `low`, if given, is small: what x was rounded by.
template <FloatVector V, class... Low>
HWY_INLINE V ExpAbove(LaneOf<V> least, V x, V& scale, Low... low) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const auto is_more = IsNotBelow(x, hn::Set(d, least));  // or NaN
  x = AtMost(C::kExpHigh, x);
  if constexpr (!kHasShortTablesOf<V>) x = hn::IfThenElseZero(is_more, x);
  const V magic = hn::Set(d, ScaledMagic<LaneOf<V>>());
  const V n_magic = hn::MulAdd(x, hn::Set(d, C::kLog2E), magic);
  const V n = hn::Sub(n_magic, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, C::kLn2Low), hn::NegMulAdd(n, hn::Set(d, C::kLn2High), x));
  ((r = hn::Add(r, low)), ...);
  const V product = ScaleExp(r, n_magic, hn::Lt(x, hn::Set(d, C::kExpTiny)), scale);
  return hn::IfThenElseZero(is_more, product);
}

/// The same where it is 0 even times any factor for which it matters.
template <FloatVector V, class... Low>
HWY_INLINE V ExpAsProduct(V x, V& scale, Low... low) {
  return ExpAbove(ConstantsOf<V>::kExpLow, x, scale, low...);
}

template <FloatVector V>
HWY_INLINE V Exp(V x) {
  V scale;
  const V product = ExpAbove(ConstantsOf<V>::kExpLeast, x, scale);
  return ApplyScale(product, scale);
}

template <FloatVector V>
HWY_INLINE V Exp2(V x) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const auto is_more = IsNotBelow(x, hn::Set(d, C::kExp2Least));  // or NaN
  x = AtMost(C::kExp2High, x);
  if constexpr (!kHasShortTablesOf<V>) x = hn::IfThenElseZero(is_more, x);
  const V magic = hn::Set(d, ScaledMagic<LaneOf<V>>());
  const V n_magic = hn::Add(x, magic);
  const V r = hn::Mul(hn::Sub(x, hn::Sub(n_magic, magic)), hn::Set(d, C::kLn2));
  V scale;
  const V product = ScaleExp(r, n_magic, hn::Lt(x, hn::Set(d, C::kExp2Tiny)), scale);
  return ApplyScale(hn::IfThenElseZero(is_more, product), scale);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif  // KILN_EXP_INL_H_
