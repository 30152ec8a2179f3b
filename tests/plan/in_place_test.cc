// Which matrices of the body's own a dot reads where they are.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// Whether some operand of a dot is packed, x and y having so many rows.
bool Packs(const std::string& body, const std::string& rows = "64") {
  const std::string plan =
      ToString(*PlanOf("kernel: k\ninputs:\n  x: f32[" + rows +
                       ", 64]\n  f: f32[64, 64]\noutputs:\n  y: " + "{array: \"f32[" + rows +
                       ", 64]\", init: 0}\nscratch:\n  s: f32[" + rows + ", 64]\n  h: f32[64, " +
                       rows + "]\nbody: |\n" + body)
                    .plan);
  INFO(plan);
  return Has(plan, "pack ");
}

TEST_CASE("a small matrix that the body makes is multiplied where it is") {
  CHECK(!Packs("  let v = x * 2.0\n  y = dot(f, v) + dot(v, f)\n"));
  CHECK(!Packs("  s = x * 0.5\n  y = dot(f, s) + s\n"));
}

TEST_CASE("a larger one is packed, if it is scratch, and so is one that its sums change") {
  CHECK(Packs("  h = 1.0\n  s = x * 0.5\n  y = dot(dot(s, h), s) + s\n", "65"));
  CHECK(!Packs("  h = 1.0\n  let g, v = h * 0.5, x * 0.5\n  y = dot(dot(v, g), v) + v\n", "128"));
  CHECK(Packs("  h = 1.0\n  let g, v = h * 0.5, x * 0.5\n  y = dot(dot(v, g), v) + v\n", "129"));
  CHECK(Packs("  s = x * 0.5\n  s += dot(f, s)\n  y = s\n"));
}

TEST_CASE("sums of few rows stay apart from the matrix that they change") {
  CHECK(
      !Packs("  s = x * 2.0\n  for i in range(1, 64):\n    let d = dot(f[i:i+1], s)\n"
             "    s[i:i+1] = s[i:i+1] - d\n  y = s\n"));
}

}  // namespace
}  // namespace kiln
