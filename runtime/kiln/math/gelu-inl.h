// x q(x) of q(x) = erfc(x / sqrt(2)) / 2 for f32 x >= 0, by a table: a polynomial for each quarter
// of [0, 7.625), and 0 from there on, where it is less than 1e-13. For targets on which one
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

/// x q(x); of NaN anything.
template <FloatVector V>
HWY_INLINE V GeluTail(V x) {
  const hn::DFromV<V> d;
  const V t = AtMost(7.75f, x);
  const V magic = hn::Set(d, 0x1.8p21f);  // the last place of a sum is a quarter
  const V n_magic = hn::Add(t, magic);
  const V v = hn::Sub(t, hn::Sub(n_magic, magic));
  const auto n = hn::BitCast(BitsTagOf<V>(), n_magic);
  V sum = EntryOf<V>(kGeluTable[7], n);
  for (size_t k = 7; k-- > 0;) sum = hn::MulAdd(sum, v, EntryOf<V>(kGeluTable[k], n));
  return sum;
}

#else

template <FloatVector V>
V GeluTail(V x) = delete;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
