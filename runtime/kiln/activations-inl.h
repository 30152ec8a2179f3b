// Sigmoid, Silu, Gelu and GeluTanh; see math-inl.h. Largest errors seen, in units of the last place:
//
//              f32    f64
//   Sigmoid    @
//   Silu       @
//   Gelu       @
//   GeluTanh   @
#if defined(KILN_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ACTIVATIONS_INL_H_
#undef KILN_ACTIVATIONS_INL_H_
#else
#define KILN_ACTIVATIONS_INL_H_
#endif

#include "kiln/math-inl.h"
#include "kiln/trigonometry-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {

/// factor / (1 + exp(-x)): e / (1 + e) for negative x, so that small results keep their digits.
template <FloatVector V>
HWY_INLINE V TimesSigmoid(V factor, V x) {
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1);
  V scale;
  V product = ExpAsProduct(hn::Neg(hn::Abs(x)), scale);
  // A large factor must not bring it back, and -inf * 0 is NaN.
  product = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, ConstantsOf<V>::kExpLow)), product);
  const V e = hn::Mul(product, scale);
  const auto negative = hn::Lt(x, hn::Zero(d));
  const V above = hn::IfThenElse(negative, hn::Mul(factor, product), factor);
  const V quotient = hn::Div(above, hn::Add(one, e));
  return hn::IfThenElse(negative, hn::Mul(quotient, scale), quotient);
}

template <FloatVector V>
HWY_INLINE V Sigmoid(V x) {
  return TimesSigmoid(hn::Set(hn::DFromV<V>(), 1), x);
}

template <FloatVector V>
HWY_INLINE V Silu(V x) {
  return TimesSigmoid(x, x);
}

/// x (1 + tanh(u)) / 2 = x sigmoid(2 u)
template <FloatVector V>
HWY_INLINE V GeluTanh(V x) {
  using X = LaneOf<V>;
  const hn::DFromV<V> d;
  constexpr X kLinear = static_cast<X>(1.5957691216057308);  // 2 sqrt(2 / pi)
  constexpr X kCubic = static_cast<X>(0.071354816272600251);
  const V factor = hn::MulAdd(hn::Mul(x, x), hn::Set(d, kCubic), hn::Set(d, kLinear));
  return TimesSigmoid(x, hn::Mul(x, factor));
}

/// x times the normal distribution function: of |x| = t, that is q = exp(-t^2 / 2) p(w), with w =
/// 1 / (1 + 0.26 t), for negative x, and 1 - q for positive x. No digits cancel. f64: the C library.
template <FloatVector V>
HWY_INLINE V Gelu(V x) {
  if constexpr (std::is_same_v<LaneOf<V>, double>) {
    return LaneByLane(
        [](double lane) { return lane / 2 * std::erfc(lane * -0.70710678118654752); }, x);
  } else {
    const hn::DFromV<V> d;
    const V one = hn::Set(d, 1.0f);
    const V t = hn::Abs(x);
    const V w = hn::Div(one, hn::MulAdd(t, hn::Set(d, 0.26f), one));
    const V p = hn::Mul(w, Polynomial(w, 0x1.a917c6p-4f, 0x1.a471bp-4f, 0x1.b022a8p-4f,
                                      0x1.56f906p-5f, 0x1.73c712p-3f, -0x1.700414p-3f,
                                      0x1.1a838ap-2f, -0x1.509ab2p-3f, 0x1.0cf13ep-5f));
    const V q = hn::Mul(Exp(hn::Mul(hn::Mul(t, t), hn::Set(d, -0.5f))), p);
    const V cdf = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), q, hn::Sub(one, q));
    return hn::Mul(x, cdf);
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

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();

#endif  // KILN_ACTIVATIONS_INL_H_
