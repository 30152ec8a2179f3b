// Elements of arrays, and arithmetic of sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/base.h"

namespace kiln {

using bf16 = hwy::bfloat16_t;
using f16 = hwy::float16_t;

/// Elements as they are stored; a bool is one byte, 0 or 1.
enum class Dtype : int32_t {
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kBf16,
  kF16,
  kF32,
  kF64
};

// clang-format off
template <typename T> struct DtypeTraits;
template <> struct DtypeTraits<bool>     { static constexpr Dtype kDtype = Dtype::kBool; };
template <> struct DtypeTraits<int8_t>   { static constexpr Dtype kDtype = Dtype::kI8; };
template <> struct DtypeTraits<uint8_t>  { static constexpr Dtype kDtype = Dtype::kU8; };
template <> struct DtypeTraits<int16_t>  { static constexpr Dtype kDtype = Dtype::kI16; };
template <> struct DtypeTraits<uint16_t> { static constexpr Dtype kDtype = Dtype::kU16; };
template <> struct DtypeTraits<int32_t>  { static constexpr Dtype kDtype = Dtype::kI32; };
template <> struct DtypeTraits<uint32_t> { static constexpr Dtype kDtype = Dtype::kU32; };
template <> struct DtypeTraits<int64_t>  { static constexpr Dtype kDtype = Dtype::kI64; };
template <> struct DtypeTraits<bf16>     { static constexpr Dtype kDtype = Dtype::kBf16; };
template <> struct DtypeTraits<f16>      { static constexpr Dtype kDtype = Dtype::kF16; };
template <> struct DtypeTraits<float>    { static constexpr Dtype kDtype = Dtype::kF32; };
template <> struct DtypeTraits<double>   { static constexpr Dtype kDtype = Dtype::kF64; };
// clang-format on

template <typename T>
constexpr Dtype kDtypeOf = DtypeTraits<std::remove_const_t<T>>::kDtype;

/// "bf16"
constexpr const char* NameOf(Dtype dtype) {
  constexpr const char* kNames[] = {"bool", "i8",  "u8",   "i16", "u16", "i32",
                                    "u32",  "i64", "bf16", "f16", "f32", "f64"};
  return kNames[static_cast<size_t>(dtype)];
}

/// Whether NaN marks what is undefined.
template <typename T>
constexpr bool kIsFloating =
    std::is_floating_point_v<T> || std::is_same_v<T, bf16> || std::is_same_v<T, f16>;

/// A count of elements as a coordinate, and back.
constexpr int64_t Signed(size_t count) { return static_cast<int64_t>(count); }
constexpr size_t Unsigned(int64_t count) { return static_cast<size_t>(count); }

/// a / b rounded up, of a >= 0 and b > 0.
template <typename T>
constexpr T DivUp(T a, std::type_identity_t<T> b) {
  return a / b + static_cast<T>(a % b != 0);
}

/// The smallest multiple of b that is at least a.
template <typename T>
constexpr T RoundUp(T a, std::type_identity_t<T> b) {
  return DivUp(a, b) * b;
}

}  // namespace kiln
