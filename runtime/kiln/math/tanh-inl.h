// Tanh; see math-inl.h. Largest errors in units of the last place:
//
//              f32    f64
//   Tanh       1.4    2.6    f32 by a table 1.3
#if defined(KILN_TANH_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TANH_INL_H_
#undef KILN_TANH_INL_H_
#else
#define KILN_TANH_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// [1/16, 9.5] is cut into parts by the exponent and the two bits behind the first one, of which the
// last five bits are the index of a part. For each there is its middle, and the coefficients around
// that for each power of v; all that is below 1/16 is a part whose middle is 0. The relative errors
// are least, after all lower powers were rounded.
alignas(64) constexpr float kTanhMiddle[32] = {
    0x1.2p+1f, 0x1.6p+1f, 0x1.ap+1f, 0x1.ep+1f, 0x1.2p+2f, 0x1.6p+2f, 0x1.ap+2f, 0x1.ep+2f,
    0x1.2p+3f, 0x0p+0f,   0x0p+0f,   0x0p+0f,   0x1.2p-4f, 0x1.6p-4f, 0x1.ap-4f, 0x1.ep-4f,
    0x1.2p-3f, 0x1.6p-3f, 0x1.ap-3f, 0x1.ep-3f, 0x1.2p-2f, 0x1.6p-2f, 0x1.ap-2f, 0x1.ep-2f,
    0x1.2p-1f, 0x1.6p-1f, 0x1.ap-1f, 0x1.ep-1f, 0x1.2p+0f, 0x1.6p+0f, 0x1.ap+0f, 0x1.ep+0f};
