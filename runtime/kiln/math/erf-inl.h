// Erf and Erfc; see math-inl.h. Largest errors in units of the last place:
//
//              f32    f64
//   Erf        1.2    1.2    f32 by a table 1.1; f64: the C library
//   Erfc       5.9    5.2    without fused multiply-add the C library
#if defined(KILN_ERF_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ERF_INL_H_
#undef KILN_ERF_INL_H_
#else
#define KILN_ERF_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// For each power of v: the coefficients around 0, 1/8, 1/4, … of which the relative errors are
/// least, after all lower powers were rounded; around 0 those of erf(v) - v.
alignas(64) constexpr float kErfTable[6][32] = {
    {// of v^0
     0x0p+0f,        0x1.1f5e1ap-3f, 0x1.1af54ep-2f, 0x1.9dd0d2p-2f, 0x1.0a7ef6p-1f, 0x1.3f196ep-1f,
     0x1.6c1c98p-1f, 0x1.91724ap-1f, 0x1.af767ap-1f, 0x1.c6dad2p-1f, 0x1.d8865ep-1f, 0x1.e5768cp-1f,
     0x1.eea556p-1f, 0x1.f4f694p-1f, 0x1.f92d08p-1f, 0x1.fbe61ep-1f, 0x1.fd9ae2p-1f, 0x1.fea422p-1f,
     0x1.ff4048p-1f, 0x1.ff996p-1f,  0x1.ffcaa8p-1f, 0x1.ffe514p-1f, 0x1.fff2dp-1f,  0x1.fff9bap-1f,
     0x1.fffd1ap-1f, 0x1.fffeb4p-1f, 0x1.ffff7p-1f,  0x1.ffffc4p-1f, 0x1.ffffe8p-1f, 0x1.fffff6p-1f,
     0x1.fffffcp-1f, 0x1.fffffep-1f},
    {// of v^1
     0x1.06eba8p-3f,  0x1.1c62fap+0f,  0x1.0f5d16p+0f,  0x1.f5f0ccp-1f,  0x1.c1efcap-1f,
     0x1.86e96ap-1f,  0x1.492e44p-1f,  0x1.0cab62p-1f,  0x1.a911fp-2f,   0x1.45e99cp-2f,
     0x1.e4653p-3f,   0x1.5ce596p-3f,  0x1.e72372p-4f,  0x1.499d48p-4f,  0x1.b0553p-5f,
     0x1.12ceb2p-5f,  0x1.529bap-6f,   0x1.94624ep-7f,  0x1.d4143cp-8f,  0x1.06918ap-8f,
     0x1.1d8316p-9f,  0x1.2ce898p-10f, 0x1.3360cep-11f, 0x1.30539p-12f,  0x1.2408eap-13f,
     0x1.0f9e1cp-14f, 0x1.e9b5eap-16f, 0x1.abe0ap-17f,  0x1.6a5972p-18f, 0x1.296a7p-19f,
     0x1.d9371ep-21f, 0x1.6ce1aap-22f},
    {// of v^2
     0x1.098d5p-21f,   -0x1.1c613ap-3f,  -0x1.0f5becp-2f,  -0x1.786ed8p-2f,  -0x1.c1f38cp-2f,
     -0x1.e8a6d4p-2f,  -0x1.edcf9ap-2f,  -0x1.d636aap-2f,  -0x1.a90ac8p-2f,  -0x1.6e9ec6p-2f,
     -0x1.2ec5acp-2f,  -0x1.dfb47p-3f,   -0x1.6d6c5p-3f,   -0x1.0bd8fp-3f,   -0x1.7a6a5ep-4f,
     -0x1.0166a6p-4f,  -0x1.52f95ap-5f,  -0x1.ae19bep-6f,  -0x1.07e958p-6f,  -0x1.35ea2p-7f,
     -0x1.611b08p-8f,  -0x1.852238p-9f,  -0x1.ab9202p-10f, -0x1.ad4c2ep-11f, -0x1.858fd2p-12f,
     -0x1.b26fa6p-13f, -0x1.ed6c28p-14f, -0x1.9b1cf2p-14f, -0x1.3bd20cp-14f, -0x1.263fd8p-19f,
     0x1.05b5eap-17f,  0x1.175e92p-15f},
    {// of v^3
     -0x1.8131b8p-2f, -0x1.6f4fap-2f,  -0x1.3c948ap-2f, -0x1.e0e16cp-3f, -0x1.2bf9f4p-3f,
     -0x1.c84742p-5f, 0x1.b61c7ep-6f,  0x1.7c89eap-4f,  0x1.1b6928p-3f,  0x1.4cb626p-3f,
     0x1.5719fep-3f,  0x1.4374fap-3f,  0x1.1c294ep-3f,  0x1.d660ep-4f,   0x1.71480cp-4f,
     0x1.1440a6p-4f,  0x1.8b078ep-5f,  0x1.0ea468p-5f,  0x1.63edaap-6f,  0x1.c1ef58p-7f,
     0x1.119f0cp-7f,  0x1.40809p-8f,   0x1.69cdfep-9f,  0x1.89e134p-10f, 0x1.9db73cp-11f,
     0x1.a3726p-12f,  0x1.9aa32cp-13f, 0x1.845056p-14f, 0x1.62cb96p-15f, 0x1.394a7ap-16f,
     0x1.0b698p-17f,  0x1.b95dep-19f},
    {// of v^4
     0x1.0e71acp-10f, 0x1.1591c2p-4f,  0x1.016934p-3f,  0x1.4945a2p-3f,  0x1.7e0aa6p-3f,
     0x1.6f2c18p-3f,  0x1.48c27ep-3f,  0x1.f714dp-4f,   0x1.fdc88cp-5f,  0x1.4b0c9p-6f,
     0x1.8ce50ap-13f, -0x1.160dc6p-5f, -0x1.25fd28p-5f, -0x1.72534p-5f,  -0x1.4a41aep-5f,
     -0x1.d00fdcp-5f, -0x1.7945e6p-6f, -0x1.3ef968p-6f, -0x1.367904p-7f, -0x1.c8309cp-6f,
     -0x1.7f1ddp-6f,  -0x1.125214p-6f, 0x1.924e26p-10f, -0x1.808698p-8f, -0x1.a5609ep-7f,
     0x1.5b7704p-11f, 0x1.6a6e8ap-8f,  0x1.c78288p-7f,  0x1.d5d4c6p-7f,  -0x1.8f47c4p-10f,
     -0x1.759d7ep-9f, -0x1.21f6fep-7f},
    {// of v^5
     0x1.ab9eccp-4f,  0x1.92c4dap-4f,  0x1.3ad8e8p-4f,  0x1.d882d2p-6f,   0x1.69219p-7f,
     -0x1.628a0cp-6f, -0x1.56f232p-5f, -0x1.f8bf74p-5f, -0x1.2a42dcp-4f,  -0x1.01f688p-4f,
     -0x1.75fc16p-5f, -0x1.f9c5fcp-6f, -0x1.d4bffp-7f,  -0x1.b790f8p-10f, 0x1.c109bp-8f,
     0x1.5eabe6p-7f,  0x1.b7e2e6p-7f,  0x1.9a40bep-7f,  0x1.602c86p-7f,   0x1.0f0a74p-7f,
     0x1.8e78f8p-8f,  0x1.13ca8cp-8f,  0x1.6a933ap-9f,  0x1.c1d6c2p-10f,  0x1.0ad282p-10f,
     0x1.2f845ep-11f, 0x1.4a5e6ap-12f, 0x1.592e44p-13f, 0x1.5a167ep-14f,  0x1.4d89c4p-15f,
     0x1.35c5dp-16f,  0x1.14efp-17f}};

