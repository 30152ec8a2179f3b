// What passes over a row keep for later ones, and what these make again.
#include "generator/planner/fuse/recompute.h"

#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// The plan of a kernel of rows: values that are kept are its buffers.
std::string PlanOfRows(const std::string& statements) {
  return ToString(*PlanOf(R"yaml(kernel: k
inputs:
  x: f32[8, 512]
  y: f32[8, 512]
  g: f32[512]
outputs:
  o: f32[8, 512]
body: |
)yaml" + statements)
                       .plan);
}
bool Keeps(const std::string& statements) { return Has(PlanOfRows(statements), "\nvalue "); }

TEST_CASE("a product of two inputs is made again where one of them is read anyhow") {
  const std::string v = "  let v = y * g\n  let m = max(v, axis=1, keep=true)\n";
  CHECK_FALSE(Keeps(v + "  o = y * (v - m)\n"));
  CHECK_FALSE(Keeps(v + "  o = g * (v - m)\n"));
  // Two more loads are no better than one of what is kept.
  CHECK(Keeps(v + "  o = x * (v - m)\n"));
}

TEST_CASE("a function, or what is made of three elements, is kept") {
  CHECK_FALSE(Keeps("  let v = x * 2 + 1\n  o = v - max(v, axis=1, keep=true)\n"));
  CHECK(Keeps("  let v = exp(x)\n  o = v - max(v, axis=1, keep=true)\n"));
  CHECK(Keeps("  let v = x * y * g\n  o = x * y * (v - max(v, axis=1, keep=true))\n"));
}

}  // namespace
}  // namespace kiln
