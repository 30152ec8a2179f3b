// Pow of floats. f32: 2^(b log2(a)) in f64, which after rounding to f32 is the nearest or the one
// beside it: at most 0.51 units of the last place. With AVX-512 both functions are by tables,
// unless an argument is special. f64: the C library.
#if defined(KILN_POWER_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_POWER_INL_H_
#undef KILN_POWER_INL_H_
#else
#define KILN_POWER_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/math/math-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Pow of f32 that are held as f64, with all that the C library says of special arguments.
template <FloatVector V>
HWY_INLINE V PowOfF32(V a, V b) {
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0);
  const V inf = hn::Set(d, std::numeric_limits<double>::infinity());
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const V size = hn::Abs(a);
  V power = Exp2(hn::Mul(b, Log2(size)));

  // 1 to any power, even NaN; anything to the 0; and -1 to infinity.
  const auto infinite = hn::Eq(hn::Abs(b), inf);
  const auto is_one =
      hn::Or(hn::Or(hn::Eq(b, zero), hn::Eq(a, one)), hn::And(infinite, hn::Eq(size, one)));
  power = hn::IfThenElse(is_one, one, power);

  // Of a negative base, -0 included, odd powers are negative, and those that are no integers NaN
  // unless the base is 0 or infinite.
  const V half = hn::Mul(b, hn::Set(d, 0.5));
  const auto integer = hn::Eq(hn::Floor(b), b);
  const auto odd = hn::AndNot(hn::Eq(hn::Floor(half), half), integer);
  power = hn::IfThenElse(odd, CopySignOf(power, a), power);
  const auto negative = hn::And(hn::Lt(a, zero), hn::Lt(size, inf));
  return hn::IfThenElse(hn::AndNot(integer, negative), nan, power);
}

