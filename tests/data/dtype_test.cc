#include "generator/data/dtype.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.h"

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A 16-bit float format, and a way to round to it that shares nothing with the library's.
struct Format {
  int mantissa;    // bits stored
  int least;       // exponent of the smallest normal number
  double largest;  // finite
  float (*decode)(uint16_t);
  uint16_t (*encode)(double);

  double Round(double x) const {
    if (std::isnan(x) || std::isinf(x) || x == 0) return x;
    const int exponent = std::max(std::ilogb(x), least);
    // nearbyint works in the default mode, to nearest, ties to even.
    const double rounded =
        std::ldexp(std::nearbyint(std::ldexp(x, mantissa - exponent)), exponent - mantissa);
    return std::fabs(rounded) > largest ? std::copysign(kInf, x) : rounded;
  }
};

const Format kFormats[] = {
    {10, -14, 65504, F16ToFloat, FloatToF16},
    {7, -126, 0x1.FEp127, BF16ToFloat, FloatToBF16},
};

bool SameValue(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST_CASE("dtypes have names, and only arrays' can be written") {
  for (const char* name : {"bool", "i4", "u4", "i8", "u8", "i16", "u16", "i32", "u32", "i64",
                           "f8e4m3fn", "f8e5m2", "f8e8m0fnu", "bf16", "f16", "f32", "f64"}) {
    REQUIRE(ParseDType(name));
    CHECK(Name(*ParseDType(name)) == name);
    CHECK(SizeOf(*ParseDType(name)) > 0);
  }
  for (const DType dtype : {DType::kIndex, DType::kWeakInt, DType::kWeakFloat}) {
    CHECK_FALSE(ParseDType(Name(dtype)));
  }
  for (const char* name : {"", "F32", "f32 ", "u64", "int32", "float"})
    CHECK_FALSE(ParseDType(name));
}

TEST_CASE("integer types have bounds, and wrap at them") {
  CHECK(MinOf(DType::kI4) == -8);
  CHECK(MaxOf(DType::kI4) == 7);
  CHECK(MaxOf(DType::kU4) == 15);
  CHECK(MinOf(DType::kI8) == -128);
  CHECK(MaxOf(DType::kU32) == 4294967295);
  CHECK(MaxOf(DType::kI64) == std::numeric_limits<int64_t>::max());
  CHECK(MaxOf(DType::kIndex) == std::numeric_limits<int64_t>::max());
  CHECK(MaxOf(DType::kBool) == 1);
  for (const DType dtype : {DType::kI4, DType::kU4, DType::kI8, DType::kU8, DType::kI16,
                            DType::kU16, DType::kI32, DType::kU32}) {
    CHECK(Wrap(MaxOf(dtype) + 1, dtype) == MinOf(dtype));
    CHECK(Wrap(MinOf(dtype) - 1, dtype) == MaxOf(dtype));
    CHECK(Wrap(MaxOf(dtype), dtype) == MaxOf(dtype));
  }
  CHECK(Wrap(-7, DType::kI64) == -7);
  CHECK(Wrap(256, DType::kBool) == 1);
}

TEST_CASE("small types compute in wider ones") {
  CHECK(ComputeType(DType::kBF16) == DType::kF32);
  CHECK(ComputeType(DType::kU16) == DType::kI32);
  CHECK(ComputeType(DType::kBool) == DType::kI32);
  CHECK(ComputeType(DType::kU32) == DType::kU32);
  CHECK(ComputeType(DType::kF64) == DType::kF64);
  CHECK(ComputeType(DType::kWeakInt) == DType::kWeakInt);
}

TEST_CASE("floats to integers truncate and saturate, and NaN is 0") {
  CHECK(FloatToInt(-1.9, DType::kI32) == -1);
  CHECK(FloatToInt(127.9, DType::kI8) == 127);
  CHECK(FloatToInt(127.9, DType::kI4) == 7);
  CHECK(FloatToInt(-3.5, DType::kI4) == -3);
  CHECK(FloatToInt(128.0, DType::kI8) == 127);
  CHECK(FloatToInt(-1e9, DType::kI8) == -128);
  CHECK(FloatToInt(-0.5, DType::kU8) == 0);
  CHECK(FloatToInt(-5, DType::kU32) == 0);
  CHECK(FloatToInt(kNaN, DType::kI32) == 0);
  CHECK(FloatToInt(0x1p63, DType::kI64) == std::numeric_limits<int64_t>::max());
  CHECK(FloatToInt(-0x1p63, DType::kI64) == std::numeric_limits<int64_t>::min());
  CHECK(FloatToInt(std::nextafter(0x1p63, 0), DType::kI64) == 9223372036854774784);
  CHECK(FloatToInt(kInf, DType::kI64) == std::numeric_limits<int64_t>::max());
  CHECK(FloatToInt(-kInf, DType::kU16) == 0);
}

TEST_CASE("a float is a true bool unless it is zero") {
  CHECK(FloatToInt(0.25, DType::kBool) == 1);
  CHECK(FloatToInt(-0.0, DType::kBool) == 0);
  CHECK(FloatToInt(kNaN, DType::kBool) == 1);
}

TEST_CASE("every 16-bit float survives the way through double") {
  for (const Format& format : kFormats) {
    int wrong = 0;
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const auto in = static_cast<uint16_t>(bits);
      const uint16_t out = format.encode(format.decode(in));
      // A signalling NaN comes back quiet: its top mantissa bit is set.
      const auto quiet = static_cast<uint16_t>(in | 1u << (format.mantissa - 1));
      wrong += out != (std::isnan(format.decode(in)) ? quiet : in);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("halfway between two 16-bit floats the even one wins") {
  for (const Format& format : kFormats) {
    int wrong = 0;
    const uint16_t last = format.encode(format.largest);
    for (uint16_t bits = 0; bits < last; ++bits) {
      const auto next = static_cast<uint16_t>(bits + 1);
      const double low = format.decode(bits), high = format.decode(next);
      const double middle = low + (high - low) / 2;
      const uint16_t even = bits % 2 == 0 ? bits : next;
      wrong += format.encode(middle) != even;
      wrong += format.encode(-middle) != (even | 0x8000);
      wrong += format.encode(std::nextafter(middle, low)) != bits;
      wrong += format.encode(std::nextafter(middle, kInf)) != next;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("16-bit floats round once, from any double") {
  std::mt19937_64 random(1);
  for (const Format& format : kFormats) {
    int wrong = 0;
    for (int i = 0; i < 200000; ++i) {
      // Random bits, and exponents near the format's own, where something happens.
      const double mantissa = std::ldexp(static_cast<double>(random() >> 11), -52) - 1;
      const int exponent = static_cast<int>(random() % 320) - 160;
      const double x = std::ldexp(mantissa, exponent);
      wrong += !SameValue(format.decode(format.encode(x)), format.Round(x));
    }
    CHECK(wrong == 0);
    for (const double x : {0.0, -0.0, kInf, -kInf, kNaN, 1e308, -1e308, 5e-324, -5e-324,
                           format.largest, std::nextafter(format.largest, kInf)}) {
      CHECK(SameValue(format.decode(format.encode(x)), format.Round(x)));
    }
  }
  // By way of a float, rounded to nearest, this would be a tie and go down to 1.
  CHECK(FloatToF16(1 + 0x1p-11 + 0x1p-40) == 0x3C01);
  CHECK(FloatToF16(65519.999) == 0x7BFF);
  CHECK(FloatToF16(65520) == 0x7C00);
}

TEST_CASE("each row stands where its enumerator says, and each array type has a meaning") {
  size_t place = 0;
  for (const DTypeRow& row : kDTypeRows) {
    INFO(row.name);
    CHECK(static_cast<size_t>(row.dtype) == place++);
    CHECK(&RowOf(row.dtype) == &row);
    if (!row.in_arrays()) continue;
    CHECK_FALSE(row.cpp.empty());
    CHECK(row.npy.empty() <= row.as_bits);
    CHECK(DTypeOfOthers(row.numpy) == row.name);
    CHECK(ParseDType(row.name) == row.dtype);
    CHECK(RowOf(row.compute).bits >= 32);
    if (row.kind == DTypeKind::kFloat) {
      CHECK((row.powers ? 0 : 1) + row.exponent + row.mantissa == row.bits);
      CHECK(FloatFromBits(BitsOfFloat(1.5, row.dtype), row.dtype) == (row.powers ? 2 : 1.5));
      CHECK(Holds(row.compute, row.dtype));
    } else {
      CHECK(Wrap(MaxOf(row.dtype), row.dtype) == MaxOf(row.dtype));
    }
  }
}

TEST_CASE("floats of 8 bits have the values of ml_dtypes") {
  const auto value = [](uint32_t bits, DType dtype) { return FloatFromBits(bits, dtype); };
  CHECK(value(0x01, DType::kF8E4M3FN) == 0x1p-9);
  CHECK(value(0x07, DType::kF8E4M3FN) == 7 * 0x1p-9);
  CHECK(value(0x08, DType::kF8E4M3FN) == 0x1p-6);
  CHECK(value(0x38, DType::kF8E4M3FN) == 1);
  CHECK(value(0x7E, DType::kF8E4M3FN) == 448);
  CHECK(value(0xFE, DType::kF8E4M3FN) == -448);
  CHECK(value(0x01, DType::kF8E5M2) == 0x1p-16);
  CHECK(value(0x04, DType::kF8E5M2) == 0x1p-14);
  CHECK(value(0x7B, DType::kF8E5M2) == 57344);
  CHECK(value(0xFC, DType::kF8E5M2) == -kInf);
  for (const uint32_t nan : {0x7Fu, 0xFFu}) CHECK(std::isnan(value(nan, DType::kF8E4M3FN)));
  for (const uint32_t nan : {0x7Du, 0x7Eu, 0x7Fu, 0xFDu})
    CHECK(std::isnan(value(nan, DType::kF8E5M2)));
}

TEST_CASE("every float of 8 bits survives, and between two of them the even one wins") {
  for (const DType dtype : {DType::kF8E4M3FN, DType::kF8E5M2}) {
    const auto value = [&](uint32_t bits) { return FloatFromBits(bits, dtype); };
    const auto bits_of = [&](double x) { return BitsOfFloat(x, dtype); };
    for (uint32_t bits = 0; bits < 0x100; ++bits) {
      INFO(Name(dtype) << " " << bits);
      if (std::isnan(value(bits))) {
        CHECK(bits_of(value(bits)) % 0x80 == (dtype == DType::kF8E5M2 ? 0x7E : 0x7F));
        continue;
      }
      CHECK(bits_of(value(bits)) == bits);
      const double low = value(bits), high = value(bits + 1);
      if (bits >= 0x80 || !std::isfinite(high)) continue;
      const double middle = low + (high - low) / 2;
      CHECK(bits_of(middle) == bits + bits % 2);
      CHECK(bits_of(-middle) == (bits + bits % 2 | 0x80));
      CHECK(bits_of(std::nextafter(middle, low)) == bits);
      CHECK(bits_of(std::nextafter(middle, kInf)) == bits + 1);
    }
  }
}

TEST_CASE("what is too large for a float of 8 bits is an infinity, or NaN where there is none") {
  const auto e4m3 = [](double x) { return BitsOfFloat(x, DType::kF8E4M3FN); };
  CHECK(e4m3(464) == 0x7E);  // halfway to 480, which would be odd
  CHECK(e4m3(std::nextafter(464, kInf)) == 0x7F);
  CHECK(e4m3(-1e300) == 0xFF);
  CHECK(e4m3(kInf) == 0x7F);
  CHECK(e4m3(5e-324) == 0);
  CHECK(e4m3(-5e-324) == 0x80);
  const auto e5m2 = [](double x) { return BitsOfFloat(x, DType::kF8E5M2); };
  CHECK(e5m2(std::nextafter(61440, 0)) == 0x7B);
  CHECK(e5m2(61440) == 0x7C);
  CHECK(e5m2(-1e300) == 0xFC);
  CHECK(e5m2(-kInf) == 0xFC);
  CHECK(GreatestFloat(DType::kF8E4M3FN) == 448);
  CHECK(GreatestFloat(DType::kF8E5M2) == kInf);
}

TEST_CASE("RoundTo knows every float type") {
  CHECK(RoundTo(0.1, DType::kF64) == 0.1);
  CHECK(RoundTo(0.1, DType::kF32) == static_cast<double>(0.1f));
  CHECK(RoundTo(257, DType::kBF16) == 256);
  CHECK(RoundTo(2049, DType::kF16) == 2048);
  CHECK(std::isinf(RoundTo(1e300, DType::kF32)));
}

}  // namespace
}  // namespace kiln
