#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "generator/data/array.h"
#include "tests/catch.h"

/// Against what ml_dtypes does, of which powers.txt is a record (record_powers.py).
namespace kiln {
namespace {

constexpr DType kPower = DType::kF8E8M0FNU;

/// Lines of one kind: "KIND A B", with the word A and the byte or the bits B.
std::vector<std::pair<std::string, uint32_t>> Recorded(const std::string& kind) {
  std::ifstream file(KILN_SOURCE_DIR "/tests/data/powers.txt");
  std::vector<std::pair<std::string, uint32_t>> found;
  std::string word, a, b;
  while (file >> word >> a >> b) {
    if (word == kind) found.emplace_back(a, static_cast<uint32_t>(std::stoull(b, nullptr, 16)));
  }
  return found;
}

uint64_t Bits(const std::string& hex) { return std::stoull(hex, nullptr, 16); }
uint32_t CodeOf(double value) { return static_cast<uint32_t>(BitsOfFloat(value, kPower)); }
double FloatOf(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

TEST_CASE("all powers of two have the values of ml_dtypes, and come back") {
  const auto recorded = Recorded("value");
  REQUIRE(recorded.size() == 256);
  for (const auto& [code, bits] : recorded) {
    INFO(code);
    const double want = FloatOf(bits), got = FloatFromBits(Bits(code), kPower);
    CHECK((std::isnan(want) ? std::isnan(got) : got == want));
    CHECK(CodeOf(got) == Bits(code));
  }
}

TEST_CASE("every float becomes the power of two that ml_dtypes makes of it") {
  // The bits from which on, as they are counted up, it is another one.
  const auto recorded = Recorded("f32");
  REQUIRE(recorded.size() > 256);
  REQUIRE(Bits(recorded[0].first) == 0);
  int wrong = 0;
  std::mt19937 random(5);
  for (size_t i = 0; i < recorded.size(); ++i) {
    const uint64_t first = Bits(recorded[i].first);
    const uint64_t last =
        (i + 1 < recorded.size() ? Bits(recorded[i + 1].first) : uint64_t{1} << 32) - 1;
    std::vector<uint64_t> bits = {first, std::min(first + 1, last), std::max(first, last - 1),
                                  last};
    for (int k = 0; k < 100; ++k) bits.push_back(first + random() % (last - first + 1));
    for (const uint64_t each : bits) wrong += CodeOf(FloatOf(each)) != recorded[i].second;
  }
  CHECK(wrong == 0);
}

TEST_CASE("doubles and integers become powers of two by way of a float") {
  const auto doubles = Recorded("f64"), integers = Recorded("i64");
  REQUIRE(doubles.size() > 100);
  REQUIRE(integers.size() > 30);
  for (const auto& [bits, code] : doubles) {
    INFO(bits);
    CHECK(CodeOf(std::bit_cast<double>(Bits(bits))) == code);
  }
  for (const auto& [number, code] : integers) {
    INFO(number);
    CHECK(CodeOf(static_cast<float>(std::stoll(number))) == code);
  }
}

TEST_CASE("powers of two end where ml_dtypes has their ends, and random ones are numbers") {
  CHECK(GreatestFloat(kPower) == 0x1p127);
  CHECK(LeastFloat(kPower) == 0x1p-127);
  CHECK(LeastFloat(DType::kF8E4M3FN) == -448);
  CHECK(std::isnan(RoundTo(0, kPower)));
  CHECK(std::isnan(RoundTo(-1, kPower)));
  CHECK(std::isnan(RoundTo(INFINITY, kPower)));
  CHECK(Holds(DType::kBF16, kPower));
  CHECK_FALSE(Holds(DType::kF16, kPower));
  const Array random = RandomArray(kPower, {100}, 1);
  for (int64_t i = 0; i < random.size(); ++i) CHECK(random.GetFloat(i) > 0);
}

}  // namespace
}  // namespace kiln
