// Which functions of columns are computed once for all rows.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// How often the plan of a body has the part, and whether that is in front of all rows.
bool IsInFront(const std::string& body, const std::string& function,
               const std::string& rows = "64") {
  const std::string plan = ToString(
      *PlanOf("kernel: k\ninputs:\n  x: f32[" + rows +
              ", 32]\n  g: f32[32]\n  h: f32[1, 32]\n  f: f32[32, 32]\noutputs: {y: \"f32[" + rows +
              ", 32]\"}\nbody: |\n" + body)
           .plan);
  INFO(plan);
  const size_t at = plan.find(function + "("), nest = plan.find("loop ");
  REQUIRE(at != std::string::npos);
  CHECK(plan.find(function + "(", at + 1) == std::string::npos);
  return at < nest;
}

TEST_CASE("A function of what columns have one of is computed in front of the rows") {
  CHECK(IsInFront("  y = x * sigmoid(g)\n", "sigmoid"));
  CHECK(IsInFront("  y = x + 2 * (1 - exp(-h))\n", "exp"));
  CHECK(IsInFront("  y = max(x, 0) * rsqrt(g + broadcast(1.0, [32]))\n", "rsqrt"));
  CHECK(IsInFront("  y = x * sigmoid(g)\n", "sigmoid", "m"));
}

TEST_CASE("It goes in front of the rows of statements before, too, which then are one nest") {
  const std::string plan =
      ToString(*PlanOf("kernel: k\ninputs:\n  x: f32[64, 32]\n  g: f32[32]\noutputs: {y: \"f32[64, "
                       "32]\", z: \"f32[64, 32]\"}\nbody: |\n  y = x * sigmoid(g)\n"
                       "  z = x * tanh(g)\n")
                    .plan);
  INFO(plan);
  CHECK(plan.find("loop ") == plan.rfind("loop "));
  CHECK(plan.find("tanh(") < plan.find("loop "));
}

TEST_CASE("It stays with the rows where there are few, or where it needs them") {
  CHECK(!IsInFront("  y = x * sigmoid(g)\n", "sigmoid", "4"));
  CHECK(!IsInFront("  y = x * sigmoid(g + x)\n", "sigmoid"));
  CHECK(
      !IsInFront("  let v = reshape(x, [8, 8, 32])\n"
                 "  y = reshape(v * sigmoid(reshape(x[ds(0, 8)], [1, 8, 32])), [64, 32])\n",
                 "sigmoid"));
  CHECK(!IsInFront("  y = x * sigmoid(x[:, ds(0, 1)])\n", "sigmoid"));
}

TEST_CASE("It has no memory where it is a square, in tiles of a product, and in turns of rows") {
  for (const char* body : {"  y = x * g ** 2\n", "  y = dot(x, f) * sigmoid(g)\n",
                           "  y = x\n  for n in range(0, 64):\n    y += x * sigmoid(g)\n"}) {
    const std::string plan =
        ToString(*PlanOf(std::string("kernel: k\ninputs:\n  x: f32[64, 32]\n  g: f32[32]\n  f: "
                                     "f32[32, 32]\noutputs: {y: \"f32[64, 32]\"}\nbody: |\n") +
                         body)
                      .plan);
    INFO(plan);
    CHECK(!Has(plan, "value "));
  }
}

}  // namespace
}  // namespace kiln
