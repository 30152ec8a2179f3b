// Sin, Cos and Erf; see math-inl.h. Largest errors in units of the last place:
//
//              f32    f64
//   Sin Cos    1.6    1.6    beyond 1e5 (f32) and 1e6, and without fused multiply-add: the C
//   library Erf        1.2    1.2    f64: the C library
#if defined(KILN_TRIGONOMETRY_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TRIGONOMETRY_INL_H_
#undef KILN_TRIGONOMETRY_INL_H_
#else
#define KILN_TRIGONOMETRY_INL_H_
#endif

#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {

/// sin(x + quarter pi / 2) by the C library, rounded once.
template <FloatVector V>
HWY_INLINE V LibrarySin(V x, int quarter) {
  using X = LaneOf<V>;
  return LaneByLane(
      [quarter](X lane) {
        return static_cast<X>(quarter ? std::cos(double{lane}) : std::sin(double{lane}));
      },
      x);
}

/// sin(x + quarter pi / 2): of x = n pi / 2 + r, with |r| <= pi / 4, a polynomial in r.
template <FloatVector V>
HWY_INLINE V SinFrom(V x, int quarter) {
#if !HWY_NATIVE_FMA
  // The reduction needs exact products.
  return LibrarySin(x, quarter);
#else
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const BitsTagOf<V> du;
  const auto large = hn::Not(hn::Lt(hn::Abs(x), hn::Set(d, C::kTrigHigh)));  // NaN too

  const V magic = hn::Set(d, C::kMagic);
  const V n_magic = hn::MulAdd(x, hn::Set(d, static_cast<LaneOf<V>>(0.63661977236758134)), magic);
  const V n = hn::Sub(n_magic, magic);
  V r = hn::NegMulAdd(n, hn::Set(d, C::kHalfPi[0]), x);
  r = hn::NegMulAdd(n, hn::Set(d, C::kHalfPi[1]), r);
  r = hn::NegMulAdd(n, hn::Set(d, C::kHalfPi[2]), r);

  const V z = hn::Mul(r, r);
  const V sin = hn::MulAdd(hn::Mul(r, z), SinTail(z), r);
  const V half = hn::Set(d, LaneOf<V>{0.5});
  const V cos = hn::MulAdd(hn::Mul(z, z), CosTail(z), hn::NegMulAdd(half, z, hn::Set(d, 1)));

  const auto quadrant =
      hn::Add(hn::BitCast(du, n_magic), hn::Set(du, static_cast<unsigned>(quarter)));
  const auto odd = hn::Ne(hn::And(quadrant, hn::Set(du, 1)), hn::Zero(du));
  constexpr int kSign = 8 * sizeof(LaneOf<V>) - 2;
  const auto sign = hn::ShiftLeft<kSign>(hn::And(quadrant, hn::Set(du, 2)));
  V y = hn::IfThenElse(hn::RebindMask(d, odd), cos, sin);
  y = hn::Xor(y, hn::BitCast(d, sign));
  if (quarter == 0) y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // of -0
  if (HWY_LIKELY(hn::AllFalse(d, large))) return y;
  return hn::IfThenElse(large, LibrarySin(x, quarter), y);
#endif
}

template <FloatVector V>
HWY_INLINE V Sin(V x) {
  return SinFrom(x, 0);
}
template <FloatVector V>
HWY_INLINE V Cos(V x) {
  return SinFrom(x, 1);
}

/// Of f32: x plus a polynomial near 0, and 1 - exp(polynomial) elsewhere. f64: the C library's.
template <FloatVector V>
HWY_INLINE V Erf(V x) {
  if constexpr (std::is_same_v<LaneOf<V>, double>) {
    return LaneByLane([](double lane) { return std::erf(lane); }, x);
  } else {
    const hn::DFromV<V> d;
    const V t = ClampKeepingNaN(hn::Abs(x), 0.0f, 4.0f);
    const V z = hn::Mul(x, x);
    const V near = Polynomial(z, 1.28379166e-1f, -3.76125336e-1f, 1.12819925e-1f, -2.67681349e-2f,
                              4.99119423e-3f, -5.96761703e-4f);
    const V low = hn::MulAdd(near, x, x);
    const V far = Polynomial(t, -1.28717512e-1f, -6.34846687e-1f, -1.06777877e-1f, 2.42546219e-2f,
                             -3.88396438e-3f, 3.83197126e-4f, -1.72853470e-5f);
    const V high = hn::Sub(hn::Set(d, 1.0f), Exp(hn::MulSub(far, t, t)));
    const auto is_low = hn::Lt(t, hn::Set(d, 0.927734375f));
    return hn::IfThenElse(is_low, low, CopySignOf(high, x));
  }
}

template <FloatScalar X>
HWY_INLINE X Sin(X x) {
  return FromOneLane(Sin(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Cos(X x) {
  return FromOneLane(Cos(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Erf(X x) {
  return FromOneLane(Erf(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();

#endif  // KILN_TRIGONOMETRY_INL_H_
