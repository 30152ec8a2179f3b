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

TEST_CASE("parts of a row that a reshape makes are read again, and not kept") {
  const std::string parts = "  let v = reshape(x, [8, 4, 128])\n";
  CHECK_FALSE(Keeps(parts + "  o = reshape(v - max(v, axis=2, keep=true), [8, 512])\n"));
  CHECK(
      Keeps(parts + "  let e = exp(v)\n  o = reshape(e / sum(e, axis=2, keep=true), [8, 512])\n"));
}

/// Whether the widened x is kept, of blocks of `shape`, with such lines for its output.
bool KeepsWidened(const std::string& shape, const std::string& statements,
                  const std::string& output = "", const std::string& type = "bf16") {
  const std::string spec = "kernel: k\ninputs: {x: \"" + type + shape +
                           "\"}\noutputs:\n  o: {array: \"bf16" + shape + "\"" + output +
                           "}\nbody: |\n  let v = f32(x)\n" + statements;
  return Has(ToString(*PlanOf(spec).plan), "\nvalue v#");
}

TEST_CASE("a block of narrow floats is widened where it is read, unless it is small") {
  const std::string of_sums = "  o = bf16(v - sum(v, axis=0, keep=true))\n";
  CHECK_FALSE(KeepsWidened("[n, m]", of_sums));
  CHECK_FALSE(KeepsWidened("[32, 512]", of_sums));
  CHECK(KeepsWidened("[16, 512]", of_sums));
  // A row stays in the L1, from where bf16 are widened by one instruction.
  const std::string of_rows = "  o = bf16(v - sum(v, axis=1, keep=true))\n";
  CHECK_FALSE(KeepsWidened("[n, m]", of_rows));
  CHECK(KeepsWidened("[n, m]", of_rows, "", "f16"));
}

TEST_CASE(
    "a widened block is kept where turns read it, elements elsewhere, or its input may change") {
  CHECK(KeepsWidened("[n, m]",
                     "  o = bf16(0)\n"
                     "  for i in range(100):\n"
                     "    o = bf16(f32(o) * sum(v, axis=0, keep=true) + v)\n"));
  CHECK(KeepsWidened("[n, m]", "  o = bf16(roll(v, 1, axis=0) - sum(v, axis=0, keep=true))\n"));
  CHECK(KeepsWidened("[n, m]", "  o = bf16(v - sum(v, axis=0, keep=true))\n", ", alias: x"));
}

TEST_CASE("small powers of floats are products, and halves are roots") {
  const auto power = [](const std::string& of) {
    return ToString(
        *PlanOf("kernel: k\ninputs: {x: \"f32[n]\"}\noutputs: {o: \"f32[n]\"}\nbody: o = " + of)
             .plan);
  };
  CHECK(Has(power("x ** 2"), "o[i0] = *(x[i0], x[i0])"));
  CHECK(Has(power("x ** 3"), "o[i0] = *(*(x[i0], x[i0]), x[i0])"));
  CHECK(Has(power("x ** 4"), "o[i0] = *(*(x[i0], x[i0]), *(x[i0], x[i0]))"));
  CHECK(Has(power("x ** 5"), "o[i0] = **(x[i0], 5.0)"));
  CHECK(Has(power("x ** 0.5"), "o[i0] = where(==(x[i0], -inf), inf, sqrt(+(x[i0], 0.0)))"));
  CHECK(Has(power("x ** -0.5"), "o[i0] = where(==(x[i0], -inf), 0.0, rsqrt(+(x[i0], 0.0)))"));
  CHECK(Has(power("x ** 2.5"), "o[i0] = **(x[i0], 2.5)"));
}

}  // namespace
}  // namespace kiln
