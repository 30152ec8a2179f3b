// Nests that add up rows move to those that make or read these rows, and no further than what they
// need.
#include "generator/planner/fuse/bring_sums.h"

#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// How many nests over rows the plan of this body has.
size_t RowNests(const std::string& statements) {
  const Planned planned = PlanOf(R"yaml(kernel: k
grid: {i: 4}
inputs:
  x: {array: "f32[128, 512]", block: "32, 512", index: "i, 0"}
outputs:
  y: {array: "f32[128, 512]", block: "32, 512", index: "i, 0"}
  s: f32[512]
  t: f32[512]
body: |
  when first(i):
    s = 0
    t = 0
)yaml" + statements);
  const std::string text = ToString(*planned.plan);
  INFO(text);
  size_t count = 0;
  for (const char* nest : {"\n  loop ", "\n  some rows "}) {
    for (size_t at = 0; (at = text.find(nest, at)) != std::string::npos; ++at) ++count;
  }
  return count;
}

TEST_CASE("sums of rows are added up where the rows are made or read") {
  CHECK(RowNests("  y = x * 2\n  s += sum(x, axis=0)\n  t += sum(x * x, axis=0)\n") == 1);
  CHECK(RowNests("  let u = x - mean(x, axis=1, keep=true)\n  y = u\n"
                 "  s += sum(u, axis=0)\n  t = max(t, max(u, axis=0))\n") == 1);
}

TEST_CASE("sums of rows that nothing else reads are by themselves") {
  CHECK(RowNests("  y = 1\n  s += sum(x, axis=0)\n") == 2);
}

TEST_CASE("sums of rows stay behind the values that they use") {
  CHECK(RowNests("  y = x * 2\n  let c = x[0, 0]\n  s += sum(x * c, axis=0)\n") == 2);
  CHECK(RowNests("  y = x * 2\n  s += sum(x, axis=0)\n  t += sum(x * s, axis=0)\n") == 2);
}

}  // namespace
}  // namespace kiln
