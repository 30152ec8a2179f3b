// Elementary functions of vectors of float and double and of scalars, which are computed as one
// lane and so equal lanes:
//
//   Exp Exp2                                       exp-inl.h
//   Log Log2 Log1p                                 log-inl.h
//   SqrtOf Rsqrt Cbrt                              here
//   Sin Cos Tan                                    trigonometry-inl.h
//   Erf Erfc                                       erf-inl.h
//   Tanh                                           tanh-inl.h
//   Expm1 Sinh Cosh Asinh Acosh Atanh              hyperbolic-inl.h
//   Sigmoid Silu Gelu GeluTanh Softplus            activations-inl.h (Relu: values-inl.h)
//   ExpForBf16 and others                          for_bf16-inl.h
//   Atan2 Atan Asin Acos                           angle-inl.h
//   Pow                                            power-inl.h (of integers: divide-inl.h)
//
// Special values are those of the C library: NaN, infinities, zeros and their signs, subnormal
// arguments and results. Largest errors in units of the last place, as
// tests/runtime/math/math_test.cc measures them (f32: every 13th float; the hidden test [.full]
// tries all; f64: a dense sample):
//
//                f32     f64
//   Exp          1.1     1.1
//   Exp2         1.1     1.2
//   SqrtOf       0.5     0.5
//   Rsqrt        1.5     1.5
//   Cbrt         1.0     0.9
#if defined(KILN_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_MATH_INL_H_
#undef KILN_MATH_INL_H_
#else
#define KILN_MATH_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/exp-inl.h"
#include "kiln/math/log-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

// ---- Roots.

template <FloatVector V>
HWY_INLINE V SqrtOf(V x) {
  return hn::Sqrt(x);
}
template <FloatVector V>
HWY_INLINE V Rsqrt(V x) {
  return hn::Div(hn::Set(hn::DFromV<V>(), 1), hn::Sqrt(x));
}

/// y, nearer to the cube root of x: the error becomes its third power.
template <FloatVector V>
HWY_INLINE V NearerToCubeRoot(V x, V y) {
  const V cube = hn::Mul(hn::Mul(y, y), y);
  const V off = hn::Div(hn::Sub(x, cube), hn::MulAdd(cube, hn::Set(hn::DFromV<V>(), 2), x));
  return hn::MulAdd(y, off, y);
}

/// A first guess from a third of the bits, as these are nearly the logarithm, which is off by less
/// than 6 %.
template <FloatVector V>
HWY_INLINE V Cbrt(V x) {
  using X = LaneOf<V>;
  using C = ConstantsOf<V>;
  constexpr int kDropped =
      sizeof(X) == 4 ? 10 : 13;  // so that the others are under those of kMagic
  constexpr X kUnit = static_cast<X>(int64_t{1} << (C::kMantissa - kDropped));
  const hn::DFromV<V> d;
  const BitsTagOf<V> du;
  const V magic = hn::Set(d, C::kMagic);
  const V size = hn::Abs(x);
  // Neither a cube nor what it is off by may be out of range.
  const auto small = hn::Lt(size, hn::Set(d, 1));
  const V scaled =
      hn::Mul(size, hn::IfThenElse(small, hn::Set(d, C::kCubeUp), hn::Set(d, C::kCubeDown)));
  const auto bits = hn::ShiftRight<kDropped>(hn::BitCast(du, scaled));
  const V number = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(du, magic), bits)), magic);
  const V third = hn::MulAdd(number, hn::Set(d, X{1} / 3),
                             hn::Set(d, (static_cast<X>(C::kBias) * 2 / 3 - X{0.037}) * kUnit));
  const auto third_bits = hn::Sub(hn::BitCast(du, hn::Add(third, magic)), hn::BitCast(du, magic));
  V y = hn::BitCast(d, hn::ShiftLeft<kDropped>(third_bits));
  y = NearerToCubeRoot(scaled, y);
  if constexpr (sizeof(X) == 8) y = NearerToCubeRoot(scaled, y);
  y = NearerToCubeRoot(scaled, y);
  y = hn::Mul(y, hn::IfThenElse(small, hn::Set(d, C::kRootDown), hn::Set(d, C::kRootUp)));
  const V inf = hn::Set(d, std::numeric_limits<X>::infinity());
  const auto has_root = hn::And(hn::Gt(size, hn::Zero(d)), hn::Lt(size, inf));
  return hn::IfThenElse(has_root, CopySignOf(y, x), x);
}

// ---- Scalars.

template <FloatScalar X>
HWY_INLINE X Exp(X x) {
  return FromOneLane(Exp(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Exp2(X x) {
  return FromOneLane(Exp2(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Log(X x) {
  return FromOneLane(Log(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Log2(X x) {
  return FromOneLane(Log2(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Log1p(X x) {
  return FromOneLane(Log1p(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X SqrtOf(X x) {
  return std::sqrt(x);
}
template <FloatScalar X>
HWY_INLINE X Rsqrt(X x) {
  return X{1} / std::sqrt(x);
}
template <FloatScalar X>
HWY_INLINE X Cbrt(X x) {
  return FromOneLane(Cbrt(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#include "kiln/math/activations-inl.h"
#include "kiln/math/angle-inl.h"
#include "kiln/math/erf-inl.h"
#include "kiln/math/for_bf16-inl.h"
#include "kiln/math/hyperbolic-inl.h"
#include "kiln/math/power-inl.h"
#include "kiln/math/tanh-inl.h"

#endif  // KILN_MATH_INL_H_
