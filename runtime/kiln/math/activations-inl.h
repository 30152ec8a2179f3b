// Sigmoid, Silu, Gelu, GeluTanh and Softplus; see math-inl.h. Largest errors in
// units of the last place:
//
//              f32    f64
//   Sigmoid    3.1    2.4     f32 by a table of powers (exp-inl.h; of 8 2.9), else 2.4
//   Silu       3.8    2.9     f32 likewise (3.8), else 3.3
//   Gelu       5.9    81     where the result is at least 1e-8 (f64: 1e-16); f32 by a table 1.5
//   GeluTanh   3.3    15     likewise; f32 by a table 1.8; without fused multiply-add f64 40
//   Softplus   2.2    1.6     f32 by a table of powers, else 1.6
//
// (The large ones are of small results: those of f64 that are at least 1e-3 are off by 4 and 7.)
#if defined(KILN_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ACTIVATIONS_INL_H_
#undef KILN_ACTIVATIONS_INL_H_
#else
#define KILN_ACTIVATIONS_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/gelu-inl.h"
#include "kiln/math/math-inl.h"
#include "kiln/math/trigonometry-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// factor / (1 + exp(-x - low...)): e / (1 + e) for negative x, so that small results keep their
/// digits. `low`, if given, is what x was rounded by.
template <FloatVector V, class... Low>
HWY_INLINE V TimesSigmoid(V factor, V x, Low... low) {
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1);
  V scale;
  const auto negative = hn::Lt(x, hn::Zero(d));
  // It is 0 where a large factor must not bring it back, and -inf * 0 is NaN.
  const V product =
      ExpAsProduct(hn::Neg(hn::Abs(x)), scale, hn::IfThenElse(negative, low, hn::Neg(low))...);
  const V e = ApplyScale(product, scale);
  const V above = hn::IfThenElse(negative, hn::Mul(factor, product), factor);
  const V quotient = hn::Div(above, hn::Add(one, e));
  return hn::IfThenElse(negative, ApplyScale(quotient, scale), quotient);
}

template <FloatVector V>
HWY_INLINE V Sigmoid(V x) {
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1);
  const V e = Exp(hn::Neg(hn::Abs(x)));
  const auto negative = hn::Lt(x, hn::Zero(d));
  return hn::Div(hn::IfThenElse(negative, e, one), hn::Add(one, e));
}

template <FloatVector V>
HWY_INLINE V Silu(V x) {
  return TimesSigmoid(x, x);
}

/// |x|. Not Abs, for which GCC takes the mask from a general register.
template <FloatVector V>
HWY_INLINE V Magnitude(V x) {
  return hn::AndNot(hn::Set(hn::DFromV<V>(), -0.0f), x);
}

/// x or 0; of -inf NaN, as -inf * 0 is.
template <FloatVector V>
HWY_INLINE V PositivePart(V x) {
  return hn::Sub(x, hn::Min(x, hn::Zero(hn::DFromV<V>())));
}

/// x (1 + tanh(u)) / 2 = x sigmoid(2 u), of u = sqrt(2 / pi) (x + 0.044715 x^3)
template <FloatVector V>
HWY_INLINE V GeluTanh(V x) {
  using X = LaneOf<V>;
  if constexpr (kHasTablesOf<V>) return hn::Sub(PositivePart(x), GeluTanhTail(Magnitude(x)));
#if !HWY_NATIVE_FMA
  if constexpr (std::is_same_v<X, float>) {
    return InF64(x, [](double y) {
      const double u = y * (1.5957691216057307 + 0.071354816272600250 * y * y);
      return y < 0 ? y * std::exp(u) / (1 + std::exp(u)) : y / (1 + std::exp(-u));
    });
  }
#endif
  const hn::DFromV<V> d;
  constexpr X kLinear = static_cast<X>(1.5957691216057307);  // 2 sqrt(2 / pi)
  constexpr X kLinearLow =
      static_cast<X>(sizeof(X) == 4 ? -4.534068042105272e-08 : -9.96930880911092e-17);
  constexpr X kCubic = static_cast<X>(0.071354816272600250);  // times 0.044715
  constexpr X kCubicLow =
      static_cast<X>(sizeof(X) == 4 ? 2.3988323959931355e-09 : -6.175149918155315e-19);
  constexpr X kHigh = sizeof(X) == 4 ? 20 : 40;  // from here on, the result is 0 or x
  // Products and sums with what they were rounded by: an error of the exponent counts many times.
  const V y = ClampKeepingNaN(x, -kHigh, kHigh);
  const V square = hn::Mul(y, y);
  const V square_low = hn::MulSub(y, y, square);
  const V linear = hn::Set(d, kLinear);
  const V cubic = hn::Set(d, kCubic);
  const V factor = hn::MulAdd(square, cubic, linear);
  const V factor_low = hn::MulAdd(
      square_low, cubic,
      hn::MulAdd(
          square, hn::Set(d, kCubicLow),
          hn::Add(hn::MulAdd(square, cubic, hn::Sub(linear, factor)), hn::Set(d, kLinearLow))));
  const V u = hn::Mul(y, factor);
  return TimesSigmoid(x, u, hn::MulAdd(y, factor_low, hn::MulSub(y, factor, u)));
}

