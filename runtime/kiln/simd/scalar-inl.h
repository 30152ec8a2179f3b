// The operations of values-inl.h and divide-inl.h on scalars. Floats are computed as the
// interpreter does; integers wrap.
#if defined(KILN_SCALAR_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_SCALAR_INL_H_
#undef KILN_SCALAR_INL_H_
#else
#define KILN_SCALAR_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/simd/represent-inl.h"

#ifndef KILN_SCALAR_ONCE_
#define KILN_SCALAR_ONCE_
#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::inline KILN_ABI {

/// Integers as unsigned ones of the same width, in which overflow is defined.
template <IntegerScalar X>
constexpr auto BitsOf(X x) {
  return static_cast<std::make_unsigned_t<X>>(x);
}

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_SCALAR_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

// ---- Bools and bits.

/// One of two vectors or masks as a whole, or of scalars.
template <class X>
HWY_INLINE X Select(bool condition, X yes, X no) {
  return condition ? yes : no;
}
template <Scalar X>
constexpr X Select(bool condition, X yes, X no) {
  return condition ? yes : no;
}
constexpr bool BothOf(bool a, bool b) { return a && b; }
constexpr bool EitherOf(bool a, bool b) { return a || b; }
constexpr bool OneOf(bool a, bool b) { return a != b; }
constexpr bool NotOf(bool a) { return !a; }

template <BitsScalar X>
constexpr X BitAnd(X a, X b) {
  return static_cast<X>(a & b);
}
template <BitsScalar X>
constexpr X BitOr(X a, X b) {
  return static_cast<X>(a | b);
}
template <BitsScalar X>
constexpr X BitXor(X a, X b) {
  return static_cast<X>(a ^ b);
}
template <BitsScalar X>
constexpr X BitNot(X a) {
  if constexpr (std::is_same_v<X, bool>) {
    return !a;
  } else {
    return ~a;
  }
}

// ---- Numbers.

template <IntegerScalar X>
constexpr X AddInt(X a, X b) {
  return static_cast<X>(BitsOf(a) + BitsOf(b));
}
template <IntegerScalar X>
constexpr X SubInt(X a, X b) {
  return static_cast<X>(BitsOf(a) - BitsOf(b));
}
template <IntegerScalar X>
constexpr X MulInt(X a, X b) {
  return static_cast<X>(BitsOf(a) * BitsOf(b));
}

template <Scalar X>
constexpr X AddOf(X a, X b) {
  if constexpr (FloatScalar<X>) {
    return a + b;
  } else {
    return AddInt(a, b);
  }
}
template <Scalar X>
constexpr X SubOf(X a, X b) {
  if constexpr (FloatScalar<X>) {
    return a - b;
  } else {
    return SubInt(a, b);
  }
}
template <Scalar X>
constexpr X MulOf(X a, X b) {
  if constexpr (FloatScalar<X>) {
    return a * b;
  } else {
    return MulInt(a, b);
  }
}
template <FloatScalar X>
constexpr X DivOf(X a, X b) {
  return a / b;
}

template <Scalar X>
constexpr X Negate(X x) {
  if constexpr (FloatScalar<X>) {
    return -x;
  } else {
    return SubInt(X{0}, x);
  }
}
template <Scalar X>
constexpr X AbsOf(X x) {
  if constexpr (FloatScalar<X>) {
    return std::fabs(x);
  } else {
    return x < X{0} ? Negate(x) : x;
  }
}
template <Scalar X>
constexpr X LargerOf(X a, X b) {
  return a > b || a != a ? a : b;
}
template <Scalar X>
constexpr X SmallerOf(X a, X b) {
  return a < b || a != a ? a : b;
}
template <Scalar X>
constexpr X Maximum(X a, X b) {
  return a != a || b != b ? static_cast<X>(a + b) : LargerOf(a, b);
}
template <Scalar X>
constexpr X Minimum(X a, X b) {
  return a != a || b != b ? static_cast<X>(a + b) : SmallerOf(a, b);
}
template <Scalar X>
constexpr X ClampTo(X x, std::type_identity_t<X> low, std::type_identity_t<X> high) {
  return Minimum(Maximum(x, low), high);
}
template <Scalar X>
constexpr X Relu(X x) {
  return Maximum(x, X{0});
}
template <Scalar X>
constexpr X Sign(X x) {
  if (x > X{0}) return X{1};
  return x < X{0} ? Negate(X{1}) : x;
}

inline float FloorOf(float x) { return std::floor(x); }
inline double FloorOf(double x) { return std::floor(x); }
inline float CeilOf(float x) { return std::ceil(x); }
inline double CeilOf(double x) { return std::ceil(x); }
inline float RoundEven(float x) { return std::nearbyint(x); }
inline double RoundEven(double x) { return std::nearbyint(x); }

