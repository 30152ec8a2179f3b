// Which lines are sorted side by side.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string PlanOfLines(const std::string& body, const std::string& rows = "9") {
  return ToString(*PlanOf("kernel: k\ninputs:\n  x: f32[" + rows + ", 40]\n  s: i4[9, 40]\n" +
                          "outputs:\n  y: {init: 0, array: \"f32[" + rows + ", 40]\"}\n" +
                          "  z: {init: 0, array: \"i4[9, 40]\"}\nbody: |\n" + body)
                       .plan);
}

TEST_CASE("Short lines along the first axis are sorted side by side") {
  for (const char* body :
       {"  y = sort(x, axis=0)\n", "  y = sort(x, axis=0, descending=true) + 1\n",
        "  y[0:1] = sort(x * 2, axis=0)[4:5]\n",
        "  for i in range(0, 4):\n    y = sort(x + y, axis=0)\n"}) {
    const std::string plan = PlanOfLines(body);
    INFO(plan);
    CHECK(Has(plan, "side by side"));
  }
}

TEST_CASE("What is read across such lines is put beside each other first, but for whole lines") {
  const std::string flipped = PlanOfLines("  y = sort(flip(x, 1), axis=0)\n");
  INFO(flipped);
  CHECK(Has(flipped, "= x[i2, i3 * -1 + 39]"));
  CHECK(Has(flipped, "side by side"));
  const std::string turned = PlanOfLines("  y[:, 0:9] = sort(x[:, 0:9].T, axis=0).T\n");
  INFO(turned);
  CHECK(!Has(turned, "side by side"));
}

TEST_CASE("Other lines are sorted one by one") {
  for (const char* body :
       {"  y = sort(x, axis=1)\n", "  z = sort(s, axis=0)\n", "  y = f32(argsort(x, axis=0))\n"}) {
    const std::string plan = PlanOfLines(body);
    INFO(plan);
    CHECK(!Has(plan, "side by side"));
  }
  CHECK(!Has(PlanOfLines("  y = sort(x, axis=0)\n", "1025"), "side by side"));
  CHECK(!Has(PlanOfLines("  y = sort(x, axis=0)\n", "n"), "side by side"));
}

}  // namespace
}  // namespace kiln
