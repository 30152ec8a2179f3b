// Elements of arrays, and arithmetic of sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/base.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

using bf16 = hwy::bfloat16_t;
using f16 = hwy::float16_t;

/// Floats of 8 bits: a sign, 4 bits of exponent and 3 of mantissa, no infinities and one NaN; and
/// 5 bits of exponent and 2 of mantissa, as f16 has them.
struct f8e4m3fn {
  uint8_t bits;
};
struct f8e5m2 {
  uint8_t bits;
};
/// 2 to the power of `bits` - 127, but that all ones are a NaN: no sign, no zero.
struct f8e8m0fnu {
  uint8_t bits;
};

/// Integers of 4 bits, of which memory has two a byte: see packed.h. Such a value stands alone only
/// where one is handed over, as a pad, and its upper bits then mean nothing.
struct i4 {
  int8_t value;
};
struct u4 {
  uint8_t value;
};

/// Elements as they are stored; a bool is one byte, 0 or 1.
enum class Dtype : int32_t {
#define KILN_DTYPE(dtype, type, name, code, bits, mantissa) dtype,
#include "kiln/core/dtypes.def"
};

/// a / b rounded up, of a >= 0 and b > 0.
template <typename T>
constexpr T DivUp(T a, std::type_identity_t<T> b) {
  return a / b + static_cast<T>(a % b != 0);
}

/// What a row says of its type; others (the bytes of any array) are no floats.
template <typename T>
struct DtypeTraits {
  static constexpr int kMantissa = -1;
  static constexpr size_t kBits = 8 * sizeof(T);
};
#define KILN_DTYPE(dtype, type, name, code, bits, mantissa)                 \
  template <>                                                               \
  struct DtypeTraits<type> {                                                \
    static constexpr Dtype kDtype = Dtype::dtype;                           \
    static constexpr int kMantissa = mantissa;                              \
    static constexpr size_t kBits = bits;                                   \
    static_assert(DivUp(bits, 8) == int{sizeof(type)}, "the row of " name); \
  };
#include "kiln/core/dtypes.def"

template <typename T>
constexpr Dtype kDtypeOf = DtypeTraits<std::remove_const_t<T>>::kDtype;

/// "bf16"
constexpr const char* NameOf(Dtype dtype) {
  constexpr const char* kNames[] = {
#define KILN_DTYPE(dtype, type, name, code, bits, mantissa) name,
#include "kiln/core/dtypes.def"
  };
  return kNames[static_cast<size_t>(dtype)];
}

/// Whether T is a float.
template <typename T>
constexpr bool kIsFloating = DtypeTraits<T>::kMantissa >= 0;

/// How many bits an element takes, …
template <typename T>
constexpr size_t kBitsOf = DtypeTraits<std::remove_const_t<T>>::kBits;
/// … whether a byte holds several, …
template <typename T>
constexpr bool kIsPacked = kBitsOf<T> < 8;
/// … and the bytes of so many of them side by side.
constexpr size_t BytesOf(size_t elements, size_t bits) { return DivUp(elements * bits, 8); }
template <typename T>
constexpr size_t BytesFor(size_t elements) {
  return BytesOf(elements, kBitsOf<T>);
}

/// A float that is held as f32 wherever it is not stored.
template <typename T>
constexpr bool kIsNarrowFloat = kIsFloating<T> && sizeof(T) < 4;

/// A float that has powers of two alone.
template <typename T>
constexpr bool kIsPower = DtypeTraits<T>::kMantissa == 0;

/// Whether NaN marks what is undefined: those of fewer bits have no room for a mark.
template <typename T>
constexpr bool kMarksUndefined = kIsFloating<T> && sizeof(T) > 1;

/// A count of elements as a coordinate, and back.
constexpr int64_t Signed(size_t count) { return static_cast<int64_t>(count); }
constexpr size_t Unsigned(int64_t count) { return static_cast<size_t>(count); }

/// The smallest multiple of b that is at least a.
template <typename T>
constexpr T RoundUp(T a, std::type_identity_t<T> b) {
  return DivUp(a, b) * b;
}

namespace internal {

/// Copies one by one what was just written in pieces: a vector that is loaded from there has to
/// wait until everything that was stored before has reached the cache, which is a third of a small
/// step.
template <class Array>
constexpr void CopyEach(const Array& from, Array* to) {
  for (size_t i = 0; i < from.size(); ++i) (*to)[i] = from[i];
}

}  // namespace internal

}  // namespace kiln::inline KILN_ABI

/// What <limits> says of integers.
template <>
struct std::numeric_limits<kiln::i4> {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = true;
  static constexpr int8_t min() { return -8; }
  static constexpr int8_t lowest() { return -8; }
  static constexpr int8_t max() { return 7; }
};
template <>
struct std::numeric_limits<kiln::u4> {
  static constexpr bool is_specialized = true, is_signed = false, is_integer = true;
  static constexpr uint8_t min() { return 0; }
  static constexpr uint8_t lowest() { return 0; }
  static constexpr uint8_t max() { return 15; }
};
