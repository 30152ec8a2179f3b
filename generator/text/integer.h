#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

/// Arithmetic of the language's integers. Sizes come from users, so that any sum or product of them
/// may not fit 64 bits: what only has to be compared saturates, what must be right is optional.
namespace kiln {

// Division, for a divisor that is not zero.

inline int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

inline int64_t CeilDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q * b != a && (a < 0) == (b < 0) ? q + 1 : q;
}

inline int64_t FloorModulo(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional<int64_t>(sum);
}

inline std::optional<int64_t> CheckedMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional<int64_t>(product);
}

/// The least common multiple of two positive numbers.
inline std::optional<int64_t> CheckedLcm(int64_t a, int64_t b) {
  return CheckedMultiply(a / std::gcd(a, b), b);
}

/// The smallest multiple of `unit`, which is positive, that is not below `value`.
inline std::optional<int64_t> CheckedRoundUp(int64_t value, int64_t unit) {
  return CheckedMultiply(CeilDivide(value, unit), unit);
}

/// The nearest number there is, where the sum does not fit.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  constexpr auto kMin = std::numeric_limits<int64_t>::min();
  constexpr auto kMax = std::numeric_limits<int64_t>::max();
  return CheckedAdd(a, b).value_or(b < 0 ? kMin : kMax);
}

inline int64_t SaturatingMultiply(int64_t a, int64_t b) {
  constexpr auto kMin = std::numeric_limits<int64_t>::min();
  constexpr auto kMax = std::numeric_limits<int64_t>::max();
  return CheckedMultiply(a, b).value_or((a < 0) != (b < 0) ? kMin : kMax);
}

}  // namespace kiln
