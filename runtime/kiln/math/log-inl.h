// Log, Log2 and Log1p of vectors; see math-inl.h. Largest errors in units of the last place:
//
//              f32    f64
//   Log        0.9    0.9
//   Log2       1.8    1.6    f32 by a table 1.3
//   Log1p      0.9    0.9    f32 by a table 1.3
#if defined(KILN_LOG_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_LOG_INL_H_
#undef KILN_LOG_INL_H_
#else
#define KILN_LOG_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/exp-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

// ---- By a table: x = 2^e m, with m between 3/4 and 3/2, and m = c (1 + r), with 1 / c and the
// logarithm of c from a table of 32. Around 1 that is 0, so that nothing cancels. Infinities,
// zeros, negative and subnormal numbers need nothing of their own, as the instructions that split x
// give what makes their logarithms: e of 0 is -inf, and m of -1 NaN.

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

struct LogTable {
  alignas(64) float inverse[32], log[32];
};

/// For m by the first five bits behind its first one, those of m < 1 last. Inverses are those near
/// the middle of each interval whose logarithms are nearest to a float.
alignas(64) constexpr LogTable kLogTable = {
    {0x1p+0f,        0x1.e9108ap-1f, 0x1.dae26cp-1f, 0x1.cd9256p-1f, 0x1.c0f664p-1f, 0x1.b4f388p-1f,
     0x1.a9885ep-1f, 0x1.9ec00ap-1f, 0x1.94a16p-1f,  0x1.8ad852p-1f, 0x1.8193acp-1f, 0x1.78a7f4p-1f,
     0x1.702518p-1f, 0x1.680344p-1f, 0x1.6062bep-1f, 0x1.58fe2p-1f,  0x1.51d2bap+0f, 0x1.4b0196p+0f,
     0x1.4475aep+0f, 0x1.3e2198p+0f, 0x1.380858p+0f, 0x1.3242a8p+0f, 0x1.2c9b8p+0f,  0x1.27364ap+0f,
     0x1.21f796p+0f, 0x1.1ce7d8p+0f, 0x1.181988p+0f, 0x1.135bb2p+0f, 0x1.0ed1e6p+0f, 0x1.0a5ffep+0f,
     0x1.062a52p+0f, 0x1p+0f},
    {0x0p+0f,         0x1.777088p-5f,  0x1.343c96p-4f,  0x1.a8b41ap-4f,  0x1.0d13c2p-3f,
     0x1.449d2ap-3f,  0x1.7ad84cp-3f,  0x1.af6864p-3f,  0x1.e1ff84p-3f,  0x1.0a113ap-2f,
     0x1.2263ep-2f,   0x1.3a5c26p-2f,  0x1.51c3aep-2f,  0x1.68a33ap-2f,  0x1.7e908cp-2f,
     0x1.9446d4p-2f,  -0x1.1c005ap-2f, -0x1.07206ep-2f, -0x1.e557cap-3f, -0x1.bd00b6p-3f,
     -0x1.955c6ep-3f, -0x1.6f1eecp-3f, -0x1.48f73p-3f,  -0x1.23dfb4p-3f, -0x1.fe523ap-4f,
     -0x1.b63148p-4f, -0x1.708294p-4f, -0x1.2a9442p-4f, -0x1.cd04aap-5f, -0x1.4572acp-5f,
     -0x1.85e754p-6f, 0x0p+0f}};