alignas(64) constexpr float kTanhTable[6][32] = {
    {// of v^0
     0x1.f4bfd6p-1f, 0x1.fbd50ap-1f, 0x1.fe767ap-1f, 0x1.ff6f18p-1f, 0x1.ffdfa6p-1f, 0x1.fffbap-1f,
     0x1.ffff68p-1f, 0x1.ffffecp-1f, 0x1.fffffep-1f, 0x0p+0f,        0x0p+0f,        0x0p+0f,
     0x1.1f86bep-4f, 0x1.5f22d2p-4f, 0x1.9e9356p-4f, 0x1.ddd092p-4f, 0x1.1e1ddp-3f,  0x1.5c9308p-3f,
     0x1.9a5f1cp-3f, 0x1.d7665cp-3f, 0x1.18a39ap-2f, 0x1.52c2c6p-2f, 0x1.8a87e2p-2f, 0x1.bfae6ap-2f,
     0x1.05087p-1f,  0x1.3157ep-1f,  0x1.5789p-1f,   0x1.77d838p-1f, 0x1.9e5cb6p-1f, 0x1.c278a6p-1f,
     0x1.d9c6fcp-1f, 0x1.e8789ep-1f},
    {// of v^1
     0x1.64108ap-5f,  0x1.09a7a6p-6f,  0x1.88ef68p-8f,  0x1.21a7aep-9f,  0x1.02bec8p-11f,
     0x1.1832dcp-14f, 0x1.2f5ffap-17f, 0x1.4875bcp-20f, 0x1.05b44cp-24f, 0x0p+0f,
     0x0p+0f,         0x1p+0f,         0x1.fd7a22p-1f,  0x1.fc3ccp-1f,   0x1.fac13ep-1f,
     0x1.f9085ap-1f,  0x1.f601cap-1f,  0x1.f12bp-1f,    0x1.eb715ap-1f,  0x1.e4dfbp-1f,
     0x1.d98b38p-1f,  0x1.c7f724p-1f,  0x1.b3ff3p-1f,   0x1.9e23aep-1f,  0x1.7aeae8p-1f,
     0x1.49e6cp-1f,   0x1.197fcep-1f,  0x1.d834d2p-2f,  0x1.615002p-2f,  0x1.cea746p-3f,
     0x1.265e34p-3f,  0x1.6fcfa6p-4f},
    {// of v^2
     -0x1.5c34ecp-5f,  -0x1.077dd2p-6f,  -0x1.87e142p-8f,  -0x1.217b0ep-9f, -0x1.01cfd4p-11f,
     -0x1.1afe9ep-14f, -0x1.251028p-17f, -0x1.cddfccp-20f, 0x1.4d3652p-21f, 0x0p+0f,
     0x0p+0f,          0x1.52c2f6p-27f,  -0x1.1f52b6p-4f,  -0x1.5cb31ap-4f, -0x1.995c84p-4f,
     -0x1.d60a54p-4f,  -0x1.185dcap-3f,  -0x1.52e78ep-3f,  -0x1.89f13ap-3f, -0x1.bdf138p-3f,
     -0x1.039298p-2f,  -0x1.2dc324p-2f,  -0x1.500d6cp-2f,  -0x1.6a064cp-2f, -0x1.826ac8p-2f,
     -0x1.897e82p-2f,  -0x1.79cfaap-2f,  -0x1.5a941ap-2f,  -0x1.1df144p-2f, -0x1.97155p-3f,
     -0x1.106ca6p-3f,  -0x1.5edbep-4f},
    {// of v^3
     0x1.bbce22p-6f,  0x1.5994fap-7f,  0x1.039744p-8f,  0x1.80e97p-10f,  0x1.589722p-12f,
     0x1.7551cap-15f, 0x1.9440eap-18f, 0x1.b5adbap-21f, 0x1.71d86ep-22f, 0x0p+0f,
     0x0p+0f,         -0x1.5555b4p-2f, -0x1.5277d8p-2f, -0x1.4d20c6p-2f, -0x1.459dcp-2f,
     -0x1.410ae2p-2f, -0x1.3a59c4p-2f, -0x1.2f95b2p-2f, -0x1.20566cp-2f, -0x1.0eba78p-2f,
     -0x1.e9639cp-3f, -0x1.98ba3ep-3f, -0x1.42e8e8p-3f, -0x1.d6b05ap-4f, -0x1.bdafe2p-5f,
     0x1.d6aa9cp-7f,  0x1.070514p-4f,  0x1.84532p-4f,   0x1.c68e72p-4f,  0x1.97d3e2p-4f,
     0x1.33dcd2p-4f,  0x1.a85ea8p-5f},
    {// of v^4
     -0x1.976c6cp-7f,  -0x1.50862cp-8f,  -0x1.fcfa8p-10f, -0x1.790792p-11f, -0x1.71e6fep-13f,
     -0x1.5567d2p-16f, -0x1.2369c4p-18f, 0x1.a343b8p-20f, -0x1.1a227p-19f,  0x0p+0f,
     0x0p+0f,          0x1.f53bd6p-15f,  0x1.38f174p+2f,  0x1.444e7ap-1f,   -0x1.e5a01p+1f,
     -0x1.402938p+2f,  -0x1.f01adp-3f,   0x1.eb398ap-1f,  0x1.b90078p-3f,   -0x1.a869e8p-1f,
     0x1.4c2254p-3f,   0x1.ebfd88p-3f,   0x1.0732acp-2f,  0x1.42775ap-4f,   0x1.538e8p-3f,
     0x1.eebc16p-4f,   0x1.8232f6p-4f,   0x1.e6667p-6f,   0x1.0281f2p-8f,   -0x1.4c8028p-6f,
     -0x1.8bb598p-6f,  -0x1.6255dep-6f},
    {// of v^5
     0x1.04a2p-8f,    0x1.f5e99ap-10f, 0x1.93b23ap-11f, 0x1.328516p-12f, 0x1.1be4bep-14f,
     0x1.35cae2p-17f, 0x1.4f3d9cp-20f, 0x1.6b16ccp-23f, -0x1.d5bfdp-20f, 0x0p+0f,
     0x0p+0f,         0x1.0f5658p-3f,  0x1.fed4cp+5f,   0x1.550a5cp+4f,  -0x1.0012fcp+5f,
     -0x1.134db4p+5f, -0x1.4bb15p+1f,  0x1.0f3836p+2f,  0x1.6797f6p-1f,  -0x1.121a3cp+2f,
     0x1.4ccdfep-3f,  0x1.d1810ep-3f,  0x1.cc3296p-3f,  -0x1.27afe6p-3f, -0x1.8a0672p-6f,
     -0x1.d46d7cp-5f, -0x1.ac5542p-5f, -0x1.f2bf0cp-5f, -0x1.06860ap-5f, -0x1.2fe81ap-7f,
     0x1.937ef8p-10f, 0x1.2886c2p-8f}};

constexpr float kBelowParts = 0x1.cp-5f;  // of which the index is that of all below 1/16

/// tanh(x) for f32 x >= 0.
template <FloatVector V>
HWY_INLINE V TanhByTable(V x) {
  const V t = AtMost(ConstantsOf<V>::kTanhHigh, x);
  const auto bits = hn::BitCast(BitsTagOf<V>(), AtLeast(kBelowParts, t));
  const auto part = hn::ShiftRight<21>(bits);
  return PolynomialByTable(kTanhTable, hn::Sub(t, EntryOf<V>(kTanhMiddle, part)), part);
}

#else

template <FloatVector V>
V TanhByTable(V x) = delete;

#endif

/// Of e = exp(2 |x|), (e - 1) / (e + 1), where e - 1 is exact near 0; f32 has 1 - 2 / (e + 1) and a
/// polynomial near 0, which loses less.
template <FloatVector V>
HWY_INLINE V TanhByExp(V x) {
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

template <FloatVector V>
HWY_INLINE V Tanh(V x) {
  if constexpr (kHasTablesOf<V>) {
    return CopySignOf(TanhByTable(hn::Abs(x)), x);
  } else {
    return TanhByExp(x);
  }
}

template <FloatScalar X>
HWY_INLINE X Tanh(X x) {
  return FromOneLane(Tanh(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif  // KILN_TANH_INL_H_
