// Which nests become one past what stands between them.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string PlanOfBody(const std::string& body) {
  return ToString(*PlanOf("kernel: k\ninputs:\n  x: f32[m, n]\n  f: f32[n, n]\n  g: f32[n]\n"
                          "outputs: {y: \"f32[m, n]\"}\nscratch: {kept: \"f32[m, n]\"}\nbody: |\n" +
                          body)
                       .plan);
}

TEST_CASE("What has nothing to do with a value does not keep it in memory") {
  const std::string plan =
      PlanOfBody("  let e = exp(x)\n  let share = g / sum(g)\n  y = e * share\n");
  INFO(plan);
  CHECK(!Has(plan, "value e"));
  CHECK(plan.find("sum of lanes") < plan.find("exp("));
}

TEST_CASE("Nor does it keep the sums of a dot in memory") {
  const std::string plan =
      PlanOfBody("  let p = dot(x, f)\n  let share = g / sum(g)\n  y = p * share\n");
  INFO(plan);
  CHECK(!Has(plan, "value p"));
  CHECK(plan.find("sum of lanes") < plan.find("dot of f32"));
}

TEST_CASE("What the nests between read or store stays where it is") {
  // The shares are of the value itself.
  const std::string reads =
      PlanOfBody("  let e = exp(x)\n  let of = sum(e, axis=0)\n  y = e / of\n");
  INFO(reads);
  CHECK(Has(reads, "value e"));
  // Scratch that the value is made of is stored anew.
  const std::string stores =
      PlanOfBody("  let e = exp(kept)\n  kept = flip(x, axis=0)\n  y = e + kept\n");
  INFO(stores);
  CHECK(stores.find("exp(") < stores.find("kept["));
}

TEST_CASE("A sum of rows is complete before rows go on with it") {
  const std::string plan = ToString(
      *PlanOf(
           "kernel: k\ninputs: {x: \"f32[c, m, n]\", g: \"f32[n]\"}\noutputs:\n  y: f32[c, m, n]\n"
           "body: |\n  y = x * g - max(x, axis=[1, 2], keep=true)\n")
           .plan);
  INFO(plan);
  // Two loops over rows: the first has the lanes of the sum, the second those of y.
  const size_t total = plan.find("largest#0 = max(largest#0");
  const size_t second = plan.find("loop", total);
  CHECK(plan.find("y[", total) > second);
  CHECK(second != std::string::npos);
}

TEST_CASE("Rows of a product that are added up do not start from the place of their sum") {
  const std::string plan =
      ToString(*PlanOf("kernel: k\ninputs: {x: \"f32[m, n]\", f: \"f32[n, n]\"}\n"
                       "outputs: {y: \"f32[1, n]\"}\nbody: |\n"
                       "  y = sum(dot(x, f), axis=0, keep=true)\n")
                    .plan);
  INFO(plan);
  CHECK(Has(plan, "sum#0 = 0 + x @ f"));
  CHECK(Has(plan, "= +(y[0, i4], sum#0)"));
  CHECK(!Has(plan, "sums stay where they are stored"));
}

TEST_CASE("No product moves before a value that is used after it") {
  const std::string plan =
      PlanOfBody("  let e = exp(x)\n  kept = dot(f[:, :], f)[ds(0, m)]\n  y = e + g\n");
  INFO(plan);
  CHECK(plan.find("exp(") < plan.find("dot of f32"));
}

}  // namespace
}  // namespace kiln
