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

TEST_CASE("Rows that are stored whole are stored at once, behind all that they are made of") {
  const auto plan = [](const std::string& body) {
    return ToString(*PlanOf("kernel: k\ninputs:\n  x: f32[3, n]\noutputs:\n  y: {init: 0, array: "
                            "\"f32[n, 3]\"}\n  z: {init: 0, array: \"f32[n, 3]\"}\nbody: |\n" +
                            body)
                         .plan);
  };
  const std::string turned = plan("  y = x.T\n  z = x.T * 2\n");
  INFO(turned);
  CHECK(Has(turned, "y[i0, 0] and those behind it = x[0, i0], x[1, i0], x[2, i0]"));
  CHECK(Has(turned, "z[i0, 0] and those behind it"));
  for (const char* body :
       {"  y[:, 0] = x[0]\n  y[:, 1] = x[1]\n",
        "  y[:, 0] = x[0]\n  y[:, 1] = x[1]\n  y[:, 1] = x[2]\n  y[:, 2] = x[2]\n"}) {
    const std::string parts = plan(body);
    INFO(parts);
    CHECK(Has(parts, "y[i0, 1] = x[1, i0]"));
    CHECK(!Has(parts, "behind it"));
  }
}

TEST_CASE("So are rows that one dimension has one after the other") {
  const auto plan = [](const std::string& body) {
    return ToString(*PlanOf("kernel: k\ninputs:\n  x: f32[3, n]\noutputs:\n  y: {init: 0, array: "
                            "\"f32[3 * n]\"}\n  z: {init: 0, array: \"f32[3, n, 3]\"}\nbody: |\n" +
                            body)
                         .plan);
  };
  const std::string turns = plan(
      "  y = reshape(concat([expand(x[2], 1), expand(x[1], 1), "
      "expand(x[0] * 2.0, 1)], axis=1), [3 * n])\n");
  INFO(turns);
  CHECK(Has(turns, "y[i0 * 3 + 0] and those behind it = x[2, i0], x[1, i0], *(x[0, i0], 2.0)"));
  const std::string two = plan("  y[0:3*n:3] = x[0]\n  y[1:3*n:3] = x[1]\n");
  INFO(two);
  CHECK(!Has(two, "behind it"));
}

TEST_CASE("Elements of rows may be of images that a loop chooses") {
  const std::string plan = ToString(
      *PlanOf(
           "kernel: k\ninputs: {x: \"f32[4 * c, h, w]\"}\noutputs: {y: \"f32[c, 2 * h, 2 * w]\"}\n"
           "body: |\n  let parts = reshape(x, [c, 2, 2, h, w])\n"
           "  y = reshape(transpose(parts, [0, 3, 1, 4, 2]), [c, 2 * h, 2 * w])\n")
           .plan);
  INFO(plan);
  CHECK(Has(plan, ", 0] and those behind it = x["));
  CHECK(!Has(plan, "transposes"));
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
