// What is the same for all lanes of a loop, and costs much, is computed in front of it.
#include "generator/planner/fuse/hoist.h"

#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string PlanOfLoop(const std::string& statements) {
  return ToString(*PlanOf(R"yaml(kernel: k
inputs:
  x: f32[512]
outputs:
  o: f32[512]
scratch:
  s: f32[1]
body: |
  s = sum(x, axis=0, keep=true)
)yaml" + statements)
                       .plan);
}

TEST_CASE("a root of what scratch has is taken once") {
  CHECK(Has(PlanOfLoop("  o = x * rsqrt(s)\n"), "let fixed#1 = rsqrt(s[0])"));
}

TEST_CASE("what is computed of scratch has a name as well, and what scratch has does not") {
  CHECK(Has(PlanOfLoop("  o = x * (s * 2)\n"), "let fixed#1 = *(s[0], 2"));
  CHECK_FALSE(Has(PlanOfLoop("  o = x * s\n"), "let fixed"));
}

TEST_CASE("a root of what turns change is taken in each of them") {
  const std::string text = PlanOfLoop("  for t in range(8):\n    s += 1\n    o = x * rsqrt(s)\n");
  INFO(text);
  CHECK(Has(text, "\n    let fixed#2 = rsqrt(s[0])"));
  CHECK_FALSE(Has(text, "\n  let fixed"));
}

}  // namespace
}  // namespace kiln
