// What Gelu and GeluTanh of f32 -x are for x >= 0, negated, by a table: a polynomial for each
// quarter of [0, 7.625), and 0 from there on, where it is less than 1e-13. For targets on which one
// instruction takes 16 lanes from 32 entries: Gelu is 23 instructions of arithmetic then, 38 with
// an exponential.
#if defined(KILN_GELU_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_GELU_INL_H_
#undef KILN_GELU_INL_H_
#else
#define KILN_GELU_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// For each power of v: its coefficients around 0, 1/4, 1/2, … The relative errors are least, after
// all lower powers were rounded; around 0 the first two are exact.
alignas(64) constexpr float kGeluTable[8][32] = {
    {// of v^0
     0x0p+0f,         0x1.9aecbap-4f,  0x1.3bf144p-3f,  0x1.5c198p-3f,
     0x1.44ed0cp-3f,  0x1.0e76a2p-3f,  0x1.9a76a4p-4f,  0x1.1f24ep-4f,
     0x1.74bcf8p-5f,  0x1.c2a49ap-6f,  0x1.fcb21ep-7f,  0x1.0c832ep-7f,
     0x1.096698p-8f,  0x1.eb9b5cp-10f, 0x1.aae05p-11f,  0x1.5babcp-12f,
     0x1.09ad7ap-13f, 0x1.7d1018p-15f, 0x1.008406p-16f, 0x1.443672p-18f,
     0x1.80bcbap-20f, 0x1.acb3dep-22f, 0x1.c093d8p-24f, 0x1.b8cad8p-26f,
     0x1.96c966p-28f, 0x1.60938p-30f,  0x1.1f043cp-32f, 0x1.b6e7b8p-35f,
     0x1.3b34bp-37f,  0x1.a94068p-40f, 0x1.0d7264p-42f, 0},
    {// of v^1
     0x1p-1f,          0x1.37f00cp-2f,   0x1.0f5eb8p-3f,   0x1.95f1dep-11f,
     -0x1.55429ap-4f,  -0x1.f66bfcp-4f,  -0x1.050e92p-3f,  -0x1.c65a8p-4f,
     -0x1.5d1c06p-4f,  -0x1.e4e1e4p-5f,  -0x1.341c2ap-5f,  -0x1.68e62cp-6f,
     -0x1.876f5ap-7f,  -0x1.8a5ae8p-8f,  -0x1.71da9p-9f,   -0x1.437006p-10f,
     -0x1.080eb8p-11f, -0x1.92e552p-13f, -0x1.1f6eap-14f,  -0x1.7fbf1ep-16f,
     -0x1.df9f98p-18f, -0x1.18b3ep-19f,  -0x1.33d03ep-21f, -0x1.3c4fe8p-23f,
     -0x1.30ac84p-25f, -0x1.1320d4p-27f, -0x1.d1eea8p-30f, -0x1.7200dap-32f,
     -0x1.13988ap-34f, -0x1.8120f6p-37f, -0x1.f8eb3ap-40f, 0},
    {// of v^2
     -0x1.988454p-2f, -0x1.7f928p-2f,  -0x1.3b73eap-2f, -0x1.bb4526p-3f,
     -0x1.ef90bap-4f, -0x1.474244p-5f, 0x1.0945bcp-6f,  0x1.7776fp-5f,
     0x1.ba4c04p-5f,  0x1.8e2252p-5f,  0x1.3122e4p-5f,  0x1.9e60aep-6f,
     0x1.fc46fcp-7f,  0x1.1ca6a2p-7f,  0x1.251c18p-8f,  0x1.16bd1ap-9f,
     0x1.eb27fcp-11f, 0x1.91db96p-12f, 0x1.31e00cp-13f, 0x1.b1c5aep-15f,
     0x1.1ed87ep-16f, 0x1.621d4ep-18f, 0x1.985a3ap-20f, 0x1.b82264p-22f,
     0x1.bba0c4p-24f, 0x1.a254fp-26f,  0x1.713222p-28f, 0x1.310b3ap-30f,
     0x1.d80e52p-33f, 0x1.56229ep-35f, 0x1.d0a738p-38f, 0},
    {// of v^3
     0x1.145e1ep-20f,  0x1.03e194p-4f,   0x1.c2a02p-4f,    0x1.090042p-3f,
     0x1.ef8f7p-4f,    0x1.7bdeacp-4f,   0x1.d0306ep-5f,   0x1.8294acp-6f,
     0x1.78fc02p-26f,  -0x1.9e4d56p-7f,  -0x1.0d419cp-6f,  -0x1.e68ee2p-7f,
     -0x1.6b0c58p-7f,  -0x1.d8ae5ep-8f,  -0x1.133d6cp-8f,  -0x1.22a94cp-9f,
     -0x1.18a6dap-10f, -0x1.f26ac4p-12f, -0x1.988a8cp-13f, -0x1.360086p-14f,
     -0x1.b48258p-16f, -0x1.1d9c1ep-17f, -0x1.5bd2fep-19f, -0x1.8aa296p-21f,
     -0x1.a1887p-23f,  -0x1.9c3ea2p-25f, -0x1.7c175ap-27f, -0x1.476a9ap-29f,
     -0x1.07a4d4p-31f, -0x1.8d0d6cp-34f, -0x1.17b1eep-36f, 0},
    {// of v^4
     0x1.1035cap-4f,  0x1.d38f34p-5f,  0x1.18b8dcp-5f,   0x1.2294bcp-8f,
     -0x1.448a9p-6f,  -0x1.1fe2a2p-5f, -0x1.293f4p-5f,   -0x1.d624bcp-6f,
     -0x1.27ca98p-6f, -0x1.ed2db4p-8f, -0x1.2c1166p-11f, 0x1.97203ap-9f,
     0x1.0b0cd2p-8f,  0x1.cd6c28p-9f,  0x1.458f5ap-9f,   0x1.8d4a28p-10f,
     0x1.b1265p-11f,  0x1.a8bd48p-12f, 0x1.7bfd78p-13f,  0x1.381c06p-14f,
     0x1.d7ab8ap-16f, 0x1.495a56p-17f, 0x1.a9eecp-19f,   0x1.ff1c14p-21f,
     0x1.1cd4dcp-22f, 0x1.276b3ap-24f, 0x1.1d45bcp-26f,  0x1.00db2ap-28f,
     0x1.af6222p-31f, 0x1.521498p-33f, 0x1.eee204p-36f,  0},
    {// of v^5
     0x1.f4eb78p-12f,  -0x1.0133cep-6f,  -0x1.651c14p-6f,  -0x1.761b9ap-6f,
     -0x1.0bfc74p-6f,  -0x1.2d886ap-8f,  0x1.7cd68cp-9f,   0x1.ddd994p-8f,
     0x1.28d536p-7f,   0x1.b5a4aap-8f,   0x1.278d8cp-8f,   0x1.cb7992p-10f,
     -0x1.a15d16p-15f, -0x1.877308p-11f, -0x1.b9f74p-11f,  -0x1.5a19p-11f,
     -0x1.d0f5eep-12f, -0x1.00f2c6p-12f, -0x1.fff1ap-14f,  -0x1.d183bcp-15f,
     -0x1.7d60bp-16f,  -0x1.1f0f8ap-17f, -0x1.8d51cap-19f, -0x1.fbefccp-21f,
     -0x1.2b530ep-22f, -0x1.47a5a4p-24f, -0x1.4c17f4p-26f, -0x1.39d20cp-28f,
     -0x1.13a19p-30f,  -0x1.c2ac16p-33f, -0x1.5765e2p-35f, 0},
    {// of v^6
     -0x1.b18936p-7f,  0x1.ebd072p-8f,   -0x1.1553a6p-6f, 0x1.f5f1cap-7f,
     -0x1.1009cep-7f,  0x1.686d84p-5f,   0x1.a26fcap-7f,  -0x1.28f9d4p-7f,
     0x1.e4f6a2p-10f,  -0x1.0932f2p-7f,  0x1.d702d6p-11f, -0x1.33de38p-11f,
     -0x1.4ec616p-10f, -0x1.267c8cp-12f, 0x1.e66a7ep-15f, 0x1.055e3ep-12f,
     0x1.d67af8p-14f,  0x1.d5200cp-14f,  0x1.1d340cp-14f, 0x1.09e0bap-15f,
     0x1.ec368p-17f,   0x1.904136p-18f,  0x1.28f4e4p-19f, 0x1.91c01ap-21f,
     0x1.fe2d86p-23f,  0x1.271ae6p-24f,  0x1.3ece44p-26f, 0x1.3ac9fep-28f,
     0x1.21f3ecp-30f,  0x1.f131d6p-33f,  0x1.8c011ap-35f, 0},
    {// of v^7
     0x1.19b446p-7f,   0x1.37a316p-4f,   -0x1.7b69d2p-6f,  0x1.8cd84ap-9f,
     0x1.73e1b4p-7f,   -0x1.0b71acp-4f,  -0x1.60bbf2p-7f,  0x1.a7c1bep-6f,
     -0x1.2cfcccp-8f,  0x1.5412c6p-6f,   -0x1.4e0b48p-7f,  -0x1.ab4202p-9f,
     0x1.475d5ap-9f,   0x1.55e938p-11f,  -0x1.0bdfdp-14f,  -0x1.0e0532p-11f,
     0x1.e512ecp-13f,  -0x1.1ff89ep-14f, -0x1.0a876ep-14f, -0x1.e52bf4p-17f,
     -0x1.3f838ap-17f, -0x1.fb8904p-19f, -0x1.797d44p-20f, -0x1.d9cb0ep-22f,
     -0x1.6414d6p-23f, -0x1.a1484cp-25f, -0x1.02848ap-26f, -0x1.f32d06p-29f,
     -0x1.da9f4p-31f,  -0x1.abc958p-33f, -0x1.644cf8p-35f, 0}};

