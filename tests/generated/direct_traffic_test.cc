// What Direct packs, by its record, and that results do not depend on it.
#include <array>
#include <random>
#include <string>
#include <utility>

#include "tests/generated/raw_call.h"

namespace kiln::test {
namespace {

std::vector<float> Random(std::mt19937& random, int64_t count) {
  std::uniform_real_distribution<float> any(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = any(random);
  return values;
}

std::vector<uint16_t> RandomBf16(std::mt19937& random, int64_t count) {
  std::vector<uint16_t> values;
  for (const float value : Random(random, count)) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    values.push_back(static_cast<uint16_t>(bits >> 16));
  }
  return values;
}

struct Product {
  RawCall call;
  size_t z;
};

Product OfF32(int64_t m, int64_t k, int64_t n) {
  std::mt19937 random(static_cast<uint32_t>(m));
  RawCall call("matmul_first");
  call.Pass(Random(random, m * k), {m, k}).Pass(Random(random, k * n), {k, n});
  call.Pass(Ones(m * n), {m, n});
  return {std::move(call), 2};
}

Product OfBf16(int64_t m, int64_t k, int64_t n) {
  std::mt19937 random(static_cast<uint32_t>(m));
  RawCall call("matmul_bf16");
  call.Pass(RandomBf16(random, m * k), {m, k}).Pass(RandomBf16(random, k * n), {k, n});
  call.Pass(Random(random, n), {n}).Pass(RandomBf16(random, m * n), {m, n});
  return {std::move(call), 3};
}

/// The traffic on a machine, where the result is the emulator's, bit for bit.
std::map<std::string, kiln_operand_record> TrafficOf(const Machine& machine, Product product) {
  auto& [call, z] = product;
  const RawCall::Argument made = call[z];
  REQUIRE(call.Run(kEmulatedCore).code == "ok");
  const RawCall::Argument expected = std::exchange(call[z], made);
  RawResult result = call.Run(machine);
  INFO(machine.name << ": " << result.message);
  REQUIRE(result.code == "ok");
  CHECK((call[z].memory == expected.memory));
  return result.traffic;
}

constexpr Machine kOneCore = kMachines[0], kTwoCores = kMachines[1];

/// The instruction set of the calls: what kernels were compiled for, not what the CPU has besides.
std::string Best() {
  std::array<const char*, 8> targets{};
  const int32_t count = kiln_linked_targets(targets.size(), targets.data());
  return targets.at(static_cast<size_t>(count - 1));
}

/// Whether register tiles have four rows, as with AVX2, which has 16 registers; other instruction
/// sets than x86's older ones have 32.
bool HasTilesOf4Rows() {
#if defined(__x86_64__)
  return Best().find("AVX3") == std::string::npos;
#else
  return false;
#endif
}

TEST_CASE("few rows of A are multiplied with an unpacked B", "[large]") {
  // Kernels do not tell whether the CPU has AMX, with which no more than 16 rows are few of bf16.
  const bool has_amx = TrafficOf(kOneCore, OfBf16(17, 203, 837))["y"].copies != 0;
  const int64_t few = HasTilesOf4Rows() ? 32 : 64;
  // With masked loads of f32, tiles read more than few rows from where they are.
  const int64_t most_f32 = Best() == "AVX2" ? 64 : few;
  const int64_t most_bf16 = has_amx ? 16 : few;  // with pairs 56, which is tried
  for (const int64_t m : {1, 2, 3, 7, 8, 9, 16, 17, 32, 33, 56}) {
    for (const Machine& machine : {kOneCore, kTwoCores}) {
      INFO(m << " rows");
      CHECK((TrafficOf(machine, OfF32(m, 203, 837))["y"].copies == 0) == (m <= most_f32));
      CHECK((TrafficOf(machine, OfBf16(m, 203, 837))["y"].copies == 0) == (m <= most_bf16));
    }
  }
  CHECK((TrafficOf(kOneCore, OfF32(64, 203, 837))["y"].copies == 0) == (64 <= most_f32));
  CHECK(TrafficOf(kOneCore, OfF32(5, 2500, 70))["y"].copies == 0);
  CHECK(TrafficOf(kOneCore, OfF32(5, 2, 1))["y"].copies == 0);
  CHECK(TrafficOf(kOneCore, OfBf16(65, 203, 837))["y"].copies > 0);
  CHECK(TrafficOf(kOneCore, OfF32(769, 203, 837))["y"].copies > 0);
}

TEST_CASE("A is read unpacked if its elements are k-groups", "[large]") {
  for (const int64_t m : {1, 8, 33, 700}) {
    INFO(m << " rows");
    CHECK(TrafficOf(kTwoCores, OfF32(m, 203, 837))["x"].copies == 0);
    // Blocks for tiles of four rows are shorter than what reads well from rows so far apart.
    CHECK((TrafficOf(kOneCore, OfF32(m, 2500, 70))["x"].copies == 0) == !HasTilesOf4Rows());
    CHECK(TrafficOf(kOneCore, OfBf16(m, 203, 837))["x"].copies > 0);
  }
}

TEST_CASE("A is packed where short pieces of its rows are far apart") {
  const auto copies_of_x = [](int64_t columns, int64_t stride) {
    Product product = OfF32(40, columns, 70);
    RawCall::Argument& x = product.call[0];
    std::vector<float> spread(static_cast<size_t>(40 * stride), -1.0f);
    const std::vector<float> values = x.Values<float>();
    for (int64_t i = 0; i < 40 * columns; ++i)
      spread[static_cast<size_t>(i / columns * stride + i % columns)] =
          values[static_cast<size_t>(i)];
    x.memory.resize(spread.size() * sizeof(float));
    std::memcpy(x.memory.data(), spread.data(), x.memory.size());
    x.strides = {stride, 1};
    return TrafficOf(kOneCore, std::move(product))["x"].copies;
  };
  CHECK(copies_of_x(64, 64) == 0);
  CHECK(copies_of_x(64, 128) == 0);
  CHECK(copies_of_x(64, 129) == 1);
  CHECK(copies_of_x(511, 2000) == 1);
  CHECK(copies_of_x(512, 2000) == 0);
}

TEST_CASE("two cores pack what both need once", "[large]") {
  for (const int64_t m : {100, 500, 900}) {
    auto alone = TrafficOf(kOneCore, OfBf16(m, 203, 837));
    auto both = TrafficOf(kTwoCores, OfBf16(m, 203, 837));
    CHECK(both["x"].bytes == m * 203 * 2);
    CHECK(both["y"].bytes == 203 * 837 * 2);
    CHECK(alone["x"].bytes == both["x"].bytes);
  }
}

}  // namespace
}  // namespace kiln::test
