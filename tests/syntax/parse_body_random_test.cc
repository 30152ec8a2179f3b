// Text that is no body.
#include <random>

#include "generator/syntax/trees.h"
#include "tests/catch.h"
#include "tests/syntax/syntax_testing.h"

namespace kiln::parse_body_random_test {
namespace {

using namespace syntax_testing;

constexpr std::string_view kSeed =
    "# a body with everything\n"
    "when first(l) and i < 3:\n"
    "  acc = 0\n"
    "  when not a: x = -1.5e-3\n"
    "else when b == 0x1F:\n"
    "  let t = where((a < b) & m, x.T, inf)\n"
    "else:\n"
    "  var n: i32[bm, bn] = 0\n"
    "  for r in range(0, n // 2):\n"
    "    ref[r, a:, ..., ds(s, 3)] += dot(x,\n"
    "        y[:b]) ** 2 if c else sum(x, axis=[0, -1], keep=true)\n"
    "    copy hbm[r] -> buf[0], sem[r % 2]\n"
    "wait sem[1]\n"
    "assert a < b, \"a \\\"b\\\" c\"\n";

std::string Mutate(std::string text, std::mt19937& random) {
  static constexpr std::string_view kParts[] = {
      "\n",    " ",     "  ",   "(",      ")",    "[", "]",  ":",       ",",
      "=",     "==",    "+=",   "-",      "**",   "&", "<",  "not ",    "if ",
      "else ", "when ", "for ", "while ", "let ", "#", "\"", ", most=", "\\",
      "\t",    "\r",    ".",    "...",    "->",   "0", "1e", "x",       "\xE2\x89\xA4",
      "\xFF",  "@"};
  for (auto changes = 1 + random() % 4; changes-- > 0 && !text.empty();) {
    const size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, 1 + random() % 6);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 12));
        break;
      default:
        text.insert(at, kParts[random() % std::size(kParts)]);
    }
  }
  return text;
}

TEST_CASE("damaged bodies give errors inside the text, or statements that print and read back") {
  std::mt19937 random(1);
  int good = 0;
  constexpr int kRounds = 4000;
  const std::string seed(kSeed);
  Diagnostics of_seed;
  REQUIRE_FALSE(ParseBody(TextOf(seed), of_seed).empty());
  for (int i = 0; i < kRounds; ++i) {
    const std::string value = Mutate(seed, random);
    const Text text = TextOf(value);
    Diagnostics diagnostics;
    const std::vector<Stmt> body = ParseBody(text, diagnostics);
    INFO(value);
    if (diagnostics.HasErrors()) {
      REQUIRE(body.empty());
      for (const Diagnostic& d : diagnostics.Sorted()) {
        REQUIRE(d.span.begin <= d.span.end);
        REQUIRE(d.span.end <= value.size());
      }
      // As the file's whole text, and with a value's own parsers.
      REQUIRE(Render(diagnostics, Source("b", value)) != "");
      Diagnostics ignored;
      ParseExprList(text, ignored);
      continue;
    }
    ++good;
    const std::string printed = ToString(body, 0);
    const Text again = TextOf(printed);
    REQUIRE(Dump(ParseBody(again, diagnostics)) == Dump(body));
    REQUIRE_FALSE(diagnostics.HasErrors());
    REQUIRE(ToString(ParseBody(again, diagnostics), 0) == printed);
  }
  CHECK(good > kRounds / 20);
  CHECK(good < kRounds / 2);
}

}  // namespace
}  // namespace kiln::parse_body_random_test
