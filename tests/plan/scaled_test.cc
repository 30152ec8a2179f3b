// What few rows multiply as it is stored, with scales that come after: the plan says so, and only
// of a value that is one of few bits times what a run of rows shares.

#include <string>

#include "generator/plan/plan.h"
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

/// Lines of the plan of a product with that operand, whose rows are two runs of 32.
std::string PlanOfOperand(const std::string& operand, const std::string& type = "f32") {
  const Planned planned = PlanOf("kernel: k\nparams: {T: " + type + R"yaml(}
grid: {i: "cdiv(m, 16)"}
dimension_semantics: parallel
inputs:
  x: {array: "T[m, 64]", block: "16, 64", index: "i, 0"}
  w: i4[64, 256]
  turned: i4[256, 64]
  wide: i16[64, 256]
  of_column: f32[256]
  of_run: f32[2, 256]
  of_row: f32[64, 256]
outputs:
  z: {array: "f32[m, 256]", block: "16, 256", index: "i, 0"}
body: |
  z = dot(x, T()yaml" + operand + "))\n");
  return ToString(*planned.plan);
}

bool IsScaled(const std::string& operand, const std::string& type = "f32") {
  return PlanOfOperand(operand, type).find("multiply what is stored") != std::string::npos;
}

TEST_CASE("few rows multiply what is stored if a scale is that of a column or of a run of rows") {
  CHECK(IsScaled("f32(w)"));
  CHECK(IsScaled("w", "bf16"));
  CHECK(IsScaled("f32(w) * of_column"));
  CHECK(IsScaled("of_column * f32(w)", "bf16"));
  CHECK(IsScaled("f32(w) * exp(of_column)"));
  CHECK(IsScaled("f32(w) * repeat(of_run, 32, axis=0)"));
  CHECK(IsScaled("reshape(reshape(f32(w), [2, 32, 256]) * expand(of_run, 1), [64, 256])", "bf16"));
}

TEST_CASE("what each row scales by itself, what is wide and what is turned is computed for any") {
  CHECK_FALSE(IsScaled("f32(w) * of_row"));
  CHECK_FALSE(IsScaled("f32(w) * of_column + 1.0"));
  CHECK_FALSE(IsScaled("f32(wide) * of_column"));
  CHECK_FALSE(IsScaled("f32(u8(w)) * of_column"));
  CHECK_FALSE(IsScaled("f32(turned.T) * of_column"));
  CHECK_FALSE(IsScaled("f32(bf16(f32(w) * of_column))"));
  CHECK_FALSE(IsScaled("f32(w) * of_column", "f16"));
}

TEST_CASE("rows that Direct may divide otherwise are few or many by those of the call") {
  CHECK(PlanOfOperand("f32(w)").find("what is stored: m in the call") != std::string::npos);
}

TEST_CASE("runs of rows are packed by one loop over all of them") {
  const std::string plan = PlanOfOperand("f32(w) * repeat(of_run, 32, axis=0)");
  CHECK(plan.find("scale") == std::string::npos);
  CHECK(plan.find("of_run[//(") != std::string::npos);
  CHECK(plan.find("value#") == std::string::npos);
}

}  // namespace
}  // namespace kiln
