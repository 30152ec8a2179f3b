// Sin, Cos and Tan; see math-inl.h. Largest errors in units of the last place:
//
//              f32    f64
//   Sin Cos    1.6    1.6    beyond 1e5 (f32) and 1e6, and without fused multiply-add, as Tan: the
//   Tan        2.8    2.9    C library
#if defined(KILN_TRIGONOMETRY_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TRIGONOMETRY_INL_H_
#undef KILN_TRIGONOMETRY_INL_H_
#else
#define KILN_TRIGONOMETRY_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

enum class Trig { kSin, kCos, kTan };

/// By the C library, rounded once.
template <Trig kWhich, FloatVector V>
HWY_INLINE V LibraryTrig(V x) {
  using X = LaneOf<V>;
  return LaneByLane(
      [](X lane) {
        const double y = lane;
        return static_cast<X>(kWhich == Trig::kSin   ? std::sin(y)
                              : kWhich == Trig::kCos ? std::cos(y)
                                                     : std::tan(y));
      },
      x);
}

/// Of x = n pi / 2 + r, with |r| <= pi / 4, by polynomials in r.
template <Trig kWhich, FloatVector V>
HWY_INLINE V TrigOf(V x) {
#if !HWY_NATIVE_FMA
  // The reduction needs exact products.
  return LibraryTrig<kWhich>(x);
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

  // The quadrants that follow have the other one of the two, and its negative.
  const auto quadrant =
      hn::Add(hn::BitCast(du, n_magic), hn::Set(du, kWhich == Trig::kCos ? 1u : 0u));
  const auto is_odd = hn::Ne(hn::And(quadrant, hn::Set(du, 1)), hn::Zero(du));
  const auto odd = hn::RebindMask(d, is_odd);
  V y = hn::IfThenElse(odd, cos, sin);
  if constexpr (kWhich == Trig::kTan) {
    y = hn::Div(y, hn::IfThenElse(odd, hn::Neg(sin), cos));
  } else {
    constexpr int kSign = 8 * sizeof(LaneOf<V>) - 2;
    const auto sign = hn::ShiftLeft<kSign>(hn::And(quadrant, hn::Set(du, 2)));
    y = hn::Xor(y, hn::BitCast(d, sign));
  }
  if (kWhich != Trig::kCos) y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // of -0
  if (HWY_LIKELY(hn::AllFalse(d, large))) return y;
  return hn::IfThenElse(large, LibraryTrig<kWhich>(x), y);
#endif
}

template <FloatVector V>
HWY_INLINE V Sin(V x) {
  return TrigOf<Trig::kSin>(x);
}
template <FloatVector V>
HWY_INLINE V Cos(V x) {
  return TrigOf<Trig::kCos>(x);
}
template <FloatVector V>
HWY_INLINE V Tan(V x) {
  return TrigOf<Trig::kTan>(x);
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
HWY_INLINE X Tan(X x) {
  return FromOneLane(Tan(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_TRIGONOMETRY_INL_H_