/// x times the normal distribution function: of t = |x|, max(x, 0) - t q of q = erfc(t / sqrt(2)) /
/// 2, so that no digits cancel, and q = 2^(h(t) - t^2 log2(e) / 2), where h is nearly a polynomial.
/// That is good up to 5.93, where the result is -1e-8; from 12.5 on, where it is -5e-35, t stays.
/// Where there is a table for t q: good up to 7.625, where it is 1e-13, and 0 from there on. f64:
/// the C library.
template <FloatVector V>
HWY_INLINE V Gelu(V x) {
  if constexpr (std::is_same_v<LaneOf<V>, double> || !HWY_NATIVE_FMA) {
    return InF64(x, [](double y) { return y / 2 * std::erfc(y * -0.70710678118654752); });
  } else if constexpr (kHasTables) {
    return hn::Sub(PositivePart(x), GeluTail(Magnitude(x)));
  } else {
    const hn::DFromV<V> d;
    const V t = AtMost(12.5f, Magnitude(x));
    // h + 3 around 2.1; even and odd powers do not wait for each other, nor n for them.
    const V v = hn::Sub(AtMost(5.93f, t), hn::Set(d, 2.1f));
    const V vv = hn::Mul(v, v);
    const V even = Polynomial(vv, 0x1.7f5c48p-2f, 0x1.40afb6p-4f, 0x1.2060ap-9f, 0x1.4deb6p-15f,
                              -0x1.89bc06p-22f, -0x1.1927e4p-25f);
    const V odd = Polynomial(vv, -0x1.0b73d8p-1f, -0x1.b5b87ep-7f, -0x1.557ae4p-12f,
                             -0x1.84b46cp-19f, 0x1.9c935p-23f, 0x1.257952p-29f);
    const V h = hn::MulAdd(odd, v, even);
    const V guess = Polynomial(v, 0.667f, -0.4945f);  // off by 0.3
    // t^2 with what it is rounded by, as an error of the exponent counts many times. (What log2(e)
    // is rounded by is in h.)
    const V tt = hn::Mul(t, t);
    const V tt_low = hn::MulSub(t, t, tt);
    const V factor = hn::Set(d, -0x1.715476p-1f);
    const V magic = hn::Set(d, ConstantsOf<V>::kMagic);
    const V n_magic = hn::Add(hn::MulAdd(tt, factor, guess), magic);
    const V rest = hn::MulSub(tt, factor, hn::Sub(n_magic, magic));
    const V r = hn::Add(hn::MulAdd(tt_low, factor, rest), h);
    const V power = Polynomial(r, 0x1p-3f, 0x1.62e43ep-4f, 0x1.ebfbfp-6f, 0x1.c6a592p-8f,
                               0x1.3b23a6p-10f, 0x1.61ebecp-13f, 0x1.46f29p-16f);  // 2^(r - 3)
    return hn::NegMulAdd(t, TimesPowerOfTwo(power, n_magic), PositivePart(x));
  }
}

/// log(1 + exp(x)) = log(1 + exp(-|x|)) + max(x, 0), which does not overflow.
template <FloatVector V>
HWY_INLINE V Softplus(V x) {
  const hn::DFromV<V> d;
  const V e = Exp(hn::Neg(hn::Abs(x)));  // NaN of NaN
  const V above = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), x);
  if constexpr (kHasTablesOf<V>) {
    return hn::Add(above, Log1pOfUnit(e));
  } else {
    return hn::Add(above, Log1p(e));
  }
}

template <FloatScalar X>
HWY_INLINE X Sigmoid(X x) {
  return FromOneLane(Sigmoid(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Silu(X x) {
  return FromOneLane(Silu(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X GeluTanh(X x) {
  return FromOneLane(GeluTanh(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Gelu(X x) {
  return FromOneLane(Gelu(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Softplus(X x) {
  return FromOneLane(Softplus(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_ACTIVATIONS_INL_H_
