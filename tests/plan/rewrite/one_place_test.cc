// Masks that hold at one position are subscripts.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string PlanOfMasks(const std::string& body) {
  return ToString(*PlanOf("kernel: k\ngrid: {b: 4}\nprefetch: {at: \"i32[4]\"}\ninputs:\n  x: "
                          "f32[32, 64]\noutputs:\n  y: {array: \"f32[32, 64]\", init: 0}\n  row: "
                          "{array: \"f32[1, 64]\", init: 0}\n  column: {array: \"f32[32, 1]\", "
                          "init: 0}\nscratch:\n  j: {array: \"i32[1]\", memory: smem}\nbody: |\n" +
                          body)
                       .plan);
}

/// Whether a body with a mask has the plan of one with subscripts.
bool IsSubscript(const std::string& masked, const std::string& subscripted) {
  INFO(PlanOfMasks(masked) << "\n" << PlanOfMasks(subscripted));
  return PlanOfMasks(masked) == PlanOfMasks(subscripted);
}

/// Whether the mask is computed.
bool IsMask(const std::string& body) {
  INFO(PlanOfMasks(body));
  return Has(PlanOfMasks(body), "where(");
}

TEST_CASE("a fold of what a mask leaves at one position reads that position") {
  const std::string row = "  row = sum(x[3:4, :], axis=0, keep=true)\n";
  CHECK(
      IsSubscript("  row = sum(where(iota([32, 64], 0) == 3, x, 0.0), axis=0, keep=true)\n", row));
  CHECK(IsSubscript("  row = sum(where(3 == iota([32, 1], 0), x, 0.0), axis=0, keep=true)\n", row));
  CHECK(IsSubscript("  row = sum(where(iota([32, 1], 0) != 3, 0.0, x), axis=0, keep=true)\n", row));
  CHECK(IsSubscript(
      "  column = max(where(iota([1, 64], 1) == 5, x * 2.0, -inf), axis=1, keep=true)\n",
      "  column = max(x[:, 5:6] * 2.0, axis=1, keep=true)\n"));
  CHECK(IsSubscript("  column = min(where(iota([64], 0) == 5, x, inf), axis=1, keep=true)\n",
                    "  column = min(x[:, 5:6], axis=1, keep=true)\n"));
  CHECK(IsSubscript("  row[0, 0:1] = sum(where(iota([32, 64], 0) == 3, x, 0.0), axis=[0, 1])\n",
                    "  row[0, 0:1] = sum(x[3:4, :], axis=[0, 1])\n"));
}

TEST_CASE("a mask, and what it compares, may have names") {
  const std::string named =
      "  let t = iota([32, 64], 0)\n  for i in range(0, 32):\n    let mask = t == i\n"
      "    row = row + sum(where(mask, x, 0.0), axis=0, keep=true)\n";
  INFO(PlanOfMasks(named));
  CHECK(Has(PlanOfMasks(named), "x[i#"));
  CHECK(!IsMask(named));
}

TEST_CASE("masks that hold elsewhere too, and folds of all else, are computed") {
  const auto folds = [](const std::string& what) {
    return IsMask("  row = " + what + ", axis=0, keep=true)\n");
  };
  CHECK(folds("sum(where(iota([32, 64], 0) >= 3, x, 0.0)"));
  CHECK(folds("sum(where(iota([32, 64], 0) == 3, x, 1.0)"));
  CHECK(folds("max(where(iota([32, 64], 0) == 3, x, 0.0)"));
  CHECK(folds("sum(where(iota([32, 64], 0) == 3, 0.0, x)"));
  CHECK(folds("sum(where(iota([32, 64], 1) == 3, x, 0.0)"));
  CHECK(folds("sum(where(iota([32, 64], 0) == i32(x), x, 0.0)"));
}

TEST_CASE("a mask of what changes later is that of its own time") {
  CHECK(
      IsMask("  var k: i32 = 3\n  let mask = iota([32, 64], 0) == at[k]\n  k = 2\n"
             "  row = sum(where(mask, x, 0.0), axis=0, keep=true)\n"));
  CHECK(!IsMask("  var k: i32 = 3\n  y = where(iota([32, 64], 0) == 1 + k % 8, x, y)\n"));
}

TEST_CASE("what is set at one position of itself is stored there alone") {
  CHECK(IsSubscript("  y = where(iota([32, 64], 0) == b, x + y, y)\n",
                    "  y[b:b+1, :] = x[b:b+1, :] + y[b:b+1, :]\n"));
  CHECK(IsSubscript("  y = where(iota([1, 64], 1) != 7, y, x[:, 9:10])\n",
                    "  y[:, 7:8] = x[:, 9:10]\n"));
  CHECK(IsSubscript("  y[iota([32, 64], 0) == b] = 1.0\n", "  y[b:b+1, :] = 1.0\n"));
  CHECK(!IsSubscript("  y[iota([32, 64], 0) != b] = 1.0\n", "  y[b:b+1, :] = 1.0\n"));
  CHECK(IsMask("  y = where(iota([32, 64], 0) == b, y, x)\n"));
  CHECK(IsMask("  y = where(iota([32, 64], 0) == b, 1.0, x)\n"));
  CHECK(IsMask("  y = where(iota([32, 64], 0) == b, flip(y, 0), y)\n"));
}

TEST_CASE("a position that may be out of range is looked at first") {
  const std::string set = PlanOfMasks("  y = where(iota([32, 64], 0) == at[b], 1.0, y)\n");
  INFO(set);
  CHECK(Has(set, "when and(>=(at#1, 0), <(at#1, 32)):"));
  CHECK(Has(set, "y[at#1, i0] = 1.0"));
  const std::string read =
      PlanOfMasks("  row = sum(where(iota([32, 64], 0) == at[b], x, 0.0), axis=0, keep=true)\n");
  INFO(read);
  CHECK(Has(read, "clamp(at#1, 0, 31)"));
  CHECK(Has(read, "and(>=(at#1, 0), <(at#1, 32))"));
}

TEST_CASE("of a dimension that may be empty no position is read that may be out of range") {
  const auto plan = [](const std::string& position) {
    return ToString(
        *PlanOf("kernel: k\ndims: {n: {min: 0}}\nprefetch: {at: \"i32[4]\"}\ninputs: "
                "{x: \"f32[n, 64]\"}\noutputs: {y: {array: \"f32[1, 64]\", init: 0}}\n"
                "body: |\n  for i in range(n):\n    y += sum(where(iota([n, 64], 0) == " +
                position + ", x, 0.0), axis=0, keep=true)\n")
             .plan);
  };
  CHECK(!Has(plan("at[2]"), "clamp("));
  CHECK(Has(plan("i"), "x[i#"));
}

}  // namespace
}  // namespace kiln
