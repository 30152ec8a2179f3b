// Atan2, Atan, Asin and Acos; see math-inl.h. Largest errors in units of the last place:
//
//              f32    f64
//   Atan2      1.5    1.7
//   Atan       1.2    1.4
//   Asin       1.9    2.0
//   Acos       1.6    1.4
#if defined(KILN_ANGLE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ANGLE_INL_H_
#undef KILN_ANGLE_INL_H_
#else
#define KILN_ANGLE_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// (atan(q) - q) / q^3 of z = q^2, for q <= 1.
template <FloatVector V>
HWY_INLINE V AtanTail(V z) {
  if constexpr (std::is_same_v<LaneOf<V>, float>) {
    return Polynomial(z, -0x1.55553ep-2f, 0x1.9991e4p-3f, -0x1.2420acp-3f, 0x1.c090bap-4f,
                      -0x1.58217p-4f, 0x1.daad44p-5f, -0x1.feef6ap-6f, 0x1.662c3ap-7f,
                      -0x1.d7d9cp-10f);
  } else {
    return Polynomial(z, -0.3333333333333307, 0.19999999999951748, -0.14285714282587963,
                      0.11111111007337637, -0.09090907007712284, 0.07692279887739521,
                      -0.06666404410697657, 0.058805296961336025, -0.052535259922372284,
                      0.047223440941223695, -0.04219226155865266, 0.036642626010132934,
                      -0.029904519984040787, 0.021984967286497365, -0.0138998839541123,
                      0.007195374121665844, -0.002883951023818725, 0.0008308252571388869,
                      -0.0001520157253907363, 1.3206380861745576e-05);
  }
}

/// The angle of the point (x, y): of the smaller coordinate over the larger one, and from there by
/// quarters of a turn.
template <FloatVector V>
HWY_INLINE V Atan2(V y, V x) {
  using X = LaneOf<V>;
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d);
  const V a = hn::Abs(y), b = hn::Abs(x);
  const auto steep = hn::Gt(a, b);
  const V large = hn::IfThenElse(steep, a, b);
  V q = hn::Div(hn::IfThenElse(steep, b, a), large);
  // Of infinities, too, and of zeros.
  const V alike = hn::IfThenZeroElse(hn::Eq(a, zero), hn::Set(d, 1));
  q = hn::IfThenElse(hn::Eq(a, b), alike, q);
  const V z = hn::Mul(q, q);
  const V angle = hn::MulAdd(hn::Mul(q, z), AtanTail(z), q);

  // x < 0, of zeros by their signs. The angle counts back from where it does not begin.
  const auto left = hn::Lt(CopySignOf(hn::Set(d, 1), x), zero);
  const V back = hn::IfThenElse(hn::Xor(steep, left), hn::Neg(angle), angle);
  // Quarters of a turn, with what they are rounded by.
  constexpr X kHalfPi = static_cast<X>(1.5707963267948966);
  constexpr X kHalfPiLow =
      static_cast<X>(sizeof(X) == 4 ? -4.371139000186241e-08 : 6.123233995736766e-17);
  const V quarters = hn::IfThenElse(steep, hn::Set(d, 1), hn::IfThenElseZero(left, hn::Set(d, 2)));
  const V low = hn::MulAdd(quarters, hn::Set(d, kHalfPiLow), back);
  return CopySignOf(hn::MulAdd(quarters, hn::Set(d, kHalfPi), low), y);
}

template <FloatVector V>
HWY_INLINE V Atan(V x) {
  return Atan2(x, hn::Set(hn::DFromV<V>(), 1));
}

/// The other side of a triangle with the hypotenuse 1: sqrt(1 - x^2), exact near 1.
template <FloatVector V>
HWY_INLINE V OtherSide(V x) {
  const V one = hn::Set(hn::DFromV<V>(), 1);
  return hn::Sqrt(hn::Mul(hn::Sub(one, x), hn::Add(one, x)));
}

template <FloatVector V>
HWY_INLINE V Asin(V x) {
  return Atan2(x, OtherSide(x));
}
template <FloatVector V>
HWY_INLINE V Acos(V x) {
  return Atan2(OtherSide(x), x);
}

template <FloatScalar X>
HWY_INLINE X Atan(X x) {
  return FromOneLane(Atan(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Asin(X x) {
  return FromOneLane(Asin(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Acos(X x) {
  return FromOneLane(Acos(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Atan2(X y, X x) {
  return FromOneLane(Atan2(ToOneLane(y), ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_ANGLE_INL_H_
