// Text that is no spec.
#include <nlohmann/json.hpp>
#include <random>

#include "tests/spec/spec_testing.h"

namespace kiln::parse_spec_random_test {
namespace {

using namespace spec_testing;

/// One small change of a text: a byte flipped, bytes left out, bytes put in, pieces swapped.
std::string Mutate(std::string text, std::mt19937& random) {
  static const std::string kSpecial = "[]{}(),:#&*!|>'\"%@`-?\n\t \\~<=0a\r\xC3\xFF";
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const size_t changes = 1 + below(3);
  for (size_t i = 0; i < changes && !text.empty(); ++i) {
    const size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text[at] = kSpecial[below(kSpecial.size())];
        break;
      case 2:
        text.insert(at, 1, kSpecial[below(kSpecial.size())]);
        break;
      case 3:
        text.erase(at, 1 + below(8));
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      case 5:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST_CASE("changed text never crashes the reader") {
  std::mt19937 random(20240817);
  int good = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = Mutate(kEverything, random);
    const auto source = std::make_shared<const Source>("-", text);
    Diagnostics diagnostics;
    const auto spec = ParseSpec(source, diagnostics);
    if ((spec == nullptr) != diagnostics.HasErrors()) FAIL(text);
    if (spec) {
      ++good;
      ToString(*spec);
    }
    for (const Diagnostic& d : diagnostics.Sorted()) {
      if (d.message.empty() || d.rule.empty() || d.span.begin > text.size() + 1) FAIL(text);
    }
    Render(diagnostics, *source);
    if (i % 10 == 0) CHECK_NOTHROW(nlohmann::json::parse(RenderJson(diagnostics, *source)));
  }
  CHECK(good > 100);  // the changes are small enough to leave some specs right
}

}  // namespace
}  // namespace kiln::parse_spec_random_test
