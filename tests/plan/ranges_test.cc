// Which subscripts are checked at run time: those that the text alone does not prove to be in
// range.
#include "generator/plan/walk.h"
#include "tests/plan/plan_testing.h"

namespace kiln::ranges_test {
namespace {

/// The plan of a body on a grid of 8 steps with `o: f32[8]` and `p: f32[n]`.
Planned PlanWith(const std::string& body) {
  return PlanOf(
      "kernel: k\ngrid: {i: 8}\nprefetch: {ids: \"i32[8]\"}\n"
      "outputs:\n  o: {array: \"f32[8]\", init: 0}\n  p: {array: \"f32[n]\", init: 0}\n"
      "body: |\n" +
      body);
}

/// How many checks it has.
int ChecksOf(const std::string& body) {
  const Planned planned = PlanWith(body);
  int checks = 0;
  ForEachStage(planned.plan->bodies[0].stages,
               [&](const Stage& stage) { checks += Is<stage::Range>(stage); });
  return checks;
}

TEST_CASE("what the text proves to be in range is not checked") {
  CHECK(ChecksOf("  o[i] = 1.0\n") == 0);
  CHECK(ChecksOf("  for r in range(8):\n    o[r] = 1.0\n") == 0);
  CHECK(ChecksOf("  for r in range(n):\n    p[r] = 1.0\n") == 0);
  CHECK(ChecksOf("  o[ds(i // 2, 5)] = 1.0\n") == 0);
}

TEST_CASE("one element too far is checked, at either end") {
  CHECK(ChecksOf("  for r in range(9):\n    o[r] = 1.0\n") == 1);
  CHECK(ChecksOf("  for r in range(n):\n    p[r + 1] = 1.0\n") == 1);
  CHECK(ChecksOf("  o[i + 1] = 1.0\n") == 1);
  CHECK(ChecksOf("  o[i - 1] = 1.0\n") == 1);
  CHECK(ChecksOf("  o[ds(i, 2)] = 1.0\n") == 1);
  CHECK(ChecksOf("  o[ds(i // 2, 6)] = 1.0\n") == 1);
}

TEST_CASE("what a lookup gives is checked") { CHECK(ChecksOf("  o[ids[i]] = 1.0\n") == 1); }

TEST_CASE("the least and the largest index of a take are checked unless the text proves both") {
  CHECK(ChecksOf("  o = take(o, iota([8], 0), axis=0)\n") == 0);
  CHECK(ChecksOf("  o = take(o, iota([8], 0) + 1, axis=0)\n") == 1);
  CHECK(ChecksOf("  o = take(o, iota([8], 0) - 1, axis=0)\n") == 1);
  CHECK(ChecksOf("  o = take(o, ids, axis=0)\n") == 2);
  CHECK(ChecksOf("  o = take(o, abs(ids % 100), axis=0)\n") == 1);
  CHECK(ChecksOf("  o = take(o, min(ids, 7), axis=0)\n") == 1);
  const std::string plan = ToString(*PlanWith("  o = take(o, ids, axis=0)\n").plan);
  INFO(plan);
  CHECK(plan.find("= min of") != std::string::npos);
  CHECK(plan.find("= max of") != std::string::npos);
}

/// The checks of a take of 8 elements by such indices.
int ChecksOfTake(const std::string& indices) {
  return ChecksOf("  let at = " + indices + "\n  o = take(o, at, axis=0)\n");
}

TEST_CASE("types and bits that are left over prove an index to be in range") {
  CHECK(ChecksOfTake("ids & 7") == 0);
  CHECK(ChecksOfTake("ids % 8") == 0);
  CHECK(ChecksOfTake("i32(u8(ids) >> 5)") == 0);
  CHECK(ChecksOfTake("i32(u4(ids)) // 2") == 0);
  CHECK(ChecksOfTake("where(ids > 3, i32(u4(ids) >> 1), 7)") == 0);
  CHECK(ChecksOfTake("reshape(concat([ids[0:4] & 3, ids[4:8] & 7], axis=0), [8])") == 0);
  CHECK(ChecksOfTake("ids & 8") == 1);
  CHECK(ChecksOfTake("i32(u8(ids) >> 4)") == 1);
  CHECK(ChecksOfTake("i32(i8(ids) & 7)") == 0);
  CHECK(ChecksOfTake("i32(i4(ids))") == 1);
}

TEST_CASE("what may wrap around, or have no value, is checked") {
  CHECK(ChecksOfTake("i32(i8(iota([8], 0) + 125))") == 2);
  CHECK(ChecksOfTake("i32(min(u8(iota([8], 0) + 250), 7))") == 0);
  CHECK(ChecksOfTake("i32(max(u32(iota([8], 0)) - 1, u32(0)))") == 2);
  CHECK(ChecksOfTake("min(iota([8], 0) * 400000000, 7)") == 1);
  CHECK(ChecksOfTake("min(iota([8], 0) * 300000000, 7)") == 0);
  CHECK(ChecksOfTake("(ids & 7) // (ids & 3)") == 2);
  CHECK(ChecksOfTake("(ids & 7) // ((ids & 3) + 1)") == 0);
  CHECK(ChecksOf("  o = take(o, broadcast(max(iota([0], 0), axis=0), [8]), axis=0)\n") == 2);
}

}  // namespace
}  // namespace kiln::ranges_test
