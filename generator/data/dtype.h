#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln {

/// Element types of arrays and values. The last three never reach an array:
/// kIndex is the overflow-checked 64-bit arithmetic of steps, shapes and index maps;
/// the weak types are literals and their like that still wait for the other side's type.
enum class DType : uint8_t {
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kBF16,
  kF16,
  kF32,
  kF64,
  kIndex,
  kWeakInt,
  kWeakFloat,
};

/// The name used in specs: "bf16". Weak types and kIndex have descriptive names for messages.
std::string_view Name(DType dtype);
/// Array types only.
std::optional<DType> ParseDType(std::string_view name);

/// Bytes of one element in memory (bool is one byte). Array types only.
size_t SizeOf(DType dtype);

constexpr bool IsFloat(DType d) {
  return d == DType::kBF16 || d == DType::kF16 || d == DType::kF32 || d == DType::kF64 ||
         d == DType::kWeakFloat;
}
/// True for every integer type, weak and index included, but not for bool.
constexpr bool IsInteger(DType d) { return !IsFloat(d) && d != DType::kBool; }
constexpr bool IsWeak(DType d) { return d == DType::kWeakInt || d == DType::kWeakFloat; }
constexpr bool IsUnsigned(DType d) {
  return d == DType::kU8 || d == DType::kU16 || d == DType::kU32;
}

/// The smallest and largest value of an integer type (bool: 0 and 1).
int64_t MinOf(DType dtype);
int64_t MaxOf(DType dtype);

/// The type arithmetic, comparisons and functions compute in: f32 for bf16 and f16, i32 for
/// bool and the small integers, the type itself otherwise.
DType ComputeType(DType dtype);

/// Two's complement wrap of `value` into an integer type (bool: value != 0).
int64_t Wrap(int64_t value, DType dtype);
/// Rounds to the nearest value of a float type, ties to even.
double RoundTo(double value, DType dtype);
/// Truncates, saturates; NaN gives 0.
int64_t FloatToInt(double value, DType dtype);

float BF16ToFloat(uint16_t bits);
uint16_t FloatToBF16(double value);  // rounds once, from double
float F16ToFloat(uint16_t bits);
uint16_t FloatToF16(double value);  // rounds once, from double

}  // namespace kiln
