// Elementary functions of vectors of float and double and of scalars, which are computed as one
// lane and so equal lanes:
//
//   Exp Exp2                                       exp-inl.h
//   Log Log2 Log1p                                 log-inl.h
//   Tanh SqrtOf Rsqrt Cbrt                         here
//   Sin Cos Tan Erf                                trigonometry-inl.h
//   Erfc                                           erfc-inl.h
//   Expm1 Sinh Cosh Asinh Acosh Atanh              hyperbolic-inl.h
//   Sigmoid Silu Gelu GeluTanh Softplus            activations-inl.h (Relu: values-inl.h)
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
//   Log Log1p    0.9     0.9
//   Log2         1.8     1.6
//   Tanh         1.4     2.6
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

/// Of e = exp(2 |x|), (e - 1) / (e + 1), where e - 1 is exact near 0; f32 has 1 - 2 / (e + 1) and a
/// polynomial near 0, which loses less.
template <FloatVector V>
HWY_INLINE V Tanh(V x) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1);
  const V two = hn::Set(d, 2);
  const V y = ClampKeepingNaN(hn::Abs(x), 0, C::kTanhHigh);
  const V twice = hn::Add(y, y);
  const V magic = hn::Set(d, C::kMagic);
  const V n_magic = hn::MulAdd(twice, hn::Set(d, C::kLog2E), magic);
  const V n = hn::Sub(n_magic, magic);
  const V r =
      hn::NegMulAdd(n, hn::Set(d, C::kLn2Low), hn::NegMulAdd(n, hn::Set(d, C::kLn2High), twice));
  const V q = hn::MulAdd(hn::Mul(r, r), ExpTail(r), r);  // exp(r) - 1
  const V power = PowerOfTwo(n_magic, hn::Set(BitsTagOf<V>(), C::kBias));
  if constexpr (std::is_same_v<LaneOf<V>, float>) {
    const V e = hn::MulAdd(power, q, power);
    const V far = hn::Sub(one, hn::Div(two, hn::Add(e, one)));
    const V z = hn::Mul(x, x);
    const V near = hn::MulAdd(hn::Mul(z, x), TanhTail(z), x);
    return CopySignOf(hn::IfThenElse(hn::Lt(y, hn::Set(d, 0.625f)), near, far), x);
  } else {
    const V e_minus_1 = hn::MulAdd(power, q, hn::Sub(power, one));
    return CopySignOf(hn::Div(e_minus_1, hn::Add(e_minus_1, two)), x);
  }
}

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
HWY_INLINE X Tanh(X x) {
  return FromOneLane(Tanh(ToOneLane(x)));
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
#include "kiln/math/erfc-inl.h"
#include "kiln/math/hyperbolic-inl.h"
#include "kiln/math/power-inl.h"

#endif  // KILN_MATH_INL_H_
