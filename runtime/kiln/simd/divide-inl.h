// Division of vectors: FloorDiv, CeilDiv, Mod, Rem, and Pow of integers; see scalar-inl.h for what
// they mean. Integers divided by 0 give any value and never trap. Pow of floats: power-inl.h.
// DivideBy: floats by the same scalar in all lanes.
#if defined(KILN_DIVIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_DIVIDE_INL_H_
#undef KILN_DIVIDE_INL_H_
#else
#define KILN_DIVIDE_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/simd/values-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
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
        [](auto x, auto y) HWY_ATTR { return TruncateLanes<X>(hn::Div(ToF64(x), ToF64(y))); }, a,
        b);
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

/// Lanes without a value hold `no_value`: those of a division by 0, of a negative exponent.
template <IntegerVector V, class M>
HWY_INLINE V Without(M lanes, int64_t no_value, V v) {
  const hn::DFromV<V> d;
  return hn::IfThenElse(lanes, hn::Set(d, static_cast<LaneOf<V>>(no_value)), v);
}
template <IntegerVector V>
HWY_INLINE V Rem(V a, V b, int64_t no_value) {
  return Without(hn::Eq(b, hn::Zero(hn::DFromV<V>())), no_value, Rem(a, b));
}
template <IntegerVector V>
HWY_INLINE V TruncDiv(V a, V b, int64_t no_value) {
  return Without(hn::Eq(b, hn::Zero(hn::DFromV<V>())), no_value, TruncDiv(a, b));
}
template <IntegerVector V>
HWY_INLINE V FloorDiv(V a, V b, int64_t no_value) {
  return Without(hn::Eq(b, hn::Zero(hn::DFromV<V>())), no_value, FloorDiv(a, b));
}
template <IntegerVector V>
HWY_INLINE V CeilDiv(V a, V b, int64_t no_value) {
  return Without(hn::Eq(b, hn::Zero(hn::DFromV<V>())), no_value, CeilDiv(a, b));
}
template <IntegerVector V>
HWY_INLINE V Mod(V a, V b, int64_t no_value) {
  return Without(hn::Eq(b, hn::Zero(hn::DFromV<V>())), no_value, Mod(a, b));
}
template <IntegerVector V>
HWY_INLINE V Pow(V base, V exponent, int64_t no_value) {
  const V power = Pow(base, exponent);
  if constexpr (std::is_unsigned_v<LaneOf<V>>) return power;
  return Without(hn::Lt(exponent, hn::Zero(hn::DFromV<V>())), no_value, power);
}

// ---- Floats.

/// Whether products with the reciprocal of a divisor are as exact as those of other floats.
template <FloatScalar X>
HWY_INLINE bool HasReciprocal(X divisor) {
  constexpr X kLeast = std::is_same_v<X, float> ? X(0x1p-100f) : X(0x1p-900);
  return divisor >= kLeast && divisor <= 1 / kLeast;
}

/// v / divisor. A division keeps the core busy for as long as twenty other instructions; where one
/// divisor serves a whole loop, the compiler moves its reciprocal out of that, and a product with
/// it, corrected by what it leaves as remainder, is the nearest quotient, but for one in millions
/// of those halfway between two floats (0.5001 ulp). Dividends and quotients below 2^-100 of f32,
/// and a quotient that is nearly infinite, are within one ulp. Negative divisors, which are rare,
/// divide.
template <FloatVector V>
HWY_INLINE V DivideBy(V v, LaneOf<V> divisor) {
  const hn::DFromV<V> d;
  const V all = hn::Set(d, divisor);
#if HWY_NATIVE_FMA
  // In front of the condition, so that a compiler may take it out of a loop.
  const V reciprocal = hn::Set(d, 1 / divisor);
  if (HWY_LIKELY(HasReciprocal(divisor))) {
    const V quotient = hn::Mul(v, reciprocal);
    const V excess = hn::MulSub(quotient, all, v);
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
    // More than any remainder. Infinities stay what they are with whatever is finite, and of a NaN
    // the instruction gives the second argument.
    const V most = hn::Set(d, sizeof(divisor) == 4 ? LaneOf<V>(0x1p120f) : LaneOf<V>(0x1p1000));
    const V remainder = hn::Max(hn::Min(excess, most), hn::Neg(most));
    return hn::NegMulAdd(remainder, reciprocal, quotient);
#else
    // False for zeros, infinities and NaN, of which the product is right.
#if HWY_ARCH_X86
    const auto is_excess = hn::Ne(excess, quotient);  // which is false for NaN there
#else
    const auto is_excess = hn::Lt(hn::Abs(excess), hn::Abs(v));
#endif
    return hn::IfThenElse(is_excess, hn::NegMulAdd(excess, reciprocal, quotient), quotient);
#endif
  }
#endif
  return hn::Div(v, all);
}