alignas(64) constexpr LogTable kLog2Table = {
    {0x1p+0f,        0x1.e92932p-1f, 0x1.daf51ep-1f, 0x1.cd74cep-1f, 0x1.c0d48cp-1f, 0x1.b4d4c6p-1f,
     0x1.a999cp-1f,  0x1.9edc2ep-1f, 0x1.9484fep-1f, 0x1.8abf1cp-1f, 0x1.818ad6p-1f, 0x1.78a438p-1f,
     0x1.703228p-1f, 0x1.682a3p-1f,  0x1.606114p-1f, 0x1.58ddbcp-1f, 0x1.51ca88p+0f, 0x1.4afc92p+0f,
     0x1.446a9ap+0f, 0x1.3e2c44p+0f, 0x1.380a42p+0f, 0x1.324402p+0f, 0x1.2c9a9ep+0f, 0x1.2736dcp+0f,
     0x1.21f49ep+0f, 0x1.1ce54cp+0f, 0x1.181b2p+0f,  0x1.1350fep+0f, 0x1.0ed832p+0f, 0x1.0a721cp+0f,
     0x1.061ce8p+0f, 0x1p+0f},
    {0x0p+0f,         0x1.0da8a6p-4f,  0x1.bbc868p-4f,  0x1.3318ecp-3f,  0x1.851104p-3f,
     0x1.d521a6p-3f,  0x1.110b0ap-2f,  0x1.36cdaep-2f,  0x1.5c17cep-2f,  0x1.8038f4p-2f,
     0x1.a313ap-2f,   0x1.c5953p-2f,   0x1.e71614p-2f,  0x1.03d54ap-1f,  0x1.13f9c6p-1f,
     0x1.23e51ap-1f,  -0x1.99965ep-2f, -0x1.7b862cp-2f, -0x1.5de764p-2f, -0x1.4131fap-2f,
     -0x1.24710cp-2f, -0x1.08d8dep-2f, -0x1.da9028p-3f, -0x1.a51b74p-3f, -0x1.700032p-3f,
     -0x1.3bfc64p-3f, -0x1.09e3b6p-3f, -0x1.addc8p-4f,  -0x1.4d174ep-4f, -0x1.d8a962p-5f,
     -0x1.16e4c4p-5f, 0x0p+0f}};
/// For 1 + k / 31.
alignas(64) constexpr LogTable kLog1pTable = {
    {0x1p+0f,        0x1.eff034p-1f, 0x1.e0f1cep-1f, 0x1.d2d5aap-1f, 0x1.c59196p-1f, 0x1.b8cfbp-1f,
     0x1.ad09d8p-1f, 0x1.a1b172p-1f, 0x1.96eb86p-1f, 0x1.8cd918p-1f, 0x1.8321b2p-1f, 0x1.79e7a8p-1f,
     0x1.71095cp-1f, 0x1.68ca82p-1f, 0x1.60bde6p-1f, 0x1.58fe2p-1f,  0x1.51ab7ap-1f, 0x1.4ab10cp-1f,
     0x1.43e584p-1f, 0x1.3d6992p-1f, 0x1.3749eep-1f, 0x1.3136bep-1f, 0x1.2b85eep-1f, 0x1.25d716p-1f,
     0x1.2090e2p-1f, 0x1.1b59c4p-1f, 0x1.1672d6p-1f, 0x1.11b5c4p-1f, 0x1.0d1364p-1f, 0x1.0873e8p-1f,
     0x1.041b98p-1f, 0x1.00f94p-1f},
    {0x0p+0f,        0x1.051ac4p-5f, 0x1.004c2cp-4f, 0x1.7a4386p-4f, 0x1.f0583ap-4f, 0x1.3299fep-3f,
     0x1.6a0aap-3f,  0x1.a0ed46p-3f, 0x1.d67124p-3f, 0x1.04e2cp-2f,  0x1.1e44f2p-2f, 0x1.36f86cp-2f,
     0x1.4f4986p-2f, 0x1.666d2p-2f,  0x1.7d87cap-2f, 0x1.9446d4p-2f, 0x1.aa3f06p-2f, 0x1.bfa138p-2f,
     0x1.d4e3dcp-2f, 0x1.e99906p-2f, 0x1.fd8bcap-2f, 0x1.08dd1ep-1f, 0x1.128002p-1f, 0x1.1c4ecap-1f,
     0x1.2594dp-1f,  0x1.2eeb5ep-1f, 0x1.37dacep-1f, 0x1.40a48cp-1f, 0x1.4962c6p-1f, 0x1.52424ap-1f,
     0x1.5abdb2p-1f, 0x1.60f2a2p-1f}};

