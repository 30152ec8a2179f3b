// Half of the mutations of texts are of words and lines instead of bytes, so that more of them get
// past the parsers: a number becomes another number, a name another name, a line moves.
#include "tests/fuzz/libfuzzer/mutate.h"

#include <cctype>
#include <cstddef>
#include <random>
#include <vector>

namespace kiln::fuzz {
namespace {

using Random = std::minstd_rand;

/// A run of letters, of digits, of blanks, or one other character.
enum class Kind { kName, kNumber, kBlank, kLine, kSign };
struct Token {
  Kind kind;
  size_t begin, size;
};

Kind KindOf(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (std::isalpha(byte) || c == '_') return Kind::kName;
  if (std::isdigit(byte)) return Kind::kNumber;
  if (c == '\n') return Kind::kLine;
  return c == ' ' ? Kind::kBlank : Kind::kSign;
}

std::vector<Token> TokensOf(const std::string& text) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size(); ++i) {
    const Kind kind = KindOf(text[i]);
    const Kind last = tokens.empty() ? Kind::kLine : tokens.back().kind;
    const bool in_name = last == Kind::kName && kind == Kind::kNumber;
    const bool joins = kind == last && kind != Kind::kSign && kind != Kind::kLine;
    if (in_name || joins)
      ++tokens.back().size;
    else
      tokens.push_back({kind, i, 1});
  }
  return tokens;
}

size_t Below(size_t n, Random& random) {
  return std::uniform_int_distribution<size_t>(0, n - 1)(random);
}

/// What else could stand where a token is.
std::string InPlaceOf(const Token& token, const std::string& text, const std::vector<Token>& tokens,
                      Random& random) {
  static const char* const numbers[] = {"0",          "1",     "2",          "3",
                                        "7",          "8",     "16",         "100",
                                        "127",        "128",   "255",        "2147483647",
                                        "2147483648", "65536", "4294967296", "9223372036854775807"};
  static const char* const signs[] = {
      "+", "-", "*",  "//", "%", "<", "<=", "==", "!=", "&", "|", "^", "<<", ">>",
      "/", "=", "+=", "*=", ",", ":", "(",  ")",  "[",  "]", ".", "~", "-1"};
  if (token.kind == Kind::kNumber && Below(2, random) == 0)
    return numbers[Below(std::size(numbers), random)];
  if (token.kind == Kind::kSign) return signs[Below(std::size(signs), random)];
  std::vector<Token> others;
  for (const Token& other : tokens) {
    if (other.kind == token.kind) others.push_back(other);
  }
  const Token& other = others[Below(others.size(), random)];
  return text.substr(other.begin, other.size);
}

void MutateToken(std::string& text, Random& random) {
  const std::vector<Token> tokens = TokensOf(text);
  const Token& token = tokens[Below(tokens.size(), random)];
  if (token.kind == Kind::kBlank || token.kind == Kind::kLine) return;
  text.replace(token.begin, token.size, InPlaceOf(token, text, tokens, random));
}

/// Some neighbouring tokens, again somewhere else: an argument, a condition, half a statement.
void CopyTokens(std::string& text, Random& random) {
  const std::vector<Token> tokens = TokensOf(text);
  const size_t first = Below(tokens.size(), random);
  const size_t last = std::min(first + Below(8, random), tokens.size() - 1);
  const size_t end = tokens[last].begin + tokens[last].size;
  const Token& to = tokens[Below(tokens.size(), random)];
  const std::string copy = text.substr(tokens[first].begin, end - tokens[first].begin);
  text.replace(to.begin, Below(2, random) ? to.size : 0, copy);
}

/// A line goes, comes twice, or changes places.
void MoveLine(std::string& text, Random& random) {
  std::vector<std::string> lines = {""};
  for (const char c : text) {
    lines.back() += c;
    if (c == '\n') lines.emplace_back();
  }
  const size_t from = Below(lines.size(), random), to = Below(lines.size(), random);
  const size_t what = Below(3, random);
  if (what == 0)
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(from));
  else if (what == 1)
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(to), std::string(lines[from]));
  else
    std::swap(lines[from], lines[to]);
  text.clear();
  for (const std::string& line : lines) text += line;
}

}  // namespace

std::string MutateText(std::string text, unsigned seed) {
  Random random(seed);
  for (size_t times = 1 + Below(3, random); times-- > 0 && !text.empty();) {
    const size_t what = Below(6, random);
    if (what < 3)
      MutateToken(text, random);
    else if (what < 5)
      CopyTokens(text, random);
    else
      MoveLine(text, random);
  }
  return text;
}

}  // namespace kiln::fuzz
