// Scratch that is read where copies by hand found it, or set where they are going to move it.
#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

std::string PlanByHand(const std::string& body, const std::string& of_output = "") {
  return ToString(
      *PlanOf("kernel: k\ngrid: {g: 4}\ninputs:\n"
              "  x: {array: \"f32[64, 32]\", memory: any}\n"
              "  w: {array: \"f32[64, 32]\", memory: any}\n"
              "  c: {array: \"i32[4]\", memory: smem}\noutputs:\n"
              "  o: {array: \"f32[64, 32]\", memory: any, init: 0" +
              of_output +
              "}\n"
              "  r: {array: \"f32[64, 32]\", memory: any, init: 0}\n"
              "  y: {array: \"f32[64, 32]\", block: \"16, 32\", index: \"g, 0\", init: 0}\n"
              "scratch:\n  b: f32[2, 16, 32]\n  v: f32[16, 32]\n  t: f32[16, 32]\n"
              "  s: {semaphore: dma}\nbody: |\n" +
              body)
           .plan);
}

constexpr const char* kBring = "  let k = g % 2\n  copy x[ds(g * 16, 16)] -> b[k], s\n  wait s\n";

/// Whether all that reads b reads it where a copy found it.
bool IsFound(const std::string& body, const std::string& of_output = "") {
  const std::string plan = PlanByHand(kBring + body, of_output);
  INFO(plan);
  return Has(plan, "may be read, as b#");
}
/// Whether what sets v sets it where a copy is going to move it.
bool IsAhead(const std::string& body, const std::string& of_output = "") {
  const std::string plan = PlanByHand(body, of_output);
  INFO(plan);
  return Has(plan, "may be written, as v#") && Has(plan, "Direct: where o[");
}

TEST_CASE("what one copy brings is read where that found it") {
  CHECK(IsFound("  y = b[k] * 2.0\n"));
  CHECK(IsFound("  y = max(b[k], axis=0, keep=true) + b[k]\n"));
  CHECK(IsFound("  y[0:8] = b[k, 8:16]\n  y[8:16] = b[k, 0:8]\n"));
  CHECK(IsFound("  let f = flip(b[k], axis=1)\n  y = f + b[k]\n"));
  CHECK(IsFound("  for i in range(3):\n    y = b[k] + f32(i)\n"));
  // A copy out of it, too, which has the bytes moved before.
  CHECK(IsFound("  y = b[k]\n  copy b[k] -> o[ds(g * 16, 16)], s\n  wait s\n"));
}

TEST_CASE("it is found again once it may be elsewhere") {
  const auto times = [](const std::string& body) {
    const std::string plan = PlanByHand(kBring + body);
    size_t count = 0;
    for (size_t at = plan.find("as b#"); at != std::string::npos; at = plan.find("as b#", at + 1))
      ++count;
    return count;
  };
  CHECK(times("  y = b[k]\n  let f = max(b[k], axis=1, keep=true)\n  y = y + f * b[k]\n") == 1);
  CHECK(times("  y = b[k]\n  copy x[0:16] -> b[k], s\n  wait s\n  y = y + b[k]\n") == 2);
  CHECK(times("  var j: i32 = 0\n  y = b[j]\n  j = 1\n  y = y + b[j]\n") == 2);
}

TEST_CASE("what is read where nobody says which part is needs its copies") {
  CHECK(!IsFound("  y = b[k] if g > 1 else v\n"));
  CHECK(!IsFound("  y = b[k]\n  when b[0, 0, 0] > 0.0:\n    y = v\n"));
  CHECK(!IsFound("  y[0:8] = b[k, 0:8] + b[1 - k, 0:8]\n"));
  CHECK(!IsFound("  y = b[k]\n  copy x[ds(i32(b[k, 0, 0]), 16)] -> v, s\n  wait s\n"));
}

TEST_CASE("so does what is set by others than copies of inputs") {
  CHECK(!IsFound("  y = b[k]\n  b[k] = y * 2.0\n"));
  CHECK(!IsFound("  y = b[k]\n  copy o[0:16] -> b[k], s\n  wait s\n  y = b[k]\n"));
  CHECK(!IsFound("  y = b[k]\n  copy v -> b[k], s\n  wait s\n"));
}

constexpr const char* kTake = "  copy v -> o[ds(g * 16, 16)], s\n  wait s\n";

TEST_CASE("what is set and then copied to an output is set there") {
  CHECK(IsAhead("  v = 1.0\n" + std::string(kTake)));
  CHECK(IsAhead("  v = f32(iota([16, 32], 0)) * f32(c[g])\n" + std::string(kTake)));
  CHECK(IsAhead("  let k = g % 2\n  copy x[0:16] -> b[k], s\n  wait s\n  v = b[k] * 2.0\n" +
                std::string(kTake)));
  CHECK(
      IsAhead("  for i in range(2):\n    v = f32(i)\n    wait s\n"
              "    copy v -> o[ds(i * 16, 16)], s\n"));
}

TEST_CASE("so are several tiles that are copied one after the other, each to an array of its own") {
  const auto has_both = [](const std::string& array) {
    const std::string plan = PlanByHand(
        "  v = 1.0\n  t = 2.0\n  copy v -> o[ds(g * 16, 16)], s\n"
        "  copy t -> " +
        array + "[ds(g * 16, 16)], s\n  wait s\n  wait s\n");
    INFO(plan);
    return Has(plan, "may be written, as v#") && Has(plan, "may be written, as t#");
  };
  CHECK(has_both("r"));
  CHECK(!has_both("o"));
}

TEST_CASE("what is set in parts, twice, under a mask or a condition is not") {
  CHECK(!IsAhead("  v[0:8] = 1.0\n  v[8:16] = 2.0\n" + std::string(kTake)));
  CHECK(!IsAhead("  v = 1.0\n  v = 2.0\n" + std::string(kTake)));
  CHECK(!IsAhead("  t = 3.0\n  v[t > 4.0] = 1.0\n" + std::string(kTake)));
  CHECK(!IsAhead("  when g > 0:\n    v = 1.0\n" + std::string(kTake)));
}

TEST_CASE("nor is what others read, or what is copied later or elsewhere") {
  CHECK(!IsAhead("  v = 1.0\n" + std::string(kTake) + "  y = v\n"));
  CHECK(!IsAhead("  v = 1.0\n  copy x[0:16] -> t, s\n  wait s\n" + std::string(kTake)));
  CHECK(!IsAhead("  v = 1.0\n  copy v -> t, s\n  wait s\n"));
  CHECK(!IsAhead("  v = 1.0\n  copy v[0:8] -> o[ds(g * 16, 8)], s\n  wait s\n"));
  CHECK(!IsAhead("  v = 1.0\n" + std::string(kTake) + std::string(kTake)));
}

TEST_CASE("nor is what may go elsewhere by then") {
  CHECK(!IsAhead("  var j: i32 = 0\n  v = 1.0\n  j = 16\n  copy v -> o[ds(j, 16)], s\n  wait s\n"));
  CHECK(!IsAhead(
      "  var j: i32 = 0\n  j = g\n  v = 1.0\n  copy v -> o[ds(j * 16, 16)], s\n  wait s\n"));
}

TEST_CASE("an input whose memory an output takes over is copied, and others are found") {
  CHECK(!IsFound("  y = b[k]\n", ", alias: x"));
  CHECK(IsFound("  y = b[k]\n", ", alias: w"));
}

TEST_CASE("nor is an output that has the memory of an input") {
  CHECK(!IsAhead("  v = 1.0\n" + std::string(kTake), ", alias: x"));
}

}  // namespace
}  // namespace kiln