template <IntegerScalar X, IntegerScalar N>
constexpr X ShiftLeftScalar(X x, N n) {
  constexpr N kWidth = 8 * sizeof(X);
  return n < N{0} || n >= kWidth ? X{0} : static_cast<X>(BitsOf(x) << n);
}
template <IntegerScalar X, IntegerScalar N>
constexpr X ShiftRightScalar(X x, N n) {
  constexpr N kWidth = 8 * sizeof(X);
  if (n >= N{0} && n < kWidth) return static_cast<X>(x >> n);
  return x < X{0} ? static_cast<X>(-1) : X{0};
}

// ---- Division. What has no value (division by 0) is 0 and never traps.

template <IntegerScalar X>
constexpr X TruncDiv(X a, X b) {
  if (b == X{0}) return X{0};
  if constexpr (std::is_signed_v<X>) {
    if (b == X{-1}) return Negate(a);
  }
  return a / b;
}
template <IntegerScalar X>
constexpr X Rem(X a, X b) {
  if (b == X{0}) return X{0};
  if constexpr (std::is_signed_v<X>) {
    if (b == X{-1}) return X{0};
  }
  return a % b;
}
/// Whether truncation was up: the quotient is negative and not exact.
template <IntegerScalar X>
constexpr bool TruncatedUp(X a, X b) {
  return Rem(a, b) != X{0} && (a < X{0}) != (b < X{0});
}
template <IntegerScalar X>
constexpr X FloorDiv(X a, X b) {
  return static_cast<X>(TruncDiv(a, b) - X{TruncatedUp(a, b)});
}
template <IntegerScalar X>
constexpr X CeilDiv(X a, X b) {
  const bool down = Rem(a, b) != X{0} && (a < X{0}) == (b < X{0});
  return static_cast<X>(TruncDiv(a, b) + X{down});
}
template <IntegerScalar X>
constexpr X Mod(X a, X b) {
  return static_cast<X>(Rem(a, b) + (TruncatedUp(a, b) ? b : X{0}));
}
template <IntegerScalar X>
constexpr X Pow(X base, X exponent) {
  auto result = BitsOf(X{1});
  for (auto square = BitsOf(base); exponent > X{0}; exponent >>= 1, square *= square) {
    if (exponent & X{1}) result *= square;
  }
  return static_cast<X>(result);
}

// Divided by 0, or to the power of a negative number, integers have no value: then they give the
// third argument.
template <IntegerScalar X>
constexpr X Rem(X a, X b, int64_t no_value) {
  return b == X{0} ? static_cast<X>(no_value) : Rem(a, b);
}
template <IntegerScalar X>
constexpr X TruncDiv(X a, X b, int64_t no_value) {
  return b == X{0} ? static_cast<X>(no_value) : TruncDiv(a, b);
}
template <IntegerScalar X>
constexpr X FloorDiv(X a, X b, int64_t no_value) {
  return b == X{0} ? static_cast<X>(no_value) : FloorDiv(a, b);
}
template <IntegerScalar X>
constexpr X CeilDiv(X a, X b, int64_t no_value) {
  return b == X{0} ? static_cast<X>(no_value) : CeilDiv(a, b);
}
template <IntegerScalar X>
constexpr X Mod(X a, X b, int64_t no_value) {
  return b == X{0} ? static_cast<X>(no_value) : Mod(a, b);
}
template <IntegerScalar X>
constexpr X Pow(X base, X exponent, int64_t no_value) {
  return exponent < X{0} ? static_cast<X>(no_value) : Pow(base, exponent);
}

inline double Rem(double a, double b) { return std::fmod(a, b); }
inline double Mod(double a, double b) {
  const double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
inline double FloorDiv(double a, double b) {
  if (b == 0) return a / b;
  if (std::isinf(b) && std::isfinite(a)) return a != 0 && (a < 0) != (b < 0) ? -1 : 0 / b;
  return std::nearbyint((a - Mod(a, b)) / b);
}
inline double Pow(double a, double b) { return std::pow(a, b); }

// Those of f32 are those of f64, rounded.
inline float Rem(float a, float b) { return std::fmod(a, b); }
inline float Mod(float a, float b) { return static_cast<float>(Mod(double{a}, double{b})); }
inline float FloorDiv(float a, float b) {
  return static_cast<float>(FloorDiv(double{a}, double{b}));
}
inline float Pow(float a, float b) { return static_cast<float>(Pow(double{a}, double{b})); }

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_SCALAR_INL_H_
