// Pow of floats. f32: 2^(b log2(a)) in f64, which after rounding to f32 is the nearest or the one
// beside it: at most 0.51 units of the last place. f64: the C library.
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
HWY_INLINE V Pow(V a, V b) {
  using X = LaneOf<V>;
  if constexpr (std::is_same_v<X, double> || kPlainLanes) {
    return LaneByLane([](X x, X y) { return Pow(x, y); }, a, b);
  } else {
    return InHalves(
        [](auto x, auto y) HWY_ATTR { return NearestF32(PowOfF32(ToF64(x), ToF64(y))); }, a, b);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_POWER_INL_H_
