#include "generator/data/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "generator/data/codec.h"

namespace kiln {
namespace {

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
constexpr uint8_t kPowerNan = 0xFF;

/// A float of few bits, by the fields of its row, in plain arithmetic of doubles.
class SmallFloat {
 public:
  explicit SmallFloat(const DTypeRow& row) : row_(row), least_(2 - (1 << (row.exponent - 1))) {}

  /// The bits of the largest finite value: all below the infinity; or below the one NaN that a
  /// type without infinities has.
  uint32_t largest() const { return (row_.infinite ? infinity() : nan()) - 1; }

  double Decode(uint32_t bits) const {
    const uint32_t magnitude = bits & (sign() - 1);
    const double value = magnitude > largest() ? OfSpecial(magnitude) : OfFinite(magnitude);
    return (bits & sign()) != 0 ? -value : value;
  }

  uint32_t Encode(double value) const {
    const uint32_t sign_bit = std::signbit(value) ? sign() : 0;
    return sign_bit | (std::isnan(value) ? nan() : Magnitude(std::fabs(value)));
  }

 private:
  uint32_t sign() const { return 1u << (row_.bits - 1); }
  uint32_t infinity() const { return ((1u << row_.exponent) - 1) << row_.mantissa; }
  /// A quiet one with no payload; the only one, of a type without infinities.
  uint32_t nan() const {
    return row_.infinite ? infinity() | 1u << (row_.mantissa - 1) : sign() - 1;
  }

  double OfSpecial(uint32_t magnitude) const {
    const bool infinite = row_.infinite && magnitude == infinity();
    return infinite ? std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::quiet_NaN();
  }
  double OfFinite(uint32_t magnitude) const {
    const int field = static_cast<int>(magnitude >> row_.mantissa);
    const uint32_t fraction = magnitude & ((1u << row_.mantissa) - 1);
    const uint32_t one = field > 0 ? 1u << row_.mantissa : 0;
    const int exponent = least_ + std::max(field - 1, 0);
    return std::ldexp(one | fraction, exponent - row_.mantissa);
  }

  uint32_t Magnitude(double value) const {
    const uint32_t overflow = row_.infinite ? infinity() : nan();
    if (value == 0) return 0;
    const int exponent = std::isinf(value) ? 1024 : std::max(std::ilogb(value), least_);
    // Far beyond what is counted in 32 bits.
    if (exponent > least_ + (1 << row_.exponent)) return overflow;
    // In units of the last place, to nearest, ties to even; a carry into the exponent is right.
    const double units = std::nearbyint(std::ldexp(value, row_.mantissa - exponent));
    const uint32_t bits =
        (static_cast<uint32_t>(exponent - least_) << row_.mantissa) + static_cast<uint32_t>(units);
    return bits > largest() ? overflow : bits;
  }

  const DTypeRow& row_;
  const int least_;  // the exponent of the smallest normal value
};

/// An unsigned integer of the same size.
template <typename Stored>
using BitsLike = std::conditional_t<
    sizeof(Stored) == 8, uint64_t,
    std::conditional_t<sizeof(Stored) == 4, uint32_t,
                       std::conditional_t<sizeof(Stored) == 2, uint16_t, uint8_t>>>;

}  // namespace

std::optional<DType> ParseDType(std::string_view name) {
  for (const DTypeRow& row : kDTypeRows) {
    if (row.in_arrays() && row.name == name) return row.dtype;
  }
  return std::nullopt;
}

const std::vector<DType>& ArrayTypes() {
  static const std::vector<DType> types = {
#define KILN_DTYPE(dtype, name, ...) DType::dtype,
#include "generator/data/dtypes.def"
  };
  return types;
}

std::string_view DTypeOfOthers(std::string_view name) {
  for (const DTypeRow& row : kDTypeRows) {
    if (row.in_arrays() && row.numpy == name) return row.name;
  }
  return {};
}

double EpsilonOf(DType dtype) { return std::ldexp(1.0, -RowOf(dtype).mantissa); }

double GreatestFloat(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  if (row.infinite) return std::numeric_limits<double>::infinity();
  return FloatFromBits(row.powers ? kPowerNan - 1 : SmallFloat(row).largest(), dtype);
}

double LeastFloat(DType dtype) {
  return RowOf(dtype).powers ? PowerToFloat(0) : -GreatestFloat(dtype);
}

int64_t MinOf(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  if (row.kind != DTypeKind::kSigned) return 0;
  return row.in_arrays() ? -MaxOf(dtype) - 1 : std::numeric_limits<int64_t>::min();
}

int64_t MaxOf(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  switch (row.kind) {
    case DTypeKind::kBool:
      return 1;
    case DTypeKind::kSigned:
      return std::numeric_limits<int64_t>::max() >> (row.in_arrays() ? 64 - row.bits : 0);
    case DTypeKind::kUnsigned:
      return (int64_t{1} << row.bits) - 1;
    case DTypeKind::kFloat:
      return 0;
  }
  __builtin_unreachable();
}

int64_t Wrap(int64_t value, DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  if (row.kind == DTypeKind::kBool) return value != 0;
  if (!row.in_arrays() || row.kind == DTypeKind::kFloat) return value;
  const int drop = 64 - row.bits;
  const uint64_t upper = static_cast<uint64_t>(value) << drop;
  return row.kind == DTypeKind::kSigned ? static_cast<int64_t>(upper) >> drop
                                        : static_cast<int64_t>(upper >> drop);
}

double RoundTo(double value, DType dtype) {
  return RowOf(dtype).in_arrays() ? FloatFromBits(BitsOfFloat(value, dtype), dtype) : value;
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

double F8ToFloat(uint8_t bits, DType dtype) { return SmallFloat(RowOf(dtype)).Decode(bits); }

uint8_t FloatToF8(double value, DType dtype) {
  return static_cast<uint8_t>(SmallFloat(RowOf(dtype)).Encode(value));
}

double PowerToFloat(uint8_t bits) {
  return bits == kPowerNan ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

uint8_t FloatToPower(double value) {
  const float nearest = static_cast<float>(value);
  if (!(nearest > 0)) return kPowerNan;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  // Half a step goes up. Where f32 has subnormals they all do from 2^-127 on, which itself is one.
  const uint32_t half = 0x00400000 - (bits == 0x00400000);
  return static_cast<uint8_t>((bits + half) >> 23);  // of an infinity 255, a NaN
}

double FloatFromBits(uint64_t bits, DType dtype) {
  double value = 0;
  WithFloatCodec(dtype, [&](auto codec) {
    using Stored = typename decltype(codec)::Stored;
    value = codec.Load(std::bit_cast<Stored>(static_cast<BitsLike<Stored>>(bits)));
  });
  return value;
}

uint64_t BitsOfFloat(double value, DType dtype) {
  uint64_t bits = 0;
  WithFloatCodec(dtype, [&](auto codec) {
    const auto stored = codec.Store(value);
    bits = std::bit_cast<BitsLike<decltype(stored)>>(stored);
  });
  return bits;
}

}  // namespace kiln
