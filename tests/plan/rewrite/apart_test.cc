// Transposes, and what looks across a tile, keep out of each other's way.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string PlanOfTurned(const std::string& body) {
  return ToString(
      *PlanOf("kernel: k\ngrid: {i: 2}\ninputs:\n  x: f32[32, 64]\n  b: f32[4, 32, 64]\n"
              "  v: f32[1, 32]\n  p: f32[3, 64]\noutputs:\n"
              "  y: {array: \"f32[64, 32]\", init: 0}\n"
              "  r: {array: \"f32[64, 1]\", init: 0}\n"
              "  c: {array: \"f32[1, 32]\", init: 0}\n"
              "  n: {array: \"i32[64, 1]\", init: 0}\n"
              "  q: {array: \"f32[4, 64, 32]\", init: 0}\n"
              "  o: {array: \"f32[64, 3]\", init: 0}\n"
              "  h: {array: \"f32[32, 4, 64]\", init: 0}\nbody: |\n" +
              body)
           .plan);
}

bool AreOnePlan(const std::string& turned, const std::string& plain) {
  INFO(PlanOfTurned(turned) << "\n" << PlanOfTurned(plain));
  return PlanOfTurned(turned) == PlanOfTurned(plain);
}

/// Whether vectors are transposed in registers, and none takes an element of each of many rows.
bool TransposesInRegisters(const std::string& body) {
  INFO(PlanOfTurned(body));
  return Has(PlanOfTurned(body), "transposes ");
}

TEST_CASE("a fold of a transpose is one along the other dimension") {
  CHECK(AreOnePlan("  r = sum(x.T, axis=1, keep=true)\n",
                   "  r = reshape(sum(x, axis=0, keep=true), [64, 1])\n"));
  CHECK(AreOnePlan("  c = max(x.T * 2.0, axis=0, keep=true)\n",
                   "  c = reshape(max(x * 2.0, axis=1, keep=true), [1, 32])\n"));
  CHECK(AreOnePlan("  r = expand(sum(x.T, axis=1), 1)\n", "  r = expand(sum(x, axis=0), 1)\n"));
  CHECK(AreOnePlan("  n = argmax(x.T, axis=1, keep=true)\n",
                   "  n = reshape(argmax(x, axis=0, keep=true), [64, 1])\n"));
  CHECK(AreOnePlan("  r = sum(x.T - v, axis=1, keep=true)\n",
                   "  r = reshape(sum(x - reshape(v, [32, 1]), axis=0, keep=true), [64, 1])\n"));
  CHECK(AreOnePlan("  y = sum(transpose(b, [0, 2, 1]), axis=0)\n", "  y = sum(b, axis=0).T\n"));
  CHECK(AreOnePlan("  c = sum(transpose(b, [0, 2, 1]), axis=[0, 1], keep=true)[0]\n",
                   "  c = reshape(sum(b, axis=[0, 2], keep=true), [1, 1, 32])[0]\n"));
}

TEST_CASE("transposes of several orders have no dimension in common") {
  const std::string plan = ToString(
      *PlanOf(
           "kernel: k\ninputs: {t: \"f32[16, 16, 16]\"}\noutputs: {o: \"f32[16, 16]\"}\nbody: |\n"
           "  o = sum(transpose(t, [2, 1, 0]) - transpose(t, [2, 0, 1]), axis=2)\n")
           .plan);
  INFO(plan);
  CHECK(Has(plan, "moved#1 = t[i2, i1, i0]"));
  CHECK(Has(plan, "moved#2 = t[i1, i2, i0]"));
}

TEST_CASE("masks by position are those of the argument's own positions") {
  CHECK(
      AreOnePlan("  r = sum(where(iota([64, 32], 0) >= iota([64, 32], 1), x.T, 0.0), axis=1,"
                 " keep=true)\n",
                 "  r = reshape(sum(where(iota([32, 64], 1) >= iota([32, 64], 0), x, 0.0), axis=0,"
                 " keep=true), [64, 1])\n"));
}

