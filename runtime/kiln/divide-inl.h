// Division and powers of vectors: FloorDiv, CeilDiv, Mod, Rem, Pow; see scalar-inl.h for what they
// mean. Integers divided by 0 give any value and never trap.
#if defined(KILN_DIVIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_DIVIDE_INL_H_
#undef KILN_DIVIDE_INL_H_
#else
#define KILN_DIVIDE_INL_H_
#endif

#include "kiln/values-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {

/// fn of as many lanes as a vector of f64 holds, twice if there are more.
template <class Fn, VectorValue V>
HWY_INLINE V InHalves(Fn fn, V a, V b) {
  using D = hn::DFromV<V>;
  if constexpr (hn::MaxLanes(D()) <= hn::MaxLanes(hn::ScalableTag<double>())) {
    return fn(a, b);
#if HWY_TARGET != HWY_SCALAR
  } else {
    const D d;
    const hn::Half<D> dh;
    const auto low = fn(hn::LowerHalf(dh, a), hn::LowerHalf(dh, b));
    const auto high = fn(hn::UpperHalf(dh, a), hn::UpperHalf(dh, b));
    return hn::Combine(d, high, low);
#endif
  }
}

/// a / b rounded towards zero.
template <IntegerVector V>
HWY_INLINE V TruncDiv(V a, V b) {
  using X = LaneOf<V>;
  if constexpr (sizeof(X) == 8 || kPlainLanes) {
    return LaneByLane([](X x, X y) { return TruncDiv(x, y); }, a, b);
  } else {
    // In f64, as there is no instruction: the quotient is off by less than its distance from the
    // next integer, so it truncates to the right one.
    const V quotient = InHalves(
        [](auto x, auto y)
            HWY_ATTR { return TruncateLanes<X>(hn::Div(ToF64(x), ToF64(y))); },
        a, b);
    if constexpr (std::is_unsigned_v<X>) {
      return quotient;
    } else {
      const auto minus_one = hn::Eq(b, hn::Set(hn::DFromV<V>(), -1));
      return hn::IfThenElse(minus_one, Negate(a), quotient);  // -2^31 / -1 wraps
    }
  }
}

template <IntegerVector V>
HWY_INLINE V Rem(V a, V b) {
  return hn::Sub(a, MulOf(TruncDiv(a, b), b));
}

/// Lanes of -1 where a / b was not exact and has the sign `negative`.
template <IntegerVector V>
HWY_INLINE V WasInexact(V a, V b, V remainder, bool negative) {
  const hn::DFromV<V> d;
  const auto zero = hn::Zero(d);
  auto holds = hn::Ne(remainder, zero);
  if constexpr (std::is_signed_v<LaneOf<V>>) {
    const auto minus = hn::Lt(hn::Xor(a, b), zero);
    holds = negative ? hn::And(holds, minus) : hn::AndNot(minus, holds);
  } else if (negative) {
    return zero;
  }
  return hn::VecFromMask(d, holds);
}

template <IntegerVector V>
HWY_INLINE V FloorDiv(V a, V b) {
  const V quotient = TruncDiv(a, b);
  if constexpr (std::is_unsigned_v<LaneOf<V>>) return quotient;
  const V remainder = hn::Sub(a, MulOf(quotient, b));
  return hn::Add(quotient, WasInexact(a, b, remainder, true));
}
template <IntegerVector V>
HWY_INLINE V CeilDiv(V a, V b) {
  const V quotient = TruncDiv(a, b);
  const V remainder = hn::Sub(a, MulOf(quotient, b));
  return hn::Sub(quotient, WasInexact(a, b, remainder, false));
}
template <IntegerVector V>
HWY_INLINE V Mod(V a, V b) {
  const V remainder = Rem(a, b);
  if constexpr (std::is_unsigned_v<LaneOf<V>>) return remainder;
  return hn::Add(remainder, hn::And(WasInexact(a, b, remainder, true), b));
}

template <IntegerVector V>
HWY_INLINE V Pow(V base, V exponent) {
  const hn::DFromV<V> d;
  const auto one = hn::Set(d, LaneOf<V>{1});
  const auto zero = hn::Zero(d);
  V result = one;
  V rest = Maximum(exponent, zero);
  for (V square = base; !hn::AllFalse(d, hn::Ne(rest, zero)); square = MulOf(square, square)) {
    const auto odd = hn::Ne(hn::And(rest, one), zero);
    result = hn::IfThenElse(odd, MulOf(result, square), result);
    rest = hn::ShiftRight<1>(rest);
  }
  return result;
}

// ---- Floats.

template <FloatVector V>
HWY_INLINE V Rem(V a, V b) {
  using X = LaneOf<V>;
  return LaneByLane([](X x, X y) { return Rem(x, y); }, a, b);
}
template <FloatVector V>
HWY_INLINE V Mod(V a, V b) {
  using X = LaneOf<V>;
  return LaneByLane([](X x, X y) { return Mod(x, y); }, a, b);
}
template <FloatVector V>
HWY_INLINE V FloorDiv(V a, V b) {
  using X = LaneOf<V>;
  return LaneByLane([](X x, X y) { return FloorDiv(x, y); }, a, b);
}
template <FloatVector V>
HWY_INLINE V Pow(V a, V b) {
  using X = LaneOf<V>;
  return LaneByLane([](X x, X y) { return Pow(x, y); }, a, b);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();

#endif  // KILN_DIVIDE_INL_H_
