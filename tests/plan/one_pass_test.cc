// Reductions of the same rows become one pass over them where they read something in common and
// none waits for another.
#include "generator/planner/fuse/rows/one_pass.h"

#include "tests/plan/plan_testing.h"

namespace kiln {
namespace {

size_t CountIn(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

/// How many passes that reduce rows the plan of this body has, and how many reductions.
struct RowPasses {
  size_t passes = 0, reductions = 0;

  friend bool operator==(const RowPasses&, const RowPasses&) = default;
};

RowPasses PassesOf(const std::string& statements) {
  const Planned planned = PlanOf(R"yaml(kernel: k
grid: {i: 4}
inputs:
  x: {array: "f32[128, 512]", block: "32, 512", index: "i, 0"}
  w: {array: "f32[128, 512]", block: "32, 512", index: "i, 0"}
  d: {array: "f64[128, 512]", block: "32, 512", index: "i, 0"}
outputs:
  y: {array: "f32[128, 512]", block: "32, 512", index: "i, 0"}
  s: {array: "f32[128, 1]", block: "32, 1", index: "i, 0"}
  t: {array: "f32[128, 1]", block: "32, 1", index: "i, 0"}
  u: {array: "f64[128, 1]", block: "32, 1", index: "i, 0"}
body: |
  y = 0
  s = 0
  t = 0
  u = 0
)yaml" + statements);
  const std::string text = ToString(*planned.plan);
  INFO(text);
  const size_t reductions = CountIn(text, " of lanes ");
  return {reductions - CountIn(text, ", in one pass with"), reductions};
}

TEST_CASE("reductions of one row that read it both are one pass") {
  CHECK(PassesOf("  s = sum(x, axis=1, keep=true)\n  t = sum(x * x, axis=1, keep=true)\n") ==
        RowPasses{1, 2});
  CHECK(PassesOf("  s = sum(x, axis=1, keep=true) / max(x, axis=1, keep=true)\n"
                 "  t = min(x, axis=1, keep=true) * prod(x, axis=1, keep=true)\n") ==
        RowPasses{1, 4});
}

TEST_CASE("as many as registers hold are one pass") {
  CHECK(PassesOf("  s = sum(x, axis=1, keep=true) + max(x, axis=1, keep=true)\n"
                 "  let q = sum(x * x, axis=1, keep=true)\n"
                 "  t = q * min(x, axis=1, keep=true) * prod(x, axis=1, keep=true)\n") ==
        RowPasses{2, 5});
}

TEST_CASE("a reduction that needs the result of another is a pass of its own") {
  CHECK(PassesOf("  let top = max(x, axis=1, keep=true)\n"
                 "  s = sum(exp(x - top), axis=1, keep=true)\n  t = top\n") == RowPasses{2, 2});
  CHECK(PassesOf("  s = max(x, axis=1, keep=true)\n"
                 "  t = sum(x * s, axis=1, keep=true)\n") == RowPasses{2, 2});
}

TEST_CASE("what a reduction needs goes in front of the pass that it joins") {
  // w's mean is a value of the row, found between the two that read x.
  CHECK(PassesOf("  s = sum(x, axis=1, keep=true)\n"
                 "  let m = mean(w, axis=1, keep=true)\n"
                 "  t = sum(x * m, axis=1, keep=true)\n") == RowPasses{2, 3});
  // But not if that waits for the pass.
  CHECK(PassesOf("  s = sum(x, axis=1, keep=true)\n"
                 "  let m = mean(w * s, axis=1, keep=true)\n"
                 "  t = sum(x * m, axis=1, keep=true)\n") == RowPasses{3, 3});
}

TEST_CASE("reductions join those with which they have most in common") {
  // The sum of w joins the last pass, which reads both, and not the first one.
  const RowPasses passes = PassesOf(
      "  let c = x - mean(x, axis=1, keep=true)\n"
      "  s = sum(x * w, axis=1, keep=true)\n"
      "  t = sum(c * w * x, axis=1, keep=true)\n");
  CHECK(passes == RowPasses{2, 3});
}

TEST_CASE("reductions of rows that have nothing in common are two passes") {
  CHECK(PassesOf("  s = sum(x, axis=1, keep=true)\n  t = sum(w, axis=1, keep=true)\n") ==
        RowPasses{2, 2});
}

TEST_CASE("lanes of 64 bits, and masks, are passes of their own") {
  CHECK(PassesOf("  s = sum(x, axis=1, keep=true)\n"
                 "  u = sum(f64(x) * d, axis=1, keep=true)\n") == RowPasses{2, 2});
  CHECK(PassesOf("  s = sum(x, axis=1, keep=true)\n"
                 "  t = f32(any(x > 0, axis=1, keep=true))\n") == RowPasses{2, 2});
}

TEST_CASE("a store between two reductions keeps them apart if the first one reads it from memory") {
  const std::string reductions =
      "  s = sum(y, axis=1, keep=true)\n  y = y * 2\n"
      "  t = sum(y, axis=1, keep=true)\n";
  CHECK(PassesOf("  when first(i):\n    y = x\n" + reductions) == RowPasses{2, 2});
  CHECK(PassesOf("  y = x\n" + reductions) == RowPasses{1, 2});  // where it has a name by then
}

TEST_CASE("sums of whole blocks are one pass, too") {
  CHECK(PassesOf("  s = sum(x)\n  t = sum(x * x)\n") == RowPasses{1, 2});
}

TEST_CASE("a product that a pass needs before it comes with what packs its operands") {
  const std::string plan =
      ToString(*PlanOf("kernel: k\ninputs:\n  a: f32[3, 13]\n  b: f32[3, 40]\noutputs:\n  q: "
                       "f32[13, 1]\n  z: f32[13, 1]\nbody: |\n  let d = dot(a.T, b)\n"
                       "  q = min(d, axis=1, keep=true)\n"
                       "  z = sum(d - dot(a.T, b), axis=1, keep=true) * a[0, 0]\n")
                    .plan);
  INFO(plan);
  const size_t pass = plan.find("in one pass with");
  const size_t pack = plan.rfind("pack panels"), dot = plan.rfind("dot of f32");
  CHECK(pack < dot);
  CHECK(dot < pass);
  CHECK(pass != std::string::npos);
}

}  // namespace
}  // namespace kiln