/// erf(x) for f32 x >= 0; from 3.9375 on it is 1.
template <FloatVector V>
HWY_INLINE V ErfByTable(V x) {
  const hn::DFromV<V> d;
  const V t = AtMost(0x1.f7fffep+1f, x);
  const V magic = hn::Set(d, 0x1.8p20f);  // the last place of a sum is an eighth
  const V n_magic = hn::Add(t, magic);
  const V v = hn::Sub(t, hn::Sub(n_magic, magic));
  const auto part = hn::BitCast(BitsTagOf<V>(), n_magic);
  const auto is_first = hn::Le(t, hn::Set(d, 0.0625f));  // as a half is rounded to 0
  const V middle = hn::IfThenElse(is_first, t, EntryOf<V>(kErfTable[0], part));
  return hn::MulAdd(PolynomialByTable<1>(kErfTable, v, part), v, middle);
}

#else

template <FloatVector V>
V ErfByTable(V x) = delete;

#endif

/// Of f32: x plus a polynomial near 0, and 1 - exp(polynomial) elsewhere. f64: the C library's.
template <FloatVector V>
HWY_INLINE V Erf(V x) {
  if constexpr (std::is_same_v<LaneOf<V>, double>) {
    return LaneByLane([](double lane) { return std::erf(lane); }, x);
  } else if constexpr (kHasTables) {
    return CopySignOf(ErfByTable(hn::Abs(x)), x);
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
HWY_INLINE X Erf(X x) {
  return FromOneLane(Erf(ToOneLane(x)));
}
template <FloatScalar X>
HWY_INLINE X Erfc(X x) {
  return FromOneLane(Erfc(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_ERF_INL_H_
