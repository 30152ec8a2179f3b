// Erfc; see math-inl.h. Largest errors in units of the last place:
//
//              f32    f64
//   Erfc       4.6    5.2    without fused multiply-add the C library
#if defined(KILN_ERFC_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ERFC_INL_H_
#undef KILN_ERFC_INL_H_
#else
#define KILN_ERFC_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// (1 + 2 t) exp(t^2) erfc(t) for t >= 0, of q = (t - kErfcCentre) / (t + kErfcCentre).
template <FloatVector V>
HWY_INLINE V ErfcFactor(V q) {
  if constexpr (std::is_same_v<LaneOf<V>, float>) {
    return Polynomial(q, 1.2530080591f, -0.1356211393f, -0.0475623993f, 0.1296464145f,
                      -0.1192709710f, 0.0682957671f, -0.0237975305f, 0.0025673774f, 0.0020018160f,
                      -0.0007775785f, -0.0002681261f);
  } else {
    return Polynomial(q, 1.2329951186255526, -0.13962111684056286, 0.01537965210262014,
                      0.06809705425473354, -0.10103906603632355, 0.09373283499691455,
                      -0.06633036581203904, 0.03716751556070065, -0.016197734054718877,
                      0.005031969770618571, -0.0007577733614385229, -0.00019925557958870116,
                      0.00015062229020398505, -2.4402953715264638e-05, -1.1224821576833852e-05,
                      5.717498219082305e-06, 3.0127341831822245e-07, -8.347657052259727e-07,
                      6.288817457676309e-08, 1.1516000365337333e-07, -7.842013437474381e-09,
                      -1.3649900336776334e-08, -1.8001415903344814e-09);
  }
}

/// exp(-t^2) times a rational function of t = |x|, from 2 for negative x. An error of the exponent
/// counts many times, so it comes with what it is rounded by.
template <FloatVector V>
HWY_INLINE V Erfc(V x) {
#if !HWY_NATIVE_FMA
  return InF64(x, [](double y) { return std::erfc(y); });
#else
  using X = LaneOf<V>;
  constexpr bool kFloat = std::is_same_v<X, float>;
  const hn::DFromV<V> d;
  const V centre = hn::Set(d, kFloat ? 3 : 4);
  const V t = AtMost(kFloat ? X{10.1} : X{27.3}, hn::Abs(x));
  const V q = hn::Div(hn::Sub(t, centre), hn::Add(t, centre));
  const V factor = hn::Div(ErfcFactor(q), hn::MulAdd(t, hn::Set(d, 2), hn::Set(d, 1)));
  const V square = hn::Mul(t, t);
  const V low = hn::MulSub(t, t, square);
  V scale;
  const V product = ExpAsProduct(hn::Neg(square), scale, hn::Neg(low));
  const V right = ApplyScale(hn::Mul(product, factor), scale);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 2), right), right);
#endif
}

template <FloatScalar X>
HWY_INLINE X Erfc(X x) {
  return FromOneLane(Erfc(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_ERFC_INL_H_
