#include "generator/data/array.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/catch.h"

namespace kiln {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

constexpr DType kIntegers[] = {DType::kBool, DType::kI8,  DType::kU8,  DType::kI16,
                               DType::kU16,  DType::kI32, DType::kU32, DType::kI64};
constexpr DType kFloats[] = {DType::kF8E4M3FN, DType::kF8E5M2, DType::kBF16,
                             DType::kF16,      DType::kF32,    DType::kF64};

TEST_CASE("shapes have a size unless it overflows") {
  CHECK(ElementCount({}) == 1);
  CHECK(ElementCount({3, 4}) == 12);
  CHECK(ElementCount({3, 0}) == 0);
  CHECK(ElementCount({kMax, kMax, 0}) == 0);
  CHECK_FALSE(ElementCount({3, -1}));
  CHECK_FALSE(ElementCount({0, -1}));
  CHECK_FALSE(ElementCount({kMax, 2}));
  CHECK(ByteSize(DType::kF32, {3, 4}) == 48);
  CHECK(ByteSize(DType::kI8, {kMax}) == kMax);
  CHECK_FALSE(ByteSize(DType::kBF16, {kMax}));
}

TEST_CASE("shapes print as specs write them") {
  CHECK(ToString(DType::kI32, {}) == "i32[]");
  CHECK(ToString(DType::kBF16, {3, 4}) == "bf16[3, 4]");
}

TEST_CASE("a new array is zero") {
  const Array scalar = Array::Zeros(DType::kF64, {});
  CHECK(scalar.size() == 1);
  CHECK(scalar.GetFloat(0) == 0);
  CHECK(Array::Zeros(DType::kF64, {4, 0}).bytes.empty());
  // A product from the left would overflow on its way to 0.
  CHECK(Array::Zeros(DType::kI8, {kMax, kMax, 0}).size() == 0);
}

TEST_CASE("elements wrap or round as they are stored") {
  for (const DType dtype : kIntegers) {
    Array array = Array::Zeros(dtype, {3});
    for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1000}, MaxOf(dtype)}) {
      array.SetInt(1, value);
      CHECK(array.GetInt(1) == Wrap(value, dtype));
    }
    CHECK(array.GetInt(0) == 0);
    CHECK(array.GetInt(2) == 0);
  }
  for (const DType dtype : kFloats) {
    Array array = Array::Zeros(dtype, {3});
    for (const double value : {0.1, -1e30, 3.0, 1e-30}) {
      array.SetFloat(1, value);
      const double want = RoundTo(value, dtype);
      CHECK((array.GetFloat(1) == want || (std::isnan(want) && std::isnan(array.GetFloat(1)))));
    }
    CHECK(array.GetFloat(0) == 0);
    CHECK(array.GetFloat(2) == 0);
  }
}

TEST_CASE("bulk access agrees with single elements") {
  for (const DType dtype : kIntegers) {
    Array array = Array::Zeros(dtype, {100});
    std::vector<int64_t> in(90), out(90);
    std::iota(in.begin(), in.end(), -45);
    StoreInts(array, 7, 90, in.data());
    LoadInts(array, 7, 90, out.data());
    for (size_t i = 0; i < in.size(); ++i) {
      CHECK(out[i] == Wrap(in[i], dtype));
      CHECK(out[i] == array.GetInt(static_cast<int64_t>(i) + 7));
    }
    CHECK(array.GetInt(6) == 0);
    CHECK(array.GetInt(97) == 0);
  }
  for (const DType dtype : kFloats) {
    Array array = Array::Zeros(dtype, {100});
    std::vector<double> in(90), out(90);
    for (size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<double>(i) + 1);
    StoreFloats(array, 7, 90, in.data());
    LoadFloats(array, 7, 90, out.data());
    for (size_t i = 0; i < in.size(); ++i) CHECK(out[i] == RoundTo(in[i], dtype));
    CHECK(array.GetFloat(6) == 0);
    CHECK(array.GetFloat(97) == 0);
  }
}

TEST_CASE("bytes that are no C++ bool still load as one") {
  Array array = Array::Zeros(DType::kBool, {1});
  array.bytes[0] = std::byte{7};
  CHECK(array.GetInt(0) == 1);
}

TEST_CASE("random arrays stay in their range and depend on the seed alone") {
  for (const DType dtype : kFloats) {
    const Array array = RandomArray(dtype, {100, 100}, 1);
    double sum = 0;
    for (int64_t i = 0; i < array.size(); ++i) {
      const double x = array.GetFloat(i);
      REQUIRE((x >= -1 && x < 1));
      sum += x;
    }
    // What rounds up to 1 is left out, which is that share of the range.
    CHECK(std::fabs(sum / 10000) < 0.03 + EpsilonOf(dtype) / 8);
  }
  for (const DType dtype : kIntegers) {
    const Array array = RandomArray(dtype, {1000}, 1);
    const int64_t low = dtype == DType::kBool || IsUnsigned(dtype) ? 0 : -8;
    const int64_t high = dtype == DType::kBool ? 1 : low + 15;
    bool at_low = false, at_high = false;
    for (int64_t i = 0; i < array.size(); ++i) {
      REQUIRE((array.GetInt(i) >= low && array.GetInt(i) <= high));
      at_low = at_low || array.GetInt(i) == low;
      at_high = at_high || array.GetInt(i) == high;
    }
    CHECK((at_low && at_high));
  }
  CHECK(RandomArray(DType::kF32, {50}, 3).bytes == RandomArray(DType::kF32, {50}, 3).bytes);
  CHECK(RandomArray(DType::kF32, {50}, 3).bytes != RandomArray(DType::kF32, {50}, 4).bytes);
}

TEST_CASE("random arrays are the same everywhere: recorded results rest on them") {
  const Array f = RandomArray(DType::kF64, {2}, 1);
  const Array i = RandomArray(DType::kI32, {6}, 1);
  CHECK(f.GetFloat(0) == 0x1.10a2dec890258p-3);
  CHECK(f.GetFloat(1) == 0x1.f75c6d0b2c774p-2);
  std::vector<int64_t> values(6);
  LoadInts(i, 0, 6, values.data());
  CHECK(values == std::vector<int64_t>{1, 3, 7, -1, -1, 4});
}

}  // namespace
}  // namespace kiln
