// What passes that stream ask for long before they read it.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// The plan of steps (i, h) over blocks of 64 rows of x, and of c, which do not depend on h.
std::string PlanOfHeads(const std::string& body) {
  const std::string image =
      "{array: \"f32[heads, m, 128]\", block: \"null, 64, all\", index: \"h, i, 0\"}\n";
  return ToString(*PlanOf("kernel: k\ngrid: {i: \"cdiv(m, 64)\", h: heads}\n"
                          "dimension_semantics: [parallel, parallel]\ninputs:\n  x: " +
                          image + "  z: " + image +
                          "  c: {array: \"f32[m, 128]\", block: \"64, all\", index: \"i, 0\"}\n"
                          "outputs:\n  y: " +
                          image + "body: |\n" + body)
                       .plan);
}

TEST_CASE("A pass asks for later lanes of each array that it reads") {
  const std::string plan = PlanOfHeads("  y = x * z\n");
  INFO(plan);
  CHECK(Has(plan, "prefetches later lanes of x[i0, i1]"));
  CHECK(Has(plan, "prefetches later lanes of z[i0, i1]"));
}

TEST_CASE("It asks otherwise for parts of rows that it reads by turns") {
  const std::string plan =
      PlanOfHeads("  y = concat([x[:, ds(64, 64)] + z[:, ds(0, 64)], x[:, ds(0, 64)]], axis=1)\n");
  INFO(plan);
  CHECK(Has(plan, "prefetches later lanes by turns of x[i0, i1 + 64]"));
  CHECK(Has(plan, "prefetches later lanes by turns of x[i0, i1]"));
  CHECK(Has(plan, "prefetches later lanes of z[i0, i1]"));
}

TEST_CASE("It does not ask for what the step before has read") {
  const std::string plan = PlanOfHeads("  y = x * c\n");
  INFO(plan);
  CHECK(Has(plan, "prefetches later lanes of x"));
  CHECK(!Has(plan, "lanes of c"));
}

}  // namespace
}  // namespace kiln