template <FloatVector V>
HWY_INLINE V MantissaAroundOne(V x) {
  constexpr bool kFloat = std::is_same_v<LaneOf<V>, float>;
  constexpr auto kInterval = _MM_MANT_NORM_p75_1p5;
  constexpr auto kSign = _MM_MANT_SIGN_nan;
  if constexpr (sizeof(V) == 64 && kFloat) {
    return V{_mm512_getmant_ps(x.raw, kInterval, kSign)};
  } else if constexpr (sizeof(V) == 64) {
    return V{_mm512_getmant_pd(x.raw, kInterval, kSign)};
  } else if constexpr (sizeof(V) == 32 && kFloat) {
    return V{_mm256_getmant_ps(x.raw, kInterval, kSign)};
  } else if constexpr (sizeof(V) == 32) {
    return V{_mm256_getmant_pd(x.raw, kInterval, kSign)};
  } else if constexpr (kFloat) {
    return V{_mm_getmant_ps(x.raw, kInterval, kSign)};
  } else {
    return V{_mm_getmant_pd(x.raw, kInterval, kSign)};
  }
}

/// The exponent of the first digit.
template <FloatVector V>
HWY_INLINE V FirstExponent(V x) {
  constexpr bool kFloat = std::is_same_v<LaneOf<V>, float>;
  if constexpr (sizeof(V) == 64 && kFloat) {
    return V{_mm512_getexp_ps(x.raw)};
  } else if constexpr (sizeof(V) == 64) {
    return V{_mm512_getexp_pd(x.raw)};
  } else if constexpr (sizeof(V) == 32 && kFloat) {
    return V{_mm256_getexp_ps(x.raw)};
  } else if constexpr (sizeof(V) == 32) {
    return V{_mm256_getexp_pd(x.raw)};
  } else if constexpr (kFloat) {
    return V{_mm_getexp_ps(x.raw)};
  } else {
    return V{_mm_getexp_pd(x.raw)};
  }
}

/// The mantissa of x between 3/4 and 3/2; sets its exponent.
template <FloatVector V>
HWY_INLINE V SplitAroundOne(V x, V& e) {
  const V one = hn::Set(hn::DFromV<V>(), 1);
  const V m = MantissaAroundOne(x);
  e = FirstExponent(x);
  e = hn::IfThenElse(hn::Lt(m, one), hn::Add(e, one), e);
  return m;
}

/// x as 2^e c (1 + r): 1 / c and the logarithm of c.
template <FloatVector V>
struct SplitByTable {
  HWY_INLINE SplitByTable(V x, const LogTable& table) {
    const V m = SplitAroundOne(x, e);
    const auto entry = hn::ShiftRight<18>(hn::BitCast(BitsTagOf<V>(), m));
    inverse = EntryOf<V>(table.inverse, entry);
    log = EntryOf<V>(table.log, entry);
    r = hn::MulSub(m, inverse, hn::Set(hn::DFromV<V>(), 1));
  }

  V e, inverse, log, r;
};

/// log(1 + r) for r between -1/64 and 1/32.
template <FloatVector V>
HWY_INLINE V LogNearOne(V r) {
  const V tail = Polynomial(r, -0x1.000028p-1f, 0x1.555e0ap-2f, -0x1.f3bfb4p-3f);
  return hn::MulAdd(hn::Mul(r, r), tail, r);
}

template <FloatVector V>
HWY_INLINE V LogOf(const SplitByTable<V>& x) {
  const V log = hn::Add(x.log, LogNearOne(x.r));
  return hn::MulAdd(x.e, hn::Set(hn::DFromV<V>(), ConstantsOf<V>::kLn2), log);
}

template <FloatVector V>
HWY_INLINE V LogByTable(V x) {
  return LogOf(SplitByTable<V>(x, kLogTable));
}

