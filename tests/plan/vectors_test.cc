// What loops by vectors take at a time.
#include "generator/planner/decide/lanes/widths.h"
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

constexpr const char* kEvenOdd = "even lanes of a line, then odd ones";

/// The plan of a kernel of blocks with rows of m elements, whose output is of such a type.
std::string PlanOfBlocks(const std::string& output, const std::string& statement) {
  return ToString(*PlanOf(R"yaml(kernel: k
inputs:
  x: bf16[n, m]
  z: bf16[n, m]
  g: f32[n, m]
  h: f32[n, m]
  d: f64[n, m]
  b: bool[n, m]
  i: i32[m]
  q: i8[n, m]
outputs:
  y: )yaml" + output + "\nbody: |\n  " +
                          statement + "\n")
                       .plan);
}
bool TakesLines(const std::string& output, const std::string& statement) {
  return Has(PlanOfBlocks(output, statement), kEvenOdd);
}

TEST_CASE("lines of bf16 are taken by their even and odd lanes") {
  CHECK(TakesLines("bf16[n, m]", "y = bf16(f32(x) + f32(z))"));
  CHECK(TakesLines("bf16[n, m]", "y = where(x > z, x, z)"));
  CHECK(TakesLines("bf16[n, m]", "y = bf16(f32(x) * f32(iota([n, m], 1)))"));
  CHECK(TakesLines("f32[n, 1]", "y = sum(f32(x), axis=1, keep=true)"));
  CHECK(TakesLines("f32[n, 1]", "y = max(f32(x) * f32(z), axis=1, keep=true)"));
  CHECK_FALSE(TakesLines("f32[n, m]", "y = g + h"));
}

TEST_CASE("lines are taken whole where other elements than bf16 are most of it") {
  CHECK(TakesLines("bf16[n, m]", "y = bf16(f32(x) * g)"));
  CHECK(TakesLines("bf16[n, m]", "y = bf16(f32(x) * g + h)"));
  CHECK(TakesLines("f32[n, m]", "y = f32(x) * f32(z)"));
  CHECK(TakesLines("bf16[n, m]", "y = bf16(f32(x) * f32(q))"));
  CHECK_FALSE(TakesLines("f32[n, m]", "y = f32(x)"));
  CHECK_FALSE(TakesLines("bf16[n, m]", "y = bf16(g)"));
  CHECK_FALSE(TakesLines("bf16[n, m]", "y = bf16(f32(x) * g * h * f32(q))"));
}

TEST_CASE("lines are taken whole where lanes are no neighbours, or a mask chooses them") {
  CHECK_FALSE(TakesLines("bf16[m, n]", "y = transpose(x)"));
  CHECK_FALSE(TakesLines("bf16[n, m]", "y = flip(x, axis=1)"));
  CHECK_FALSE(TakesLines("bf16[n, m]", "y = roll(x, 1, axis=1)"));
  CHECK_FALSE(TakesLines("bf16[n, m]", "y = take(x, i, axis=1)"));
  CHECK_FALSE(TakesLines("bf16[n, m]", "y = where(b, x, z)"));
  CHECK_FALSE(TakesLines("bf16[n, m]", "y = z\n  y[x > z] = x"));
}

TEST_CASE("lanes of 64 bits, positions and truths are taken by vectors") {
  CHECK(Has(PlanOfBlocks("bf16[n, m]", "y = bf16(f64(x) * d)"), "lanes of 64 bits"));
  CHECK_FALSE(TakesLines("bf16[n, m]", "y = bf16(f64(x) * d)"));
  CHECK_FALSE(TakesLines("f32[n, 1]", "y = f32(argmax(x, axis=1, keep=true))"));
  CHECK_FALSE(TakesLines("f32[n, 1]", "y = f32(any(x > z, axis=1, keep=true))"));
}

TEST_CASE("what all lanes share has no lanes, be it of 64 bits") {
  const auto wide = [](const std::string& statement) {
    return Has(PlanOfBlocks("f32[n, m]", statement), "lanes of 64 bits");
  };
  CHECK_FALSE(wide("y = g / f32(n * m)"));
  CHECK_FALSE(wide("y = g + f32(d[0, 1])"));
  CHECK(wide("y = g + f32(i64(i))"));
  CHECK(wide("y = g + f32(d[0])"));
  CHECK(wide("y = g + f32(sum(broadcast(f64(n), [n, m]), axis=1, keep=true))"));
  CHECK(wide("y = g + f32(argmax(broadcast(f64(n), [n, m]), axis=1, keep=true))"));
  CHECK(wide(
      "var a: f64[n, m] = 0.5\n  for t in range(99):\n    a = a * 0.5 + f64(t)\n  y = f32(a)"));
  CHECK(wide("var a: f64[n, m] = 0.5\n  for t in range(99):\n    a = f64(t)\n  y = f32(a)"));
}

}  // namespace
}  // namespace kiln
