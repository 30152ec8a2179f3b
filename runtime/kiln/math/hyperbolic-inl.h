// Expm1, Sinh, Cosh, and the inverses Asinh, Acosh, Atanh; see math-inl.h. Largest errors in units
// of the last place:
//
//              f32    f64
//   Expm1      1.2    2.1
//   Sinh       1.7    2.2
//   Cosh       1.7    1.5
//   Asinh      2.0    1.4
//   Acosh      2.0    1.5
//   Atanh      2.3    1.8
#if defined(KILN_HYPERBOLIC_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_HYPERBOLIC_INL_H_
#undef KILN_HYPERBOLIC_INL_H_
#else
#define KILN_HYPERBOLIC_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// exp(x) - 1 is `times` the result: all of it near 0, where it keeps its digits, and a quarter of
/// it elsewhere, so that it is finite where half of it is.
template <FloatVector V>
HWY_INLINE V QuarteredExpm1(V x, V& times) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const V magic = hn::Set(d, C::kMagic);
  const V n_magic = hn::MulAdd(x, hn::Set(d, C::kLog2E), magic);
  const V n = hn::Sub(n_magic, magic);
  const V r =
      hn::NegMulAdd(n, hn::Set(d, C::kLn2Low), hn::NegMulAdd(n, hn::Set(d, C::kLn2High), x));
  const V q = hn::MulAdd(hn::Mul(r, r), ExpTail(r), r);  // exp(r) - 1
  const V power = PowerOfTwo(n_magic, hn::Set(BitsTagOf<V>(), C::kBias - 2));
  const V quarter = hn::MulAdd(power, q, hn::Sub(power, hn::Set(d, LaneOf<V>{0.25})));
  const auto near = hn::Eq(n, hn::Zero(d));
  times = hn::IfThenElse(near, hn::Set(d, 1), hn::Set(d, 4));
  return hn::IfThenElse(near, q, quarter);
}

template <FloatVector V>
HWY_INLINE V Expm1(V x) {
  using C = ConstantsOf<V>;
  V times;
  const V part = QuarteredExpm1(ClampKeepingNaN(x, C::kExpm1Low, C::kExpHigh), times);
  return CopySignOf(hn::Mul(part, times), x);  // of -0
}

/// Of e = exp(|x|) - 1, (e + e / (e + 1)) / 2.
template <FloatVector V>
HWY_INLINE V Sinh(V x) {
  const hn::DFromV<V> d;
  V times;
  const V part = QuarteredExpm1(AtMost(ConstantsOf<V>::kSinhHigh, hn::Abs(x)), times);
  const V rest = hn::Div(part, hn::MulAdd(times, part, hn::Set(d, 1)));
  const V half = hn::Mul(times, hn::Set(d, LaneOf<V>{0.5}));
  return CopySignOf(hn::Mul(half, hn::Add(part, rest)), x);
}

/// Of h = exp(|x|) / 2, which is exp(|x| - ln(2)), h + 1 / (4 h).
template <FloatVector V>
HWY_INLINE V Cosh(V x) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const V t = AtMost(C::kSinhHigh, hn::Abs(x));
  const V less = hn::Sub(t, hn::Set(d, C::kLn2));
  // What `less` is rounded by, whichever of the two is larger.
  const V used = hn::Sub(less, t);
  const V lost = hn::Sub(hn::Sub(t, hn::Sub(less, used)), hn::Add(used, hn::Set(d, C::kLn2)));
  const V low = hn::Sub(lost, hn::Set(d, C::kLn2Rest));
  V scale;
  const V product = ExpAsProduct(less, scale, low);
  const V half = ApplyScale(product, scale);
  return hn::Add(half, hn::Div(hn::Set(d, LaneOf<V>{0.25}), half));
}

/// log(1 + u) of u = x + x^2 / (1 + sqrt(1 + x^2)); of large x, log(2 x).
template <FloatVector V>
HWY_INLINE V Asinh(V x) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1);
  const V t = hn::Abs(x);
  const auto large = hn::Gt(t, hn::Set(d, C::kSquareIsLarge));
  const V square = hn::Mul(t, t);
  const V u = hn::Add(t, hn::Div(square, hn::Add(one, hn::Sqrt(hn::Add(square, one)))));
  const V log = Log1p(hn::IfThenElse(large, t, u));
  return CopySignOf(hn::Add(log, hn::IfThenElseZero(large, hn::Set(d, C::kLn2))), x);
}

/// log(1 + u) of u = t + sqrt(t (t + 2)), t = x - 1; of large x, log(2 x).
template <FloatVector V>
HWY_INLINE V Acosh(V x) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1);
  const auto large = hn::Gt(x, hn::Set(d, C::kSquareIsLarge));
  const V t = hn::Sub(x, one);
  const V u = hn::Add(t, hn::Sqrt(hn::Mul(t, hn::Add(t, hn::Set(d, 2)))));
  const V log =
      hn::Add(Log1p(hn::IfThenElse(large, x, u)), hn::IfThenElseZero(large, hn::Set(d, C::kLn2)));
  const V nan = hn::Set(d, std::numeric_limits<LaneOf<V>>::quiet_NaN());
  return hn::IfThenElse(hn::Lt(x, one), nan, log);
}

/// log(1 + 2 x / (1 - x)) / 2
template <FloatVector V>
HWY_INLINE V Atanh(V x) {
  const hn::DFromV<V> d;
  const V t = hn::Abs(x);
  const V ratio = hn::Div(hn::Add(t, t), hn::Sub(hn::Set(d, 1), t));
  return CopySignOf(hn::Mul(Log1p(ratio), hn::Set(d, LaneOf<V>{0.5})), x);
}

template <FloatScalar X>
HWY_INLINE X Expm1(X x) {
  return FromOneLane(Expm1(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Sinh(X x) {
  return FromOneLane(Sinh(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Cosh(X x) {
  return FromOneLane(Cosh(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Asinh(X x) {
  return FromOneLane(Asinh(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Acosh(X x) {
  return FromOneLane(Acosh(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Atanh(X x) {
  return FromOneLane(Atanh(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_HYPERBOLIC_INL_H_