template <FloatVector V>
HWY_INLINE V Log2ByTable(V x) {
  const SplitByTable<V> split(x, kLog2Table);
  const V r = split.r, log2_e = hn::Set(hn::DFromV<V>(), ConstantsOf<V>::kLog2E);
  const V tail = Polynomial(r, -0x1.7154b2p-1f, 0x1.ec7cd4p-2f, -0x1.6861acp-2f);
  const V near_one = hn::MulAdd(hn::Mul(r, r), tail, hn::Mul(r, log2_e));
  return hn::Add(split.e, hn::Add(split.log, near_one));
}

/// log(1 + x) of u = 1 + x and `lost`, what u lacks.
template <FloatVector V>
HWY_INLINE V Log1pByTable(V x, V u, V lost) {
  const hn::DFromV<V> d;
  SplitByTable<V> split(u, kLogTable);
  // Nothing of what counts, or infinity less infinity.
  const auto counts = hn::And(hn::Lt(x, hn::Set(d, 0x1p25f)), hn::Gt(u, hn::Zero(d)));
  const V scaled = ApplyScale(lost, hn::IfThenElseZero(counts, hn::Neg(split.e)));
  split.r = hn::MulAdd(hn::IfThenElseZero(counts, scaled), split.inverse, split.r);
  return LogOf(split);
}

/// log(1 + x) for x between 0 and 1: 1 + x = c (1 + r) of a c for each of 32 parts, so that the sum
/// need not be rounded.
template <FloatVector V>
HWY_INLINE V Log1pOfUnit(V x) {
  const hn::DFromV<V> d;
  const V part = hn::MulAdd(x, hn::Set(d, 31), hn::Set(d, ConstantsOf<V>::kMagic));
  const auto entry = hn::BitCast(BitsTagOf<V>(), part);
  const V inverse = EntryOf<V>(kLog1pTable.inverse, entry);
  const V r = hn::MulAdd(x, inverse, hn::Sub(inverse, hn::Set(d, 1)));
  return hn::Add(EntryOf<V>(kLog1pTable.log, entry), LogNearOne(r));
}

#else

template <FloatVector V>
V LogByTable(V x) = delete;
template <FloatVector V>
V Log2ByTable(V x) = delete;
template <FloatVector V>
V Log1pByTable(V x, V u, V lost) = delete;
template <FloatVector V>
V Log1pOfUnit(V x) = delete;

#endif

// ---- By a polynomial: x = 2^e (1 + f), with 1 + f between sqrt(0.5) and sqrt(2).

/// Splits a positive normal x; gives f, and sets e.
template <FloatVector V>
HWY_INLINE V SplitExponent(V x, V& e) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const BitsTagOf<V> du;
  const hn::RebindToSigned<decltype(du)> di;
  const auto bits = hn::BitCast(du, x);
  const auto above = hn::Sub(bits, hn::Set(du, C::kSqrtHalf));
  // The exponent as a float: its bits under those of kMagic.
  const auto exponent = hn::ShiftRight<C::kMantissa>(hn::BitCast(di, above));
  const auto magic = hn::Set(d, C::kMagic);
  e = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(di, magic), exponent)), magic);
  const auto mantissa = hn::Sub(bits, hn::BitCast(du, hn::ShiftLeft<C::kMantissa>(exponent)));
  return hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1));
}

/// f - log(1 + f), negated and without its largest part: log(1 + f) = f - (half - result), where
/// half is f^2 / 2.
template <FloatVector V>
HWY_INLINE V LogTail(V f, V half) {
  const hn::DFromV<V> d;
  const V s = hn::Div(f, hn::Add(f, hn::Set(d, 2)));
  const V z = hn::Mul(s, s);
  return hn::Mul(s, hn::MulAdd(z, AtanhTail(z), half));
}

/// e ln(2) + log(1 + f) + more.
template <FloatVector V>
HWY_INLINE V JoinLog(V e, V f, V more) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const V half = hn::Mul(hn::Mul(f, f), hn::Set(d, LaneOf<V>{0.5}));
  const V low = hn::Add(LogTail(f, half), hn::MulAdd(e, hn::Set(d, C::kLn2Low), more));
  const V log = hn::Sub(f, hn::Sub(half, low));
  return hn::MulAdd(e, hn::Set(d, C::kLn2High), log);
}

