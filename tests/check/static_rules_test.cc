// The rules as far as the text alone decides them: before any size is known.
#include "generator/check/static_rules.h"

#include "generator/check/check_spec.h"
#include "generator/elaborate/elaborate.h"
#include "generator/spec/spec.h"
#include "tests/catch.h"
#include "tests/check/grid/grid_builder.h"

namespace kiln::static_rules_test {
namespace {

using Found = std::vector<std::string>;

/// What is found in a spec by itself.
Found DiagnosticsOf(const std::string& text) {
  const auto source = std::make_shared<const Source>("-", "kernel: k\n" + text);
  Diagnostics diagnostics;
  const auto spec = ParseSpec(source, diagnostics);
  if (spec) CheckSpec(*spec, {}, diagnostics);
  return build::Messages(diagnostics);
}

TEST_CASE("race: an output that no step of a parallel axis has for itself") {
  // No small sizes are like that, so none are tried out.
  const std::string sums = R"yaml(
require: [count % 1000003 == 7]
grid: {t: count}
dimension_semantics: parallel
inputs: {x: "f32[count]"}
)yaml";
  CHECK(DiagnosticsOf(sums + "outputs: {o: {array: \"f32[1]\", init: 0}}\nbody: o += sum(x)\n") ==
        Found{"race: every step of the parallel axis `t` writes the same block of `o` | use `t` in "
              "its index, or make the axis arbitrary"});
  CHECK(DiagnosticsOf(sums + "outputs: {o: {array: \"f32[count]\", block: \"null\", index: t}}\n"
                             "body: o = sum(x)\n") == Found{});
}

TEST_CASE("shape: what fits at some sizes only, unless the spec says that it is these") {
  const std::string transposed = "inputs: {x: \"f32[n, 8]\"}\noutputs: {o: \"f32[n, 8]\"}\n";
  const std::string body = "body: o = x.T\n";
  CHECK(DiagnosticsOf(transposed + body) ==
        Found{"shape: a value of shape [8, n] into `o` of shape [n, 8]: that fits only "
              "where n == 8 | if that is meant, say so: require: [\"n == 8\"]"});
  CHECK(DiagnosticsOf(transposed + "require: [n == 8]\n" + body) == Found{});
  CHECK(DiagnosticsOf(transposed + "require: [\"m > 1 and 8 == n\"]\nscalars: {m: i32}\n" + body) ==
        Found{});
  CHECK(DiagnosticsOf("inputs: {x: \"f32[n, 8]\"}\noutputs: {o: \"f32[8, n]\"}\n" + body) ==
        Found{});
  const std::string halved =
      "inputs: {x: \"f32[n]\"}\noutputs: {o: \"f32[n // 2, 2]\"}\n"
      "body: o = reshape(x, [n // 2, 2])\n";
  CHECK(DiagnosticsOf(halved) ==
        Found{"shape: `reshape` of [n] to [n // 2, 2] changes the number of elements: that "
              "fits only where n == 2*(n // 2) | if that is meant, say so: require: [\"n == 2*(n "
              "// 2)\"]"});
  CHECK(DiagnosticsOf("dims: {n: {multiple_of: 4}}\n" + halved) == Found{});
  CHECK(DiagnosticsOf("require: [n % 2 == 0]\n" + halved) == Found{});
  // The innermost expression says it.
  CHECK(
      DiagnosticsOf("inputs: {x: \"f32[8, n]\"}\noutputs: {o: \"f32[8, n]\"}\n"
                    "body: o = where(x == max(x, axis=1), 0.0, x)\n") ==
      Found{
          "shape: `==` of shapes [8, n] and [8], which differ in dimension 1 (the last "
          "ones are aligned; expand(x, 1) adds one behind): that fits only where n == 8 | if that "
          "is meant, say so: require: [\"n == 8\"]"});
}

const std::string kScratch = R"yaml(
inputs: {x: "f32[8]"}
outputs: {o: "f32[8]"}
scratch: {s: "f32[8]"}
body: |
)yaml";

TEST_CASE("undefined: an output of its own undefined value") {
  CHECK(DiagnosticsOf(kScratch + "  o = o + x\n") ==
        Found{"undefined: `o` is computed from its own undefined value: an output block holds "
              "nothing at the start of each stay | set it on the first step: when first(…): o = 0; "
              "or give the output `init: 0`"});
}

TEST_CASE("undefined: an output of scratch that nothing sets") {
  CHECK(DiagnosticsOf(kScratch + "  for r in range(8):\n    o[r] = x[r] + s[r]\n") ==
        Found{"undefined: `o` is computed from `s`, which holds nothing | store into `s`, or copy "
              "into it, before"});
  // The place of that value is reported, not that of the first one.
  CHECK(DiagnosticsOf(kScratch + "  o = 3\n  o += s\n") ==
        Found{"undefined: `o` is computed from `s`, which holds nothing | store into `s`, or copy "
              "into it, before"});
}

TEST_CASE("undefined: a part that is stored makes the rest neither better nor worse") {
  // Which elements are undefined in the end is what a run shows.
  CHECK(DiagnosticsOf(kScratch + "  o = x\n  o[0] = s[0]\n  o = o + x\n") == Found{});
  CHECK(DiagnosticsOf(kScratch + "  o[0] = x[0]\n  o = o + x\n") == Found{});
}

}  // namespace
}  // namespace kiln::static_rules_test