TEST_CASE("what else looks across a transpose reads it from memory of its own") {
  for (const std::string what :
       {"flip(x.T, 1)", "flip(x.T, 0)", "roll(x.T, 3, axis=1)", "cumsum(x.T, axis=0)",
        "cumsum(x.T * 2.0, axis=1)", "take(x.T, i32(v[0]), axis=1)", "x.T - roll(x.T, 1, axis=0)",
        "repeat(x.T[0:32], 2, axis=0)", "x.T - max(x.T + y, axis=1, keep=true)"}) {
    CHECK(TransposesInRegisters("  y = " + what + "\n"));
  }
}

TEST_CASE("a transpose of elements in another order reads these from memory of their own") {
  for (const std::string what :
       {"flip(x, 1).T", "flip(x, 0).T", "(roll(x, 3, axis=1) * 2.0).T",
        "take(x, i32(v[0]), axis=0).T", "repeat(x[:, 0:32], 2, axis=1).T",
        "reshape(transpose(reshape(x, [32, 2, 32]), [1, 0, 2]), [32, 64]).T"}) {
    CHECK(TransposesInRegisters("  y = " + what + "\n"));
  }
}

TEST_CASE("the loop that columns are taken by is the innermost") {
  const std::string plan = ToString(
      *PlanOf("kernel: k\ninputs: {t: \"f32[16, 24, 32]\"}\noutputs: {o: \"f32[32, 24, 16]\"}\n"
              "body: |\n  o = transpose(t, [2, 1, 0])\n")
           .plan);
  INFO(plan);
  CHECK(Has(plan, "transposes t[i2, i1, i0]"));
}

TEST_CASE("what runs around has memory of its own where a flip or steps read it") {
  const auto has_memory = [](const std::string& body) {
    return Has(PlanOfTurned(body), "value moved#");
  };
  CHECK(has_memory("  y = flip(roll(y, 3, axis=1) * 2.0, 1)\n"));
  CHECK(has_memory("  q[0, :, 0:16] = roll(y, i, axis=1)[:, 0:32:2]\n"));
  CHECK(!has_memory("  y = flip(roll(y, 3, axis=1), 0)\n"));
  CHECK(!has_memory("  y = flip(roll(y, 3, axis=0), 1)\n"));
}

TEST_CASE("elements of inputs are moved first and cast then") {
  const auto is_copied = [](const std::string& type, const std::string& body) {
    return Has(ToString(*PlanOf("kernel: k\ninputs: {x: \"" + type +
                                "[32, 64]\", at: \"i32[32]\", to: \"i32[64]\"}\noutputs: {o: "
                                "\"f32[32, 64]\"}\nbody: |\n  o = " +
                                body + "\n")
                             .plan),
               "value value#");
  };
  for (const std::string body :
       {"roll(f32(x), 3, axis=1)", "roll(f32(x), 3, axis=0) * 2.0", "take(f32(x), at, axis=0)"}) {
    CHECK(!is_copied("bf16", body));
    CHECK(!is_copied("i8", body));
    CHECK(is_copied("i4", body));
  }
  CHECK(is_copied("bf16", "take(f32(x), to, axis=1)"));
}

TEST_CASE("one name is enough for all that read the same transpose") {
  const std::string plan =
      PlanOfTurned("  y = flip(x.T, 0) + roll(x.T, 1, axis=1)\n  y += flip(x.T, 1)\n");
  INFO(plan);
  CHECK(Has(plan, "value moved#"));
  CHECK(plan.find("transposes ") == plan.rfind("transposes "));
}

TEST_CASE("transposes of few elements, or that leave lanes as they are, stay where they are") {
  CHECK(!Has(PlanOfTurned("  o = flip(p.T, 0)\n"), "moved"));
  CHECK(!Has(PlanOfTurned("  h = flip(transpose(b, [1, 0, 2]), 0)\n"), "moved"));
}

}  // namespace
}  // namespace kiln
