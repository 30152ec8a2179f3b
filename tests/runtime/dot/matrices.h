// Matrices of small integers, or of integers that wrap, so that every product of them is exact.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kiln/core/tile.h"
#include "kiln/core/types.h"

namespace kiln::dot_test {

inline bf16 MakeBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return std::bit_cast<bf16>(static_cast<uint16_t>(bits >> 16));
}
inline f16 MakeF16(float value) {  // of small integers
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const auto exponent = static_cast<int32_t>(bits >> 23 & 0xFF) - 127 + 15;
  const auto half = static_cast<uint16_t>(value == 0 ? 0
                                                     : (bits >> 31 << 15) |
                                                           static_cast<uint32_t>(exponent << 10) |
                                                           (bits >> 13 & 0x3FF));
  f16 element;  // a number on Arm, which braces would convert to
  std::memcpy(&element, &half, sizeof(element));
  return element;
}

template <typename T>
T MakeElement(int64_t value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return MakeBf16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, f16>) {
    return MakeF16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// A matrix of integers, and its elements of T in memory with gaps and in either order.
template <typename T>
struct Matrix {
  std::vector<int64_t> values;
  std::vector<T> elements;
  Tile<const T, 2> tile;
  size_t cols;

  int64_t operator()(size_t r, size_t c) const { return values[r * cols + c]; }
};

template <typename T>
Matrix<T> Random(std::mt19937& random, size_t rows, size_t columns, bool transposed, int64_t step) {
  int64_t low = -8, high = 8;
  if constexpr (std::is_integral_v<T>) {
    low = std::numeric_limits<T>::min();
    high = std::numeric_limits<T>::max();
  }
  std::uniform_int_distribution<int64_t> any(low, high);
  Matrix<T> matrix;
  matrix.cols = columns;
  const auto stride = static_cast<int64_t>(transposed ? rows : columns) * step + 3;
  // Exactly as long as needed, so that a sanitizer sees reads past the end.
  const size_t last = ((transposed ? columns : rows) - 1) * static_cast<size_t>(stride) +
                      ((transposed ? rows : columns) - 1) * static_cast<size_t>(step);
  matrix.elements.resize(last + 1);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      matrix.values.push_back(any(random));
      const size_t at = transposed
                            ? c * static_cast<size_t>(stride) + r * static_cast<size_t>(step)
                            : r * static_cast<size_t>(stride) + c * static_cast<size_t>(step);
      matrix.elements[at] = MakeElement<T>(matrix.values.back());
    }
  }
  matrix.tile.data = matrix.elements.data();
  matrix.tile.stride = {stride, step};
  return matrix;
}

/// The first wrong element, or nothing.
template <typename Acc, typename A, typename B>
std::string FirstError(const Matrix<A>& a, const Matrix<B>& b, const std::vector<Acc>& z, size_t m,
                       size_t k, size_t n) {
  for (size_t r = 0; r < m; ++r) {
    for (size_t c = 0; c < n; ++c) {
      uint64_t sum = 0;  // wraps
      for (size_t i = 0; i < k; ++i) {
        sum += static_cast<uint64_t>(a(r, i)) * static_cast<uint64_t>(b(i, c));
      }
      Acc expected;
      if constexpr (std::is_integral_v<Acc>) {
        expected = static_cast<Acc>(static_cast<uint32_t>(sum));
      } else {
        expected = static_cast<Acc>(static_cast<int64_t>(sum));
      }
      if (z[r * n + c] != expected) {
        return std::to_string(m) + "a" + std::to_string(k) + "a" + std::to_string(n) + " (" +
               std::to_string(r) + ", " + std::to_string(c) + "): " + std::to_string(z[r * n + c]) +
               ", not " + std::to_string(expected);
      }
    }
  }
  return "";
}

}  // namespace kiln::dot_test