/// The logarithm of what is not positive and finite.
template <FloatVector V>
HWY_INLINE V FixLog(V x, V log) {
  using X = LaneOf<V>;
  using Limits = std::numeric_limits<X>;
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d);
  const V inf = hn::Set(d, Limits::infinity());
  const V nan = hn::Set(d, Limits::quiet_NaN());
  log = hn::IfThenElse(hn::Lt(x, inf), log, x);  // inf and NaN
  log = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(inf), log);
  return hn::IfThenElse(hn::Lt(x, zero), nan, log);
}

/// x made normal; sets by how much the exponent is then too large.
template <FloatVector V>
HWY_INLINE V Normalize(V x, V& excess) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  const auto subnormal = hn::Lt(x, hn::Set(d, C::kLeastNormal));
  excess = hn::IfThenElseZero(subnormal, hn::Set(d, C::kMantissa));
  return hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, C::kNormalize)), x);
}

template <FloatVector V>
HWY_INLINE V LogByPolynomial(V x) {
  V excess, e;
  const V f = SplitExponent(Normalize(x, excess), e);
  return FixLog(x, JoinLog(hn::Sub(e, excess), f, hn::Zero(hn::DFromV<V>())));
}

template <FloatVector V>
HWY_INLINE V Log2ByPolynomial(V x) {
  using C = ConstantsOf<V>;
  const hn::DFromV<V> d;
  V excess, e;
  const V f = SplitExponent(Normalize(x, excess), e);
  const V half = hn::Mul(hn::Mul(f, f), hn::Set(d, LaneOf<V>{0.5}));
  const V log = hn::Sub(f, hn::Sub(half, LogTail(f, half)));
  const V low = hn::Mul(log, hn::Set(d, C::kLog2ELow));
  const V log2 = hn::MulAdd(log, hn::Set(d, C::kLog2E), low);
  return FixLog(x, hn::Add(hn::Sub(e, excess), log2));
}

/// Of u = 1 + x and `lost`, what u lacks.
template <FloatVector V>
HWY_INLINE V Log1pByPolynomial(V u, V lost) {
  V e;
  const V f = SplitExponent(u, e);
  return FixLog(u, JoinLog(e, f, hn::Div(lost, u)));
}

// ---- By either.

template <FloatVector V>
HWY_INLINE V Log(V x) {
  if constexpr (kHasTablesOf<V>) {
    return LogByTable(x);
  } else {
    return LogByPolynomial(x);
  }
}

template <FloatVector V>
HWY_INLINE V Log2(V x) {
  if constexpr (kHasTablesOf<V>) {
    return Log2ByTable(x);
  } else {
    return Log2ByPolynomial(x);
  }
}

template <FloatVector V>
HWY_INLINE V Log1p(V x) {
  const hn::DFromV<V> d;
  const V one = hn::Set(d, 1);
  if constexpr (kHasTablesOf<V>) {
    // As numbers, bits of +0 to 1 are less than any others. Exponentials of negative numbers are
    // such.
    const BitsTagOf<V> du;
    const auto is_unit = hn::Lt(hn::BitCast(du, x), hn::Set(du, 0x3F800001u));
    if (hn::AllTrue(du, is_unit)) return Log1pOfUnit(x);
  }
  const V u = hn::Add(x, one);
  // What u lacks, exact: the smaller of the two is subtracted last.
  const auto large = hn::Gt(x, one);
  const V more = hn::IfThenElse(large, one, x);
  const V less = hn::IfThenElse(large, x, one);
  const V lost = hn::Sub(more, hn::Sub(u, less));
  if constexpr (kHasTablesOf<V>) {
    return CopySignOf(Log1pByTable(x, u, lost), x);
  } else {
    return CopySignOf(Log1pByPolynomial(u, lost), x);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif  // KILN_LOG_INL_H_