template <FloatVector V>
HWY_INLINE V GeneralPow(V a, V b) {
  return InHalves([](auto x, auto y) HWY_ATTR { return NearestF32(PowOfF32(ToF64(x), ToF64(y))); },
                  a, b);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// For m by the first four bits behind its first one, as kLogTable; and 2^(k / 16).
alignas(64) constexpr double kPowInverse[16] = {
    0x1p+0,        0x1.d41d42p-1, 0x1.bacf92p-1, 0x1.a41a42p-1, 0x1.8f9c18p-1, 0x1.7d05f4p-1,
    0x1.6c16c2p-1, 0x1.5c9882p-1, 0x1.4e5e0ap+0, 0x1.414142p+0, 0x1.3521dp+0,  0x1.29e412p+0,
    0x1.1f7048p+0, 0x1.15b1e6p+0, 0x1.0c9714p+0, 0x1p+0};
alignas(64) constexpr double kPowLog2[16] = {0x0p+0,
                                             0x1.08c587b8a8459p-3,
                                             0x1.acf5de2afc49ap-3,
                                             0x1.2440796db68c3p-2,
                                             0x1.6e22207523f6dp-2,
                                             0x1.b47ebfcfdd47ap-2,
                                             0x1.f7a85434872d2p-2,
                                             0x1.1bf31371c6bfp-1,
                                             -0x1.8a897eb027b02p-2,
                                             -0x1.4f6fbe9a14f18p-2,
                                             -0x1.169c06a7938bbp-2,
                                             -0x1.bfc6745e58544p-3,
                                             -0x1.563dc4114f416p-3,
                                             -0x1.e0b1af47da109p-4,
                                             -0x1.1bb314bc1250dp-4,
                                             0x0p+0};
alignas(64) constexpr double kPowExp2[16] = {0x1p+0,
                                             0x1.0b5586cf9890fp+0,
                                             0x1.172b83c7d517bp+0,
                                             0x1.2387a6e756238p+0,
                                             0x1.306fe0a31b715p+0,
                                             0x1.3dea64c123422p+0,
                                             0x1.4bfdad5362a27p+0,
                                             0x1.5ab07dd485429p+0,
                                             0x1.6a09e667f3bcdp+0,
                                             0x1.7a11473eb0187p+0,
                                             0x1.8ace5422aa0dbp+0,
                                             0x1.9c49182a3f09p+0,
                                             0x1.ae89f995ad3adp+0,
                                             0x1.c199bdd85529cp+0,
                                             0x1.d5818dcfba487p+0,
                                             0x1.ea4afa2a490dap+0};

/// log2(a) of a finite a that is positive or +0, off by less than 2^-39 of itself.
template <FloatVector V>
HWY_INLINE V NearLog2(V a) {
  const hn::DFromV<V> d;
  V e;
  const V m = SplitAroundOne(a, e);
  const auto entry = hn::ShiftRight<48>(hn::BitCast(BitsTagOf<V>(), m));
  const V r = hn::MulSub(m, EntryOf<V>(kPowInverse, entry), hn::Set(d, 1));
  const V rest = Polynomial(r, 0x1.71547652b9281p+0, -0x1.715476517892ep-1, 0x1.ec709cf95d8a8p-2,
                            -0x1.71549789785cbp-2, 0x1.277e1205d7515p-2, -0x1.ec0f36c73c26bp-3,
                            0x1.80f6e6e29867fp-3);
  return hn::MulAdd(r, rest, hn::Add(e, EntryOf<V>(kPowLog2, entry)));
}

/// 2^x, off by less than 2^-37 of itself; 0 or infinity where it is that as f32.
template <FloatVector V>
HWY_INLINE V NearExp2(V x) {
  const hn::DFromV<V> d;
  const V exponent = ClampKeepingNaN(x, -160, 160);
  const V magic = hn::Set(d, 0x1.8p48);  // the last place of a sum is a 16th
  const V n_magic = hn::Add(exponent, magic);
  const V n = hn::Sub(n_magic, magic);
  const V power = Polynomial(hn::Sub(exponent, n), 1, 0x1.62e42fee4615fp-1, 0x1.ebfbdff78ad41p-3,
                             0x1.c6b3488206d06p-5, 0x1.3b2bfa0553142p-7);
  return ApplyScale(hn::Mul(power, EntryOf<V>(kPowExp2, hn::BitCast(BitsTagOf<V>(), n_magic))), n);
}

/// Of finite a that are positive or +0, and finite b that are not 0.
template <FloatVector V>
HWY_INLINE V PowByTable(V a, V b) {
  return InHalves(
      [](auto x, auto y)
          HWY_ATTR { return NearestF32(NearExp2(hn::Mul(ToF64(y), NearLog2(ToF64(x))))); },
      a, b);
}

#else

template <FloatVector V>
V PowByTable(V a, V b) = delete;

#endif

template <FloatVector V>
HWY_INLINE V Pow(V a, V b) {
  using X = LaneOf<V>;
  if constexpr (std::is_same_v<X, double> || kPlainLanes) {
    return LaneByLane([](X x, X y) { return Pow(x, y); }, a, b);
  } else if constexpr (kHasTables) {
    const hn::DFromV<V> d;
    const BitsTagOf<V> du;
    // As numbers, bits of infinity are more than those of all that is positive and less.
    const auto inf = hn::Set(du, 0x7F800000u);
    const auto power = hn::Sub(hn::BitCast(du, hn::Abs(b)), hn::Set(du, 1));
    const auto usual = hn::RebindMask(
        d, hn::And(hn::Lt(hn::BitCast(du, a), inf), hn::Lt(power, hn::Sub(inf, hn::Set(du, 1)))));
    if (HWY_LIKELY(hn::AllTrue(d, usual))) return PowByTable(a, b);
    return hn::IfThenElse(usual, PowByTable(a, b), GeneralPow(a, b));
  } else {
    return GeneralPow(a, b);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_POWER_INL_H_
