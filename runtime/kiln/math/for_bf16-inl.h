// Functions of f32 that are rounded to bf16 next, in fewer instructions than those that are exact
// to a few last places of f32. Largest errors, as parts of the result:
//
//   GeluForBf16                                2^-12.6, where the result is at least 1e-17
//   ExpForBf16                                 2^-14, where the result is at least 1e-37
//   SigmoidForBf16 SiluForBf16 GeluTanhForBf16 2^-13.9, where it is at least 1e-36: below it is 0
//   TanhForBf16                                2^-17
//
// which is a twentieth of bf16's last place at the most. But for Gelu and Tanh that takes tables
// (AVX-512 and AVX2); on other targets, and of f64, they are the functions without `ForBf16`.
#if defined(KILN_FOR_BF16_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FOR_BF16_INL_H_
#undef KILN_FOR_BF16_INL_H_
#else
#define KILN_FOR_BF16_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/activations-inl.h"
#include "kiln/math/exp-inl.h"
#include "kiln/math/tanh-inl.h"
#include "kiln/simd/divide-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// max(x, 0) - t 2^g(t) of t = |x|, where g is a polynomial up to 9; from there on t stays 9.
template <FloatVector V>
HWY_INLINE V GeluForBf16(V x) {
  if constexpr (std::is_same_v<LaneOf<V>, double>) {
    return Gelu(x);
  } else {
    const hn::DFromV<V> d;
    const V t = AtMost(9.0f, Magnitude(x));
    // In halves of halves: the vectors of a tile come one after another, and chains hold them up.
    const V tt = hn::Mul(t, t);
    const V low = hn::MulAdd(tt, Polynomial(t, -0x1.d88b84p-2f, -0x1.a572d4p-5f),
                             Polynomial(t, -0x1.000674p+0f, -0x1.265f6p+0f));
    const V high = hn::MulAdd(tt, Polynomial(t, 0x1.52e0d2p-15f, -0x1.067714p-20f),
                              Polynomial(t, 0x1.ebb5acp-8f, -0x1.7b6128p-11f));
    const V g = hn::MulAdd(hn::Mul(tt, tt), high, low);
    const V magic = hn::Set(d, ConstantsOf<V>::kMagic);
    const V n_magic = hn::Add(g, magic);
    const V r = hn::Sub(g, hn::Sub(n_magic, magic));
    const V power = Polynomial(r, 0x1.fff692p-1f, 0x1.62f31ap-1f, 0x1.f0de1ap-3f, 0x1.c3f76p-5f);
    return hn::NegMulAdd(t, TimesPowerOfTwo(power, n_magic), PositivePart(x));
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// Of the parts of kTanhMiddle.
alignas(64) constexpr float kTanhForBf16[4][32] = {
    {// of v^0
     0x1.f4c0a2p-1f, 0x1.fbd55ep-1f, 0x1.fe769ap-1f, 0x1.ff6f24p-1f, 0x1.ffdfd4p-1f, 0x1.fffba6p-1f,
     0x1.ffff6ap-1f, 0x1.ffffecp-1f, 0x1p+0f,        0x0p+0f,        0x0p+0f,        0x0p+0f,
     0x1.1f86bep-4f, 0x1.5f22d2p-4f, 0x1.9e9356p-4f, 0x1.ddd092p-4f, 0x1.1e1ddp-3f,  0x1.5c9308p-3f,
     0x1.9a5f1cp-3f, 0x1.d7665cp-3f, 0x1.18a398p-2f, 0x1.52c2c4p-2f, 0x1.8a87ep-2f,  0x1.bfae6ap-2f,
     0x1.050866p-1f, 0x1.3157d8p-1f, 0x1.5788fap-1f, 0x1.77d836p-1f, 0x1.9e5cb2p-1f, 0x1.c278bap-1f,
     0x1.d9c714p-1f, 0x1.e878b4p-1f},
    {// of v^1
     0x1.63fe7ep-5f,  0x1.09976ep-6f,  0x1.88d5dep-8f,  0x1.21946ep-9f,  0x1.01a0b4p-11f,
     0x1.16fc3cp-14f, 0x1.2e0f88p-17f, 0x1.470976p-20f, 0x1.e28ee2p-25f, 0x0p+0f,
     0x0p+0f,         0x1p+0f,         0x1.fd7a22p-1f,  0x1.fc3ccp-1f,   0x1.fac13ep-1f,
     0x1.f9085ap-1f,  0x1.f601ccp-1f,  0x1.f12bp-1f,    0x1.eb715ap-1f,  0x1.e4dfb2p-1f,
     0x1.d98b3cp-1f,  0x1.c7f728p-1f,  0x1.b3ff34p-1f,  0x1.9e23b2p-1f,  0x1.7aeb1cp-1f,
     0x1.49e6e8p-1f,  0x1.197feap-1f,  0x1.d834f8p-2f,  0x1.6150fep-2f,  0x1.cea79ep-3f,
     0x1.265decp-3f,  0x1.6fceep-4f},
    {// of v^2
     -0x1.62925cp-5f,  -0x1.0cbf5p-6f,   -0x1.8fd3fp-8f,   -0x1.275e28p-9f,  -0x1.18e088p-11f,
     -0x1.3043e4p-14f, -0x1.497258p-17f, -0x1.64b088p-20f, -0x1.685cd4p-24f, 0x0p+0f,
     0x0p+0f,          0x0p+0f,          -0x1.1e1914p-4f,  -0x1.5c8a9ep-4f,  -0x1.9a4fep-4f,
     -0x1.d74b36p-4f,  -0x1.187ce4p-3f,  -0x1.526c82p-3f,  -0x1.89d5a4p-3f,  -0x1.be5b9ap-3f,
     -0x1.036918p-2f,  -0x1.2d859cp-2f,  -0x1.4fcb94p-2f,  -0x1.69f234p-2f,  -0x1.81c108p-2f,
     -0x1.8902dcp-2f,  -0x1.796f1cp-2f,  -0x1.5a75c4p-2f,  -0x1.1de1fap-2f,  -0x1.97bb9ep-3f,
     -0x1.113288p-3f,  -0x1.603e46p-4f},
    {// of v^3
     0x1.c23516p-6f,  0x1.5f8d8ep-7f,  0x1.0858ecp-8f,  0x1.881c62p-10f, 0x1.7346fp-12f,
     0x1.926394p-15f, 0x1.b3b856p-18f, 0x1.d7c15ap-21f, 0x1.d26804p-25f, 0x0p+0f,
     0x0p+0f,         -0x1.555556p-2f, -0x1.4ea39p-2f,  -0x1.4b5d04p-2f, -0x1.477662p-2f,
     -0x1.42f3bcp-2f, -0x1.3b1c82p-2f, -0x1.2ead72p-2f, -0x1.2033f4p-2f, -0x1.0fe914p-2f,
     -0x1.e97358p-3f, -0x1.98b13cp-3f, -0x1.42cdb2p-3f, -0x1.d7d934p-4f, -0x1.c2b50cp-5f,
     0x1.c34da2p-7f,  0x1.052524p-4f,  0x1.82b69ap-4f,  0x1.c3808ep-4f,  0x1.971af6p-4f,
     0x1.34219cp-4f,  0x1.a95eacp-5f},
};

/// exp(sign x), of any x: 2^(n + k / 32) (1 + r)
template <int kSign, FloatVector V>
HWY_INLINE V ExpByTable(V x) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  x = ClampKeepingNaN(x, -110.0f, 110.0f);  // of these already 0 and infinite
  const V magic = hn::Set(d, ScaledMagic<float>());
  const V n_magic = hn::MulAdd(x, hn::Set(d, kSign * C::kLog2E), magic);
  const V n = hn::Sub(n_magic, magic);
  const V r = hn::MulAdd(n, hn::Set(d, -kSign * (C::kLn2High + C::kLn2Low)), x);
  const V power = EntryOf<V>(kPowersOfTwo, hn::BitCast(BitsTagOf<V>(), n_magic));
  const V rest = kSign > 0 ? hn::MulAdd(power, r, power) : hn::NegMulAdd(power, r, power);
  return ApplyScale(rest, n);
}

/// factor / (1 + exp(-x)). The divider has nothing else to do; a reciprocal by a table takes
/// longer.
template <FloatVector V>
HWY_INLINE V TimesSigmoidByTable(V factor, V x) {
  return hn::Div(factor, hn::Add(hn::Set(hn::DFromV<V>(), 1), ExpByTable<-1>(x)));
}

template <FloatVector V>
HWY_INLINE V TanhForBf16ByTable(V x) {
  const V t = AtMost(ConstantsOf<V>::kTanhHigh, Magnitude(x));
  const auto part = hn::ShiftRight<21>(hn::BitCast(BitsTagOf<V>(), AtLeast(kBelowParts, t)));
  const V v = hn::Sub(t, EntryOf<V>(kTanhMiddle, part));
  return CopySignOf(PolynomialByTable(kTanhForBf16, v, part), x);
}

#else

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2

/// exp(sign x) / 2 of |x| <= 89: 2^(n + k / 8) (1 + r + r^2 / 2) / 2
template <int kSign, FloatVector V>
HWY_INLINE V HalfExp(V x) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const V magic = hn::Set(d, ScaledMagic<float>());
  const V n_magic = hn::MulAdd(x, hn::Set(d, kSign * C::kLog2E), magic);
  const V n = hn::Sub(n_magic, magic);
  const V r = hn::MulAdd(n, hn::Set(d, -kSign * (C::kLn2High + C::kLn2Low)), x);  // or -r
  const V power = hn::BitCast(d, HalfPowerOfTwo(n_magic));
  return hn::MulAdd(power, hn::Mul(r, Polynomial(r, kSign, 0.5f)), power);
}