/// The remainder of truncating division, of f32 as f64: exact, unless a lane of `inexact` is set.
template <FloatVector V, class M>
HWY_INLINE V RemOfF32(V a, V b, M& inexact) {
  const hn::DFromV<V> d;
  const V x = hn::Abs(a);
  const V y = hn::Abs(b);
  const V quotient = hn::Div(x, y);
  // Of 29 bits, times the 24 of y, is exact. Otherwise, or if y is infinite, or one NaN or 0 / 0:
  const auto exact = hn::And(hn::Lt(quotient, hn::Set(d, 0x1p29)),
                             hn::Lt(y, hn::Set(d, std::numeric_limits<double>::infinity())));
  inexact = hn::Not(exact);
  const V rest = hn::Sub(x, hn::Mul(hn::Floor(quotient), y));
  // The quotient may have been rounded up to an integer.
  return CopySignOf(hn::IfThenElse(hn::Lt(rest, hn::Zero(d)), hn::Add(rest, y), rest), a);
}

/// The remainder with the divisor's sign, for that of truncating division.
template <FloatVector V>
HWY_INLINE V ModOfRem(V rest, V b) {
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d);
  const auto negative = hn::Lt(rest, zero);
  const auto other_sign = hn::Xor(negative, hn::Lt(b, zero));
  const V mod = hn::IfThenElse(other_sign, hn::Add(rest, b), rest);
  return hn::IfThenElse(hn::Eq(rest, zero), CopySignOf(zero, b), mod);
}

/// f32 results of `wide`, a function of f64 vectors of two lanes' remainder, or of `plain` of all
/// lanes if that is not exact for one.
template <FloatVector V, class Wide, class Plain>
HWY_INLINE V DivideFloats(V a, V b, [[maybe_unused]] Wide wide, Plain plain) {
  if constexpr (std::is_same_v<LaneOf<V>, double> || kPlainLanes) {
    return LaneByLane(plain, a, b);
  } else {
    return InHalves(
        [wide, plain](auto x, auto y) HWY_ATTR {
          const auto p = ToF64(x);
          const auto q = ToF64(y);
          const hn::DFromV<decltype(p)> d;
          hn::Mask<decltype(d)> inexact;
          const auto rest = RemOfF32(p, q, inexact);
          if (HWY_UNLIKELY(!hn::AllFalse(d, inexact))) return LaneByLane(plain, x, y);
          return NearestF32(wide(p, q, rest));
        },
        a, b);
  }
}

template <FloatVector V>
HWY_INLINE V Rem(V a, V b) {
  using X = LaneOf<V>;
  return DivideFloats(
      a, b, [](auto, auto, auto rest) HWY_ATTR { return rest; },
      [](X x, X y) { return Rem(x, y); });
}
template <FloatVector V>
HWY_INLINE V Mod(V a, V b) {
  using X = LaneOf<V>;
  return DivideFloats(
      a, b, [](auto, auto q, auto rest) HWY_ATTR { return ModOfRem(rest, q); },
      [](X x, X y) { return Mod(x, y); });
}
template <FloatVector V>
HWY_INLINE V FloorDiv(V a, V b) {
  using X = LaneOf<V>;
  return DivideFloats(
      a, b,
      [](auto p, auto q, auto rest)
          HWY_ATTR { return RoundEven(hn::Div(hn::Sub(p, ModOfRem(rest, q)), q)); },
      [](X x, X y) { return FloorDiv(x, y); });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_DIVIDE_INL_H_
