// An output that each step of a reduction stores again waits for the last step where that is
// unseen.
#include "generator/planner/analyze/stored_again.h"

#include "generator/plan/plan.h"
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string Product(const std::string& outputs, const std::string& stores) {
  const std::string inputs = R"yaml(kernel: k
grid: {i: "cdiv(m, 32)", l: "cdiv(k, 32)"}
inputs:
  x: {array: "f32[m, k]", block: "32, 32", index: "i, l", pad: 0}
  y: {array: "f32[k, 32]", block: "32, 32", index: "l, 0", pad: 0}
outputs:
)yaml";
  const std::string sums = R"yaml(
scratch: {acc: "f32[32, 32]"}
body: |
  when first(l):
    acc = 0
  acc += dot(x, y)
)yaml";
  return inputs + outputs + sums + stores;
}

const std::string kOutput = "  z: {array: \"f32[m, 32]\", block: \"32, 32\", index: \"i, 0\"}\n";
const std::string kSteps =
    "  z: {array: \"f32[cdiv(k, 32), m, 32]\", block: \"null, 32, 32\", index: \"l, i, 0\"}\n";

bool Waits(const std::string& outputs, const std::string& stores) {
  const Planned planned = PlanOf(Product(outputs, stores));
  const Kernel& kernel = *planned.kernel;
  const Table<bool, Ref> found = StoredAgain(kernel, FindReduction(kernel));
  for (const RefId r : IdsOf(kernel.refs)) {
    if (kernel[r].name == "z") return found[r];
  }
  FAIL("there is no z");
  return false;
}

TEST_CASE("what the next step stores again is stored by the last one") {
  CHECK(Waits(kOutput, "  z = acc\n"));
  CHECK(Waits(kOutput, "  z = max(acc * 2, 0)\n"));
}

TEST_CASE("an output does not wait whose steps can be distinguished") {
  CHECK_FALSE(Waits(kSteps, "  z = acc\n"));                                   // a block each step
  CHECK_FALSE(Waits(kOutput, "  z = acc\n  when last(l):\n    z = z + 1\n"));  // it is read
  CHECK_FALSE(Waits(kOutput, "  z = acc\n  when first(l):\n    z = acc + 1\n"));
  CHECK_FALSE(Waits(kOutput, "  z = 0\n  z[0:8] = acc[0:8]\n"));
  CHECK_FALSE(Waits(kOutput, "  when l < 3:\n    z = acc\n"));         // not in every step
  CHECK_FALSE(Waits(kOutput, "  z = broadcast(acc[l], [32, 32])\n"));  // which may fail in one
}

TEST_CASE("an output that waits is written as one under `when last` is") {
  const auto body = [](const std::string& stores) {
    const Planned planned = PlanOf(Product(kOutput, stores));
    return ToString(*planned.plan);
  };
  CHECK(body("  z = acc\n") == body("  when last(l):\n    z = acc\n"));
}

}  // namespace
}  // namespace kiln
