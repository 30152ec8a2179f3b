#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// Element types of arrays and values, a row of dtypes.def each. Those of values alone come last:
/// they never reach an array.
enum class DType : uint8_t {
#define KILN_DTYPE(dtype, name, ...) dtype,
#define KILN_VALUE_TYPE(dtype, name, ...) dtype,
#include "generator/data/dtypes.def"
};

enum class DTypeKind : uint8_t { kBool, kSigned, kUnsigned, kFloat };
/// What a dot can multiply: two types of one kind, to f32, i32 or f64.
enum class DotKind : uint8_t { kNone, kFloats, kIntegers, kDoubles };

/// What there is to say of a dtype, once.
struct DTypeRow {
  DType dtype = DType::kF32;
  std::string_view name;  // in specs; of a type of values, in messages
  DTypeKind kind = DTypeKind::kSigned;
  int bits = 0;  // in memory; 0: never there
  // Of a float: its fields, and whether the largest exponent has infinities.
  int exponent = 0, mantissa = 0;
  bool infinite = true;
  bool powers = false;          // powers of two alone: no sign, no zero, no fraction
  DType compute = DType::kF32;  // what arithmetic, comparisons and functions compute in
  // In generated code: how elements are stored, and whether that type is of the namespace kiln.
  std::string_view cpp;
  bool of_kiln = false;
  // Of others: the name in NumPy, ml_dtypes and JAX, the letters of a .npy header, if NumPy has
  // any, whether such files hold the bits as integers, and the code of DLPack.
  std::string_view numpy = {};
  std::string_view npy = {};
  bool as_bits = false;
  int dlpack = 0;
  DotKind dots = DotKind::kNone;
  /// What a matmul unit multiplies that does not know this type; the type itself: nothing.
  std::optional<DType> multiplied_as = std::nullopt;
  int tpu_bits = 0;                   // in VMEM, where they differ from `bits`
  std::string_view tpu_problem = {};  // why a TPU has no such values …
  std::string_view tpu_hint = {};     // … and what to do

  constexpr bool in_arrays() const { return bits > 0; }
  /// Of one element alone.
  constexpr int bytes() const { return (bits + 7) / 8; }
};

inline constexpr DTypeRow kDTypeRows[] = {
#define KILN_DTYPE(dtype_, name_, ...) {.dtype = DType::dtype_, .name = name_, __VA_ARGS__},
#define KILN_VALUE_TYPE(dtype_, name_, ...) {.dtype = DType::dtype_, .name = name_, __VA_ARGS__},
#include "generator/data/dtypes.def"
};
constexpr const DTypeRow& RowOf(DType dtype) { return kDTypeRows[static_cast<size_t>(dtype)]; }

/// The names of array types, with a blank between them.
inline constexpr std::string_view kDTypeNames =
#define KILN_DTYPE(dtype, name, ...) " " name
#include "generator/data/dtypes.def"
    ;

/// The name used in specs: "bf16". Weak types and kIndex have descriptive names for messages.
constexpr std::string_view Name(DType dtype) { return RowOf(dtype).name; }
/// Array types only.
std::optional<DType> ParseDType(std::string_view name);
/// The array types, in the order of their rows.
const std::vector<DType>& ArrayTypes();
/// For a hint, where `name` is no dtype: the one that JAX or NumPy has by that name, or empty.
std::string_view DTypeOfOthers(std::string_view name);

/// Bytes of one element in an Array: a bool is one byte, and so is what has 4 bits. Array types
/// only.
constexpr size_t SizeOf(DType dtype) { return static_cast<size_t>(RowOf(dtype).bytes()); }

/// Types of which a kernel's memory has several elements in a byte, the first in its low bits.
constexpr bool IsPacked(DType dtype) { return RowOf(dtype).in_arrays() && RowOf(dtype).bits < 8; }
/// Bytes of a row in a kernel's memory; the last one may be half used.
constexpr int64_t RowBytes(DType dtype, int64_t elements) {
  if (IsPacked(dtype)) return elements / 2 + elements % 2;
  int64_t bytes = 0;
  return __builtin_mul_overflow(elements, int64_t{RowOf(dtype).bytes()}, &bytes) ? INT64_MAX
                                                                                 : bytes;
}

constexpr bool IsFloat(DType d) { return RowOf(d).kind == DTypeKind::kFloat; }
/// True for every integer type, weak and index included, but not for bool.
constexpr bool IsInteger(DType d) {
  return RowOf(d).kind == DTypeKind::kSigned || RowOf(d).kind == DTypeKind::kUnsigned;
}
constexpr bool IsUnsigned(DType d) { return RowOf(d).kind == DTypeKind::kUnsigned; }
constexpr bool IsWeak(DType d) { return d == DType::kWeakInt || d == DType::kWeakFloat; }
/// Floats that are held as f32 wherever they are not stored.
constexpr bool IsNarrowFloat(DType d) {
  return IsFloat(d) && RowOf(d).bits > 0 && RowOf(d).bits < 32;
}
/// Whether a NaN in undefined memory can be distinguished from others: 8 bits have no room for a
/// mark.
constexpr bool TellsUndefined(DType d) { return IsFloat(d) && RowOf(d).bits > 8; }
/// Types whose vectors have lanes of 64 bits.
constexpr bool IsWide(DType d) { return RowOf(d).bits == 64; }
/// Whether each value of a float type is one of another; bf16 has 2^-127 as a subnormal.
constexpr bool Holds(DType wide, DType narrow) {
  return RowOf(wide).exponent >= RowOf(narrow).exponent &&
         RowOf(wide).mantissa >= RowOf(narrow).mantissa &&
         (RowOf(wide).infinite || !RowOf(narrow).infinite);
}
/// The distance from 1 to the next float.
double EpsilonOf(DType dtype);
/// The greatest and the least value of a float type: its infinities, if it has them.
double GreatestFloat(DType dtype);
double LeastFloat(DType dtype);

/// The smallest and largest value of an integer type (bool: 0 and 1).
int64_t MinOf(DType dtype);
int64_t MaxOf(DType dtype);

/// The type arithmetic, comparisons and functions compute in: f32 for the narrow floats, i32 for
/// bool and the small integers, the type itself otherwise.
constexpr DType ComputeType(DType dtype) { return RowOf(dtype).compute; }

/// Two's complement wrap of `value` into an integer type (bool: value != 0).
int64_t Wrap(int64_t value, DType dtype);
/// Rounds to the nearest value of a float type, ties to even; to powers of two as FloatToPower
/// does.
double RoundTo(double value, DType dtype);
/// Truncates, saturates; NaN gives 0.
int64_t FloatToInt(double value, DType dtype);

float BF16ToFloat(uint16_t bits);
uint16_t FloatToBF16(double value);  // rounds once, from double
float F16ToFloat(uint16_t bits);
uint16_t FloatToF16(double value);  // rounds once, from double

/// The value that a float type's bits stand for, and the bits nearest to a value, rounded once. A
/// NaN keeps its sign. What is too large for a type without infinities is a NaN, and so is what is
/// not positive for a type of powers.
double FloatFromBits(uint64_t bits, DType dtype);
uint64_t BitsOfFloat(double value, DType dtype);

}  // namespace kiln
