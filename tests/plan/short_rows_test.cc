// Rows of a few elements, each of which a vector of rows has one of.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// The plan of a body that makes an image of each colour, `to`, of pixels x with so many.
std::string PlanOfPixels(const std::string& colours, const std::string& body) {
  return ToString(*PlanOf("kernel: k\ninputs:\n  x: f32[h, w, " + colours + "]\n  m: f32[" +
                          colours + "]\noutputs:\n  y: \"f32[" + colours +
                          ", h, w]\"\n  z: {init: 0, array: \"f32[h, w]\"}\nbody: |\n" + body)
                       .plan);
}

TEST_CASE("Pixels that become an image of each colour are read a vector of pixels at a time") {
  const std::string plan =
      PlanOfPixels("3", "  y = transpose(x - m, [2, 0, 1])\n  z = x[:, :, 1]\n");
  INFO(plan);
  CHECK(Has(plan, "y[1, "));
  CHECK(Has(plan, "y[2, "));
  CHECK(Has(plan, ", 2], m[2])"));
}

TEST_CASE("Rows of more elements are transposed, and what reads no rows stays as it is") {
  for (const auto& [colours, body] :
       {std::pair("5", "  y = transpose(x - m, [2, 0, 1])\n"),
        std::pair("c", "  y = transpose(x - m, [2, 0, 1])\n"),
        std::pair("3", "  y = expand(expand(m, 1), 2) + expand(x[:, :, 0], 0)\n")}) {
    const std::string plan = PlanOfPixels(colours, body);
    INFO(plan);
    CHECK(!Has(plan, "y[1, "));
  }
}

TEST_CASE("An image that is written where pixels are read keeps its loops") {
  const std::string plan =
      ToString(*PlanOf("kernel: k\noutputs:\n  y: {init: 1, array: \"f32[3, 3, 3]\"}\nbody: |\n"
                       "  y = transpose(y, [2, 0, 1])\n")
                    .plan);
  INFO(plan);
  CHECK(Has(plan, "value "));
}

}  // namespace
}  // namespace kiln
