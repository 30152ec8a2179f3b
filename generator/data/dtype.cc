#include "generator/data/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace kiln {
namespace {

struct Traits {
  std::string_view name;
  size_t size;  // 0: never in memory
  int64_t min = 0;
  int64_t max = 0;
};

template <typename T>
constexpr Traits IntegerTraits(std::string_view name, size_t size = sizeof(T)) {
  return {name, size, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

constexpr size_t kDTypes = static_cast<size_t>(DType::kWeakFloat) + 1;

// In the order of the enumeration.
constexpr std::array<Traits, kDTypes> kTraits = {{
    {"bool", 1, 0, 1},
    IntegerTraits<int8_t>("i8"),
    IntegerTraits<uint8_t>("u8"),
    IntegerTraits<int16_t>("i16"),
    IntegerTraits<uint16_t>("u16"),
    IntegerTraits<int32_t>("i32"),
    IntegerTraits<uint32_t>("u32"),
    IntegerTraits<int64_t>("i64"),
    {"bf16", 2},
    {"f16", 2},
    {"f32", 4},
    {"f64", 8},
    IntegerTraits<int64_t>("integer", 0),
    IntegerTraits<int64_t>("integer", 0),
    {"float", 0},
}};

const Traits& TraitsOf(DType dtype) { return kTraits[static_cast<size_t>(dtype)]; }

// The nearest f32 with the last bit set when bits were lost ("round to odd"). A second rounding
// to a type at least two bits narrower then gives what a single one from the double would.
uint32_t RoundToOddF32(double value) {
  const float nearest = static_cast<float>(value);
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const double got = std::fabs(static_cast<double>(nearest));
  const double wanted = std::fabs(value);
  const uint32_t even = ~bits & 1;
  // NaN compares false both times and stays as it is.
  return bits + (got < wanted ? even : 0) - (got > wanted ? even : 0);
}

// Drops `shift` low bits, to nearest, ties to even. A carry into the exponent is right.
uint32_t ShiftRounding(uint32_t bits, int shift) {
  const uint32_t half_less_one = (1u << (shift - 1)) - 1;
  return (bits + half_less_one + ((bits >> shift) & 1)) >> shift;
}

constexpr uint32_t kSign = 0x80000000;
constexpr uint32_t kF32Inf = 0x7F800000;
constexpr uint32_t kF32Quiet = 0x00400000;

}  // namespace

std::string_view Name(DType dtype) { return TraitsOf(dtype).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (size_t i = 0; i < kDTypes; ++i) {
    if (kTraits[i].size > 0 && kTraits[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

size_t SizeOf(DType dtype) { return TraitsOf(dtype).size; }

int64_t MinOf(DType dtype) { return TraitsOf(dtype).min; }
int64_t MaxOf(DType dtype) { return TraitsOf(dtype).max; }

DType ComputeType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
    case DType::kI16:
    case DType::kU16:
      return DType::kI32;
    case DType::kBF16:
    case DType::kF16:
      return DType::kF32;
    default:
      return dtype;
  }
}

int64_t Wrap(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return value != 0;
    case DType::kI8:
      return static_cast<int8_t>(value);
    case DType::kU8:
      return static_cast<uint8_t>(value);
    case DType::kI16:
      return static_cast<int16_t>(value);
    case DType::kU16:
      return static_cast<uint16_t>(value);
    case DType::kI32:
      return static_cast<int32_t>(value);
    case DType::kU32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

double RoundTo(double value, DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return BF16ToFloat(FloatToBF16(value));
    case DType::kF16:
      return F16ToFloat(FloatToF16(value));
    case DType::kF32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

int64_t FloatToInt(double value, DType dtype) {
  // A bool is not a narrow integer: 0.5 and NaN are true, as numpy and C++ have it.
  if (dtype == DType::kBool) return value != 0;
  if (std::isnan(value)) return 0;
  // The bounds as doubles are exact, except 2^63 - 1, which rounds to 2^63: the first value
  // that does not fit. Hence `>=`.
  if (value >= static_cast<double>(MaxOf(dtype))) return MaxOf(dtype);
  if (value <= static_cast<double>(MinOf(dtype))) return MinOf(dtype);
  return static_cast<int64_t>(value);
}

float BF16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t FloatToBF16(double value) {
  const uint32_t bits = RoundToOddF32(value);
  const bool nan = (bits & ~kSign) > kF32Inf;
  // A NaN keeps sign and payload, made quiet so that it cannot lose its last bit.
  const uint32_t rounded = nan ? (bits | kF32Quiet) >> 16 : ShiftRounding(bits, 16);
  return static_cast<uint16_t>(rounded);
}

float F16ToFloat(uint16_t bits) {
  const uint32_t sign = (uint32_t{bits} << 16) & kSign;
  const uint32_t magnitude = (uint32_t{bits} & 0x7FFF) << 13;
  // 2^112 moves f16's exponent bias (15) to f32's (127) and is exact, subnormals included.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const bool finite = magnitude < 0x0F800000;
  const uint32_t out = finite ? std::bit_cast<uint32_t>(scaled) : magnitude | kF32Inf;
  return std::bit_cast<float>(out | sign);
}

uint16_t FloatToF16(double value) {
  const uint32_t bits = RoundToOddF32(value);
  const uint32_t sign = (bits & kSign) >> 16;
  const uint32_t magnitude = bits & ~kSign;
  if (magnitude > kF32Inf) {  // NaN: quiet, with the payload's upper bits
    return static_cast<uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  }
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);  // 65536 and inf
  if (magnitude >= 0x38800000) {  // normal: at least 2^-14
    return static_cast<uint16_t>(sign | ShiftRounding(magnitude - (112u << 23), 13));
  }
  // One unit in the last place of 0.5f is 2^-24, the spacing of f16's subnormals: the addition
  // rounds, and leaves the subnormal's bits at the bottom.
  const float sum = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.5f);
  return static_cast<uint16_t>(sign | subnormal);
}

}  // namespace kiln
