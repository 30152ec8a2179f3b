// Rows that are read across the order of an input.
#include "generator/planner/fuse/rows/read_order.h"

#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// Whether the kernel o = expression may take its rows in the order of an input.
bool Follows(const std::string& expression, const std::string& output = "[h, n, d]",
             const std::string& more = "") {
  const std::string spec = R"yaml(kernel: k
inputs:
  x: f32[n, h, d]
  y: f32[h, n, d]
  z: f32[n, 1, d]
outputs:
  o: {array: "f32)yaml" + output +
                           "\"" + more + "}\nbody: |\n  o = " + expression + "\n";
  return Has(ToString(*PlanOf(spec).plan), "or in the order of x[");
}

TEST_CASE("rows follow an input that they are read across") {
  CHECK(Follows("transpose(x, [1, 0, 2])"));
  CHECK(Follows("transpose(exp(x) + z, [1, 0, 2])"));
  CHECK_FALSE(Follows("x", "[n, h, d]"));
}

TEST_CASE("rows follow no input where another one is read along, or lanes are across") {
  CHECK_FALSE(Follows("transpose(x, [1, 0, 2]) + y"));
  CHECK_FALSE(Follows("transpose(x, [2, 1, 0])", "[d, h, n]"));
}

TEST_CASE("rows keep their order where an output has the memory of an input") {
  CHECK_FALSE(Follows("transpose(x, [1, 0, 2])", "[h, n, d]", ", alias: y"));
}

}  // namespace
}  // namespace kiln
