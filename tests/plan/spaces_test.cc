// Which dimensions of tiles may stop at their array's edge.
#include <algorithm>

#include "tests/plan/plan_testing.h"

namespace kiln::spaces_test {
namespace {

/// The plan's spaces that are clipped, of a spec on one axis `i` of blocks of 8.
int64_t ClippedOf(const std::string& operands, const std::string& body) {
  const std::string text = "kernel: k\ngrid: {i: \"cdiv(n, 8)\"}\n" + operands + "body: |\n" + body;
  const Planned planned = PlanOf(text);
  return std::count_if(planned.plan->spaces.begin(), planned.plan->spaces.end(),
                       [](const Space& space) { return space.clipped; });
}

const std::string kOut = "outputs:\n  o: {array: \"f32[n]\", block: \"8\", index: i}\n";

std::string In(const std::string& array, const std::string& index) {
  return "inputs:\n  x: {array: \"f32[" + array + "]\", block: \"8\", index: \"" + index + "\"}\n";
}

TEST_CASE("blocks that are cut at the same edge by the same index stop there") {
  CHECK(ClippedOf(In("n", "i") + kOut, "  o = x\n") == 1);
}

TEST_CASE("blocks of arrays of other sizes are walked whole, as they are cut at other edges") {
  CHECK(ClippedOf(In("n + 3", "i") + kOut, "  o = x\n") == 0);
}

TEST_CASE("blocks at another index are walked whole") {
  CHECK(ClippedOf(In("n", "cdiv(n, 8) - 1 - i") + kOut, "  o = x\n") == 0);
}

TEST_CASE("what is looked across is walked whole") {
  const std::string in = In("n", "i").insert(In("n", "i").size() - 2, ", pad: 0");
  for (const char* body :
       {"  o = roll(x, 1, axis=0)\n", "  o = cumsum(x, axis=0)\n", "  o = x - sum(x)\n",
        "  o = flip(x, 0)\n", "  o = sort(x, axis=0)\n", "  o = x\n  o[1:3] = x[0:2]\n"}) {
    INFO(body);
    CHECK(ClippedOf(in + kOut, body) == 0);
  }
}

TEST_CASE("what is stored into a window is walked whole: its pad counts as well") {
  const std::string out = "outputs:\n  o: {array: \"f32[20]\", block: 20, index: 0, init: 1}\n";
  const std::string in = In("n", "i").insert(In("n", "i").size() - 2, ", pad: 7");
  for (const char* body :
       {"  o[ds(i, 8)] = x\n", "  o[2:10] = x\n", "  let t = x * 2.0\n  o[3:11] = t\n",
        "  var v = x\n  v += 1.0\n  o[3:11] = v\n"}) {
    INFO(body);
    CHECK(ClippedOf(in + out, body) == 0);
  }
}

TEST_CASE("scratch that outlives a step has no edge of its own") {
  const std::string scratch = "scratch:\n  s: f32[8]\n";
  CHECK(ClippedOf(In("n", "i") + kOut + scratch,
                  "  when first(i):\n    s = 0.0\n  s += where(inside(x), x, 0.0)\n  o = s\n") ==
        0);
}

}  // namespace
}  // namespace kiln::spaces_test