/// Of what is below -86, whatever that is, 0.
template <FloatVector V>
HWY_INLINE V ExpByShortTable(V x) {
  const hn::DFromV<V> d;
  const auto is_more = IsNotBelow(x, hn::Set(d, ConstantsOf<V>::kExpTiny));  // or NaN
  const V half = hn::IfThenElseZero(is_more, HalfExp<1>(AtMost(ConstantsOf<V>::kExpHigh, x)));
  return hn::Add(half, half);
}

/// factor / (1 + exp(-x)), where that may be infinite
template <FloatVector V>
HWY_INLINE V TimesSigmoidByTable(V factor, V x) {
  const hn::DFromV<V> d;
  const V half = HalfExp<-1>(ClampKeepingNaN(x, -89.0f, 86.0f));
  return hn::Div(factor, hn::MulAdd(half, hn::Set(d, 2), hn::Set(d, 1)));
}

#else
template <FloatVector V>
V ExpByShortTable(V x) = delete;
template <FloatVector V>
V TimesSigmoidByTable(V factor, V x) = delete;
#endif

template <int kSign, FloatVector V>
V ExpByTable(V x) = delete;
template <FloatVector V>
V TanhForBf16ByTable(V x) = delete;

#endif

template <FloatVector V>
constexpr bool kHasAnyTableOf = kHasTablesOf<V> || kHasShortTablesOf<V>;

