// What Direct packs, by its record, and that results do not depend on it.
#include <random>

#include "tests/generated/raw_call.h"

namespace kiln::test {
namespace {

std::vector<float> Random(std::mt19937& random, int64_t count) {
  std::uniform_real_distribution<float> any(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = any(random);
  return values;
}

RawCall Product(int64_t m, int64_t k, int64_t n) {
  std::mt19937 random(static_cast<uint32_t>(m));
  RawCall call("matmul_first");
  call.Pass(Random(random, m * k), {m, k}).Pass(Random(random, k * n), {k, n});
  call.Pass(Ones(m * n), {m, n});
  return call;
}

/// The traffic on a machine, where the result is the emulator's, bit for bit.
std::map<std::string, kiln_operand_record> TrafficOf(const Machine& machine, int64_t m, int64_t k,
                                                     int64_t n) {
  RawCall expected = Product(m, k, n), call = Product(m, k, n);
  REQUIRE(expected.Run(kEmulatedCore).code == "ok");
  RawResult result = call.Run(machine);
  INFO(machine.name << ", " << m << "x" << k << "x" << n << ": " << result.message);
  REQUIRE(result.code == "ok");
  CHECK((call[2].memory == expected[2].memory));
  return result.traffic;
}

constexpr Machine kOneCore = kMachines[0], kTwoCores = kMachines[1];

TEST_CASE("few rows of x are multiplied with y where it lies") {
  for (const int64_t m : {1, 2, 3, 7, 8, 9, 16, 17, 31, 32}) {
    for (const Machine& machine : {kOneCore, kTwoCores}) {
      CHECK(TrafficOf(machine, m, 203, 837)["y"].copies == 0);
    }
  }
  CHECK(TrafficOf(kOneCore, 5, 2500, 70)["y"].copies == 0);
  CHECK(TrafficOf(kOneCore, 5, 2, 1)["y"].copies == 0);
  CHECK(TrafficOf(kOneCore, 33, 203, 837)["y"].copies > 0);
}

TEST_CASE("two cores pack what both need once") {
  for (const int64_t m : {100, 500, 900}) {
    auto alone = TrafficOf(kOneCore, m, 203, 837), both = TrafficOf(kTwoCores, m, 203, 837);
    CHECK(both["x"].bytes == m * 203 * 4);
    CHECK(both["y"].bytes == 203 * 837 * 4);
    CHECK(alone["x"].bytes == both["x"].bytes);
  }
}

}  // namespace
}  // namespace kiln::test