alignas(64) constexpr float kGeluTanhTable[8][32] = {
    {// of v^0
     0x0p+0f,         0x1.9aee04p-4f,  0x1.3bfa4cp-3f,  0x1.5c3da4p-3f,  0x1.453d22p-3f,
     0x1.0eebdcp-3f,  0x1.9b5ad6p-4f,  0x1.1f8eep-4f,   0x1.73ef8ap-5f,  0x1.bdaaa6p-6f,
     0x1.ee47fep-7f,  0x1.fa24dcp-8f,  0x1.dcc2ap-9f,   0x1.9b34cap-10f, 0x1.4310a6p-11f,
     0x1.cbce1p-13f,  0x1.26a204p-14f, 0x1.51ed62p-16f, 0x1.58b87ap-18f, 0x1.36cb74p-20f,
     0x1.ec28d4p-23f, 0x1.54078ap-25f, 0x1.975826p-28f, 0x1.a4555p-31f,  0x1.732df8p-34f,
     0x1.16ac36p-37f, 0x1.616f38p-41f, 0x1.7822c6p-45f, 0x1.4db0b4p-49f, 0x1.ea4faep-54f,
     0x1.285924p-58f, 0x0p+0f},
    {// of v^1
     0x1p-1f,          0x1.37f518p-2f,   0x1.0fa06p-3f,    0x1.16546cp-10f,  -0x1.53d226p-4f,
     -0x1.f5bad8p-4f,  -0x1.058d3cp-3f,  -0x1.c919eap-4f,  -0x1.60a99ep-4f,  -0x1.ead1e4p-5f,
     -0x1.36e638p-5f,  -0x1.679c74p-6f,  -0x1.7b9708p-7f,  -0x1.6caa3cp-8f,  -0x1.3d8a7p-9f,
     -0x1.f2c95cp-11f, -0x1.5f66f4p-12f, -0x1.b995e2p-14f, -0x1.ebf232p-16f, -0x1.e2e71ep-18f,
     -0x1.9f193p-20f,  -0x1.36822p-22f,  -0x1.91b682p-25f, -0x1.be921ep-28f, -0x1.a7dc58p-31f,
     -0x1.554b18p-34f, -0x1.cf45cp-38f,  -0x1.0751ap-41f,  -0x1.f22004p-46f, -0x1.857c92p-50f,
     -0x1.f43c6p-55f,  0x0p+0f},
    {// of v^2
     -0x1.988454p-2f, -0x1.7f751ep-2f, -0x1.3b25cap-2f, -0x1.baaf02p-3f, -0x1.efe98ap-4f,
     -0x1.4c94p-5f,   0x1.f3f1cp-7f,   0x1.71cd3p-5f,   0x1.b9d874p-5f,  0x1.92f406p-5f,
     0x1.384df6p-5f,  0x1.aa857ap-6f,  0x1.043da6p-6f,  0x1.1d0774p-7f,  0x1.18263p-8f,
     0x1.ecdb64p-10f, 0x1.826a02p-11f, 0x1.0cb858p-12f, 0x1.49bd02p-14f, 0x1.62fa1p-16f,
     0x1.4d5594p-18f, 0x1.0f6a72p-20f, 0x1.7cf66p-23f,  0x1.ca14b2p-26f, 0x1.d4f62ep-29f,
     0x1.9639cp-32f,  0x1.27e044p-35f, 0x1.68209cp-39f, 0x1.6beefp-43f,  0x1.2f6acp-47f,
     0x1.9eb998p-52f, 0x0p+0f},
    {// of v^3
     0x1.55cb94p-20f,  0x1.04f532p-4f,   0x1.c359e8p-4f,   0x1.0876acp-3f,   0x1.ecb1aap-4f,
     0x1.794078p-4f,   0x1.cfb2bp-5f,    0x1.8d3b92p-6f,   0x1.f66ff8p-11f,  -0x1.88625p-7f,
     -0x1.0be976p-6f,  -0x1.f35f84p-7f,  -0x1.7c8fa8p-7f,  -0x1.f298fap-8f,  -0x1.1dde84p-8f,
     -0x1.20895p-9f,   -0x1.0076b4p-10f, -0x1.909d4ap-12f, -0x1.11ef4ap-13f, -0x1.468d1ep-15f,
     -0x1.51aacp-17f,  -0x1.2d48b2p-19f, -0x1.cd6522p-22f, -0x1.2d7c5cp-24f, -0x1.4e455p-27f,
     -0x1.389706p-30f, -0x1.ea23dap-34f, -0x1.40354p-37f,  -0x1.5a7f7ep-41f, -0x1.349adcp-45f,
     -0x1.c19f7ep-50f, 0x0p+0f},
    {// of v^4
     0x1.11806ep-4f,   0x1.d21848p-5f,  0x1.1e74ecp-5f,  0x1.1914ep-8f,   -0x1.5380d4p-6f,
     -0x1.0b0b12p-5f,  -0x1.1ea294p-5f, -0x1.d7c4e2p-6f, -0x1.23534cp-6f, -0x1.09d616p-7f,
     -0x1.3173acp-10f, 0x1.74b398p-9f,  0x1.0bc12cp-8f,  0x1.eb3648p-9f,  0x1.62931p-9f,
     0x1.af7094p-10f,  0x1.c1338cp-11f, 0x1.92edacp-12f, 0x1.3896cap-13f, 0x1.a256c8p-15f,
     0x1.e16038p-17f,  0x1.dab9dp-19f,  0x1.8f666cp-21f, 0x1.1d485ap-23f, 0x1.5838d8p-26f,
     0x1.5ce794p-29f,  0x1.277042p-32f, 0x1.9f93a6p-36f, 0x1.e2b6f4p-40f, 0x1.cc3fcp-44f,
     0x1.660ce4p-48f,  0x0p+0f},
    {// of v^5
     0x1.878bp-11f,    -0x1.0b300ap-6f,  -0x1.5cf034p-6f,  -0x1.760df8p-6f,  -0x1.0067b2p-6f,
     -0x1.cacf6cp-8f,  0x1.5ccb8ep-9f,   0x1.0b6d2cp-7f,   0x1.077a72p-7f,   0x1.b6c80ap-8f,
     0x1.2ee358p-8f,   0x1.e1e948p-10f,  0x1.023f44p-12f,  -0x1.71444ap-11f, -0x1.d72e8p-11f,
     -0x1.9075p-11f,   -0x1.06c618p-11f, -0x1.1945cp-12f,  -0x1.feadb2p-14f, -0x1.87f5b4p-15f,
     -0x1.fd545ep-17f, -0x1.18f77p-18f,  -0x1.064074p-20f, -0x1.9cc6dep-23f, -0x1.10dfe8p-25f,
     -0x1.2d9c66p-28f, -0x1.155c1p-31f,  -0x1.a63beep-35f, -0x1.089ab6p-38f, -0x1.0f835cp-42f,
     -0x1.c5a55cp-47f, 0x0p+0f},
    {// of v^6
     -0x1.008b78p-6f, 0x1.5cd978p-6f,  -0x1.ea6422p-5f,  0x1.a35042p-15f,  0x1.38034p-6f,
     -0x1.833ca8p-5f, -0x1.49ae2ap-7f, 0x1.36abccp-6f,   -0x1.47c246p-7f,  -0x1.3c85c4p-8f,
     0x1.56f612p-10f, -0x1.839f04p-9f, -0x1.a171dep-11f, -0x1.988bf2p-11f, 0x1.cb47aep-15f,
     0x1.e9ccb2p-14f, 0x1.36541p-13f,  0x1.145df8p-13f,  0x1.2b6b22p-14f,  0x1.0d959ep-15f,
     0x1.9c692ap-17f, 0x1.03b664p-18f, 0x1.11499ap-20f,  0x1.e0577p-23f,   0x1.5fceaep-25f,
     0x1.ac5da4p-28f, 0x1.af9fdp-31f,  0x1.666b56p-34f,  0x1.e8251cp-38f,  0x1.0f3d7cp-41f,
     0x1.e93dp-46f,   0x0p+0f},
    {// of v^7
     0x1.eccbdp-7f,    0x1.760bdp-4f,    -0x1.d13486p-5f,  0x1.747bd2p-9f,   -0x1.6acf12p-9f,
     0x1.b338d8p-5f,   0x1.1ca3b6p-7f,   -0x1.bb7812p-6f,  0x1.29b33ep-6f,   0x1.2109e2p-7f,
     -0x1.3fce52p-7f,  0x1.4968fp-8f,    -0x1.4e4bb8p-13f, 0x1.00578p-9f,    0x1.d028d2p-15f,
     0x1.c1340ap-13f,  0x1.c389bep-14f,  -0x1.d9a728p-15f, -0x1.c7290ap-16f, -0x1.cee46cp-17f,
     -0x1.ec320ep-18f, -0x1.667c1cp-19f, -0x1.aba566p-21f, -0x1.a49cc4p-23f, -0x1.53012p-25f,
     -0x1.c2d3b6p-28f, -0x1.ec2262p-31f, -0x1.b7961ep-34f, -0x1.3fd5c4p-37f, -0x1.79ef1p-41f,
     -0x1.6871fep-45f, 0x0p+0f}};

template <FloatVector V>
HWY_INLINE V GeluTailOf(const float (&table)[8][32], V x) {
  const hn::DFromV<V> d;
  const V t = AtMost(7.75f, x);
  const V magic = hn::Set(d, 0x1.8p21f);  // the last place of a sum is a quarter
  const V n_magic = hn::Add(t, magic);
  const V v = hn::Sub(t, hn::Sub(n_magic, magic));
  return PolynomialByTable(table, v, hn::BitCast(BitsTagOf<V>(), n_magic));
}

/// x erfc(x / sqrt(2)) / 2; of NaN anything.
template <FloatVector V>
HWY_INLINE V GeluTail(V x) {
  return GeluTailOf(kGeluTable, x);
}

/// x (1 - tanh(u)) / 2 of u = sqrt(2 / pi) (x + 0.044715 x^3); of NaN anything.
template <FloatVector V>
HWY_INLINE V GeluTanhTail(V x) {
  return GeluTailOf(kGeluTanhTable, x);
}

#else

template <FloatVector V>
V GeluTail(V x) = delete;
template <FloatVector V>
V GeluTanhTail(V x) = delete;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
