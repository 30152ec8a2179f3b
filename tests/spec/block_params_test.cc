#include "generator/spec/block_params.h"

#include "tests/spec/spec_testing.h"

namespace kiln::spec_testing {
namespace {

std::string ParamsThatCut(const std::string& params, const std::string& body,
                          const std::string& more = "") {
  const Parsed parsed = Parse(
      "kernel: k\nparams: {" + params +
      "}\ngrid: {i: \"cdiv(m, bm)\"}\ninputs:\n"
      "  x: {array: \"f32[m, 64]\", block: \"bm, all\", index: \"i, 0\"" +
      more +
      "}\n"
      "outputs:\n  o: {array: \"f32[m, 64]\", block: \"bm, all\", index: \"i, 0\"}\nbody: |\n" +
      body);
  REQUIRE(parsed.spec);
  std::string names;
  for (const std::string& name : BlockParams(*parsed.spec)) names += name + " ";
  return names;
}

TEST_CASE("a param that only cuts the problem changes no result") {
  CHECK(ParamsThatCut("bm: 8", "  o = x\n") == "bm ");
  CHECK(ParamsThatCut("bm: 8", "  var t: f32[bm, 64] = 0\n  o = x + t\n") == "bm ");
  CHECK(ParamsThatCut("bm: 8", "  for r in range(bm):\n    o[r] = x[r]\n") == "bm ");
  CHECK(ParamsThatCut("bm: 8", "  o = x[0:bm] * f32(iota([bm, 64], 0) + i * bm)\n") == "bm ");
  CHECK(ParamsThatCut("half: 4, bm: 2 * half", "  o = x\n") == "bm half ");
}

TEST_CASE("a param whose value may reach a result is nobody's to change") {
  CHECK(ParamsThatCut("bm: 8, window: 128", "  o = where(at(x, 0) < window, x, 0.0)\n") == "bm ");
  CHECK(ParamsThatCut("bm: 8", "  o = where(iota([bm, 64], 0) < bm, x, 0.0)\n").empty());
  CHECK(ParamsThatCut("bm: 8", "  o = x / bm\n").empty());
  CHECK(ParamsThatCut("bm: 8", "  o = f32(at(x, 0) * bm)\n").empty());
  CHECK(ParamsThatCut("bm: 8", "  o = f32(bm * 3 + i)\n").empty());
  CHECK(ParamsThatCut("bm: 8", "  when bm > 4:\n    o = x\n  else:\n    o = 0\n").empty());
  CHECK(ParamsThatCut("bm: 8", "  o = x\n", ", pad: bm").empty());
  CHECK(ParamsThatCut("bm: 8, all_of: 2 * bm", "  o = x + all_of\n").empty());
  CHECK(ParamsThatCut("bm: 8, flag: true", "  o = x\n") == "bm ");
}

}  // namespace
}  // namespace kiln::spec_testing
