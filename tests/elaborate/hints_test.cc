// What messages add to a fault: words of other systems in Kiln's, what would define a name; and
// nothing of what only follows from it.
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "generator/syntax/foreign.h"
#include "tests/catch.h"
#include "tests/elaborate/probe.h"

namespace kiln::elaborate_test {
namespace {

/// The names that are called in a hint: "dot" of "write dot(a, b)".
std::vector<std::string> CallsIn(std::string_view hint) {
  std::vector<std::string> calls;
  size_t begin = hint.size();
  for (size_t at = 0; at < hint.size(); ++at) {
    const char c = hint[at];
    const bool word = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (word && begin == hint.size()) begin = at;
    if (c == '(' && begin != hint.size()) calls.emplace_back(hint.substr(begin, at - begin));
    if (!word) begin = hint.size();
  }
  return calls;
}

TEST_CASE("hints for words of other systems name functions that exist, for words that do not") {
  for (const ForeignWord& row : ForeignWords()) {
    std::istringstream in{std::string(row.words)};
    for (std::string word; in >> word;) {
      INFO(word);
      CHECK_FALSE(FindFunction(word));
      CHECK(HintForForeign(word) == row.hint);
    }
    for (const std::string& name : CallsIn(row.hint)) {
      INFO(row.hint << ": " << name);
      CHECK((FindFunction(name) || ParseDType(name) || name == "ds" || name == "range"));
    }
  }
}

TEST_CASE("a word of another system is answered by Kiln's") {
  CHECK(Refused("  o = pow(x, 2)\n") == "error[name]: there is no function `pow`");
  std::string messages;
  CHECK_FALSE(CheckBody("  o = pow(x, 2)\n  o = x * pi\n", messages));
  CHECK(messages.find("hint: write a ** b") != std::string::npos);
  CHECK(messages.find("hint: write 3.141592653589793") != std::string::npos);
}

TEST_CASE("an argument of another system is answered by Kiln's") {
  const std::pair<const char*, const char*> cases[] = {
      {"cumsum(x, axis=0, reverse=true)",
       "hint: what runs from the end is in reverse twice: flip(cumsum(flip(x, 0), axis=0), 0)\n"},
      {"sort(x, axis=0, stable=true)", "hint: equals always keep their order\n"},
      {"sum(x, axis=1, keepdims=true)", "hint: write keep=true\n"},
      {"sum(x, dim=1)", "hint: write axis=…\n"},
      {"gelu(x, approximate=true)", "hint: gelu_tanh(x) is the approximation by tanh"},
      {"dot(x, x.T, precision=1)", "hint: dot sums up in f32"},
      {"cumsum(x, axle=0)", "hint: write cumsum(x, axis=0)\n"},
  };
  for (const auto& [expression, part] : cases) {
    std::string messages;
    CHECK_FALSE(CheckBody(std::string("  o = ") + expression + "\n", messages));
    INFO(messages);
    CHECK(messages.find(part) != std::string::npos);
  }
  for (const ForeignArgument& row : ForeignArguments()) {
    for (const std::string& name : CallsIn(row.hint)) {
      INFO(row.hint << ": " << name);
      CHECK((FindFunction(name) || ParseDType(name)));
    }
  }
}

TEST_CASE("a subscript from the end says what it is from the start") {
  std::string messages;
  CHECK_FALSE(CheckBody("  o = x[:, -1]\n  o = x[0:-2]\n", messages));
  CHECK(messages.find("the subscript -1 of `x` (dimension 1) is out of range: its extent is 16") !=
        std::string::npos);
  CHECK(messages.find("hint: count from the start: 15\n") != std::string::npos);
  CHECK(messages.find("hint: count from the start: 6\n") != std::string::npos);
  auto source = std::make_shared<const Source>(
      "-", "kernel: k\ninputs: {x: \"f32[n]\"}\noutputs: {o: f32}\nbody: o = x[-1]\n");
  Diagnostics diagnostics;
  const auto spec = ParseSpec(source, diagnostics);
  CHECK_FALSE(CheckSpec(*spec, {}, diagnostics));
  CHECK(Render(diagnostics, *source).find("hint: count from the start: n - 1\n") !=
        std::string::npos);
}

TEST_CASE("a name that nothing defines is reported once, with what would define it") {
  auto source = std::make_shared<const Source>("-", R"yaml(kernel: k
params: {bq: 8}
let: {group: hq // hk}
grid: {h: hk, i: "cdiv(m, bq)"}
inputs:
  q: {array: "f32[hk, hq // hk, m, d]", block: "null, all, bq, all", index: "h, 0, i, 0"}
  k: {array: "f32[hk, n, d]", block: "null, all, all", index: "h // group, 0, 0"}
outputs:
  o: {array: "f32[hk, hq // hk, m, d]", like: q}
scratch: {acc: "f32[hq // hk, bq, d]"}
body: o = q
)yaml");
  Diagnostics diagnostics;
  const auto spec = ParseSpec(source, diagnostics);
  REQUIRE(spec);
  CHECK_FALSE(CheckSpec(*spec, {}, diagnostics));
  const std::string told = Render(diagnostics, *source);
  INFO(told);
  CHECK(told.find("-:6:23: error[name]: `hq` is not defined (and at 4 more places)\n") !=
        std::string::npos);
  CHECK(
      told.find("hint: a dimension stands by itself in the shape of an argument, f32[hq, …]; other "
                "names are params, axes, scalars and lets\n") != std::string::npos);
  CHECK(told.find("is not defined", told.find("is not defined") + 1) == std::string::npos);
}

TEST_CASE("of shapes that follow from one that is at fault nothing is said") {
  auto source = std::make_shared<const Source>("-", R"yaml(kernel: k
grid: {g: groups}
inputs: {x: {array: "f32[groups * 4, n]", block: "4, all", index: "g, 0"}}
outputs: {y: {array: "f32[groups * 4, n]", like: x}}
body: y = x + iota([4, n], 0)
)yaml");
  Diagnostics diagnostics;
  const auto spec = ParseSpec(source, diagnostics);
  REQUIRE(spec);
  CHECK_FALSE(CheckSpec(*spec, {}, diagnostics));
  const std::string told = Render(diagnostics, *source);
  INFO(told);
  CHECK(told.find("`groups` is not defined (and at 2 more places)") != std::string::npos);
  CHECK(told.find("error[shape]") == std::string::npos);
}

}  // namespace
}  // namespace kiln::elaborate_test
