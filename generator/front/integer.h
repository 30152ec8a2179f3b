#pragma once

#include <cstdint>

/// Division of the language's integers, for a divisor that is not zero.
namespace kiln {

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

}  // namespace kiln