template <FloatVector V>
HWY_INLINE V ExpForBf16(V x) {
  if constexpr (kHasTablesOf<V>) return ExpByTable<1>(x);
  if constexpr (kHasShortTablesOf<V>) return ExpByShortTable(x);
  return Exp(x);
}

template <FloatVector V>
HWY_INLINE V SigmoidForBf16(V x) {
  if constexpr (kHasAnyTableOf<V>) return TimesSigmoidByTable(hn::Set(hn::DFromV<V>(), 1), x);
  return Sigmoid(x);
}

template <FloatVector V>
HWY_INLINE V SiluForBf16(V x) {
  if constexpr (kHasAnyTableOf<V>) return TimesSigmoidByTable(x, x);
  return Silu(x);
}

/// x sigmoid(2 u), of u = sqrt(2 / pi) (x + 0.044715 x^3)
template <FloatVector V>
HWY_INLINE V GeluTanhForBf16(V x) {
  if constexpr (kHasAnyTableOf<V>) {
    const V u = hn::Mul(x, Polynomial(hn::Mul(x, x), 1.5957691216057307f, 0.07135481627260025f));
    return TimesSigmoidByTable(x, u);
  }
  return GeluTanh(x);
}

/// x p(x^2) / q(x^2), whose relative error is least up to 6.6; from there on it is nearly 1.
template <FloatVector V>
HWY_INLINE V TanhForBf16(V x) {
  if constexpr (std::is_same_v<LaneOf<V>, double>) return Tanh(x);
  if constexpr (kHasTablesOf<V>) return TanhForBf16ByTable(x);
  const V y = ClampKeepingNaN(x, -6.6f, 6.6f);
  const V z = hn::Mul(y, y);
  const V p = Polynomial(z, 0x1.ffffeap-1f, 0x1.fab764p-4f, 0x1.32734ep-9f, 0x1.1b20dp-18f);
  const V q = Polynomial(z, 1.0f, 0x1.d401d6p-2f, 0x1.5dec1p-6f, 0x1.386f36p-13f);
  return hn::Div(hn::Mul(y, p), q);
}

/// v / divisor by a reciprocal, which the compiler moves out of a loop: off by one place in 2^23.
template <FloatVector V>
HWY_INLINE V DivideByForBf16(V v, LaneOf<V> divisor) {
  const V reciprocal = hn::Set(hn::DFromV<V>(), 1 / divisor);
  if (HWY_LIKELY(HasReciprocal(divisor))) return hn::Mul(v, reciprocal);
  return hn::Div(v, hn::Set(hn::DFromV<V>(), divisor));
}

template <FloatScalar X>
HWY_INLINE X GeluForBf16(X x) {
  return FromOneLane(GeluForBf16(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X ExpForBf16(X x) {
  return FromOneLane(ExpForBf16(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X SigmoidForBf16(X x) {
  return FromOneLane(SigmoidForBf16(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X SiluForBf16(X x) {
  return FromOneLane(SiluForBf16(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X GeluTanhForBf16(X x) {
  return FromOneLane(GeluTanhForBf16(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X TanhForBf16(X x) {
  return FromOneLane(TanhForBf16(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_FOR_BF16_INL_H_
