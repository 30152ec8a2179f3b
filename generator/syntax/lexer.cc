#include "generator/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <utility>

#include "generator/text/characters.h"
#include "generator/text/utf8.h"

namespace kiln {
namespace {

bool IsNamePart(char c) { return IsLetter(c) || IsDigit(c); }

// Longest first. Those that only other languages have are here so that they are distinguished from
// what they begin with, and get a hint of their own from the parser.
constexpr std::array kOperators = std::to_array<std::string_view>({
    "...", "**=", "//=", "<<=", ">>=", "===", "!==", "**", "//", "<<", ">>", "<=", ">=", "==",
    "!=",  "->",  "+=",  "-=",  "*=",  "/=",  "%=",  "&=", "|=", "^=", "@=", ":=", "&&", "||",
    "<>",  "+",   "-",   "*",   "/",   "%",   "<",   ">",  "&",  "|",  "^",  "~",  "=",  "(",
    ")",   "[",   "]",   ",",   ":",   ".",   ";",   "@",  "!",  "?",  "{",  "}",
});

/// What people paste instead of an ASCII character.
std::string_view LookAlike(char32_t c) {
  switch (c) {
    case 0x00A0:
      return "a plain space";
    case 0x00B7:
    case 0x00D7:
      return "`*`";
    case 0x2018:
    case 0x2019:
    case 0x201C:
    case 0x201D:
      return "plain quotes";
    case 0x2010:
    case 0x2011:
    case 0x2012:
    case 0x2013:
    case 0x2014:
    case 0x2212:
      return "`-`";
    case 0x2026:
      return "`...`";
    case 0x2192:
      return "`->`";
    case 0x2227:
      return "`and`";
    case 0x2228:
      return "`or`";
    case 0x221E:
      return "`inf`";
    case 0x2260:
      return "`!=`";
    case 0x2264:
      return "`<=`";
    case 0x2265:
      return "`>=`";
    case 0xFF08:
    case 0xFF09:
      return "ASCII parentheses";
    default:
      return "";
  }
}

/// `U+2264` with the character itself where a terminal can show it, or `byte 0xff`.
std::string DescribeCharacter(const CodePoint& point, std::string_view bytes) {
  char buffer[24];
  if (!point.valid || point.value < 0x20 || point.value == 0x7F) {
    std::snprintf(buffer, sizeof buffer, "the byte 0x%02x", static_cast<unsigned>(point.value));
    return buffer;
  }
  if (point.value < 0x80) return "`" + std::string(bytes) + "`";
  std::snprintf(buffer, sizeof buffer, "(U+%04X)", static_cast<unsigned>(point.value));
  return "`" + GlyphOf(point, bytes).text + "` " + buffer;
}

/// Text to raw tokens, every line end a kNewline.
class Scanner {
 public:
  Scanner(const Text& text, Diagnostics& diagnostics)
      : text_(text), value_(text.value), diagnostics_(diagnostics) {}

  std::vector<Token> Scan();

 private:
  char At(size_t i) const { return i < value_.size() ? value_[i] : '\0'; }
  Token& Push(Token::Kind kind, size_t end);
  void PushError(size_t end, std::string message, std::string hint = "");
  void Step();
  void ScanTabs();
  void ScanName();
  void ScanNumber();
  void ScanDecimal(size_t digits_end, size_t end);
  void ScanHex();
  void ScanString();
  bool ScanOperator();
  void ScanOther();

  const Text& text_;
  const std::string_view value_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 0;
  bool line_start_ = true;
  bool line_reported_ = false;  // one character error a line is enough
};

Token& Scanner::Push(Token::Kind kind, size_t end) {
  Token token;
  token.kind = kind;
  token.begin = at_;
  token.end = end;
  token.starts_line = line_start_;
  token.line = line_;
  token.text = std::string(value_.substr(at_, end - at_));
  line_start_ = kind == Token::Kind::kNewline;
  line_reported_ = line_reported_ && !line_start_;
  line_ += line_start_;
  at_ = end;
  return tokens_.emplace_back(std::move(token));
}

void Scanner::PushError(size_t end, std::string message, std::string hint) {
  if (!line_reported_) {
    diagnostics_.Error("syntax", SpanAt(text_, at_, end), std::move(message), std::move(hint));
  }
  line_reported_ = true;
  Push(Token::Kind::kError, end);
}

std::vector<Token> Scanner::Scan() {
  while (at_ < value_.size()) Step();
  Push(Token::Kind::kEnd, at_);
  return std::move(tokens_);
}

void Scanner::Step() {
  const char c = value_[at_];
  if (c == '\n') {
    Push(Token::Kind::kNewline, at_ + 1);
  } else if (c == ' ' || (c == '\r' && At(at_ + 1) == '\n')) {
    ++at_;
  } else if (c == '\t') {
    ScanTabs();
  } else if (c == '#') {
    at_ = std::min(value_.find('\n', at_), value_.size());
  } else if (IsLetter(c)) {
    ScanName();
  } else if (IsDigit(c) || (c == '.' && IsDigit(At(at_ + 1)))) {
    ScanNumber();
  } else if (c == '"' || c == '\'') {
    ScanString();
  } else if (!ScanOperator()) {
    ScanOther();
  }
}

void Scanner::ScanTabs() {
  const size_t end = std::min(value_.find_first_not_of('\t', at_), value_.size());
  PushError(end, "a tab where only spaces can stand");
}

void Scanner::ScanName() {
  size_t end = at_;
  while (IsNamePart(At(end))) ++end;
  Push(Token::Kind::kName, end);
}

void Scanner::ScanNumber() {
  if (value_[at_] == '0' && At(at_ + 1) == 'x') return ScanHex();
  size_t end = at_;
  while (IsDigit(At(end))) ++end;
  const size_t digits_end = end;
  // `0...` is 0 and an ellipsis, not `0.` and more dots.
  if (At(end) == '.' && value_.substr(end, 3) != "...") {
    ++end;
    while (IsDigit(At(end))) ++end;
  }
  if (At(end) == 'e' || At(end) == 'E') {
    size_t exponent = end + 1;
    if (At(exponent) == '+' || At(exponent) == '-') ++exponent;
    if (IsDigit(At(exponent))) {
      end = exponent;
      while (IsDigit(At(end))) ++end;
    }
  }
  ScanDecimal(digits_end, end);
}

/// What stands between the digits and the end of the name-like run after them: `1_000`, `10u`.
std::string TrailHint(std::string_view number, std::string_view trail) {
  if (trail[0] == '_') return "digits are not grouped";
  if (number == "0" && (trail[0] == 'b' || trail[0] == 'o' || trail[0] == 'X')) {
    return "numbers are decimal or 0x…";
  }
  return "a type is a cast, `f32(1)`; a product needs `*`";
}

void Scanner::ScanDecimal(size_t digits_end, size_t end) {
  size_t trail = end;
  while (IsNamePart(At(trail))) ++trail;
  if (trail > end) {
    return PushError(trail,
                     "`" + std::string(value_.substr(end, trail - end).substr(0, 40)) +
                         "` directly after a number",
                     TrailHint(value_.substr(at_, end - at_), value_.substr(end, trail - end)));
  }
  if (value_[at_] == '0' && digits_end > at_ + 1) {
    return PushError(end, "a number with a leading zero", "octal is not written here; drop the 0");
  }
  const char* const first = value_.data() + at_;
  const char* const last = value_.data() + end;
  Token& token = Push(end == digits_end ? Token::Kind::kInt : Token::Kind::kFloat, end);
  const std::from_chars_result result = token.kind == Token::Kind::kInt
                                            ? std::from_chars(first, last, token.int_value)
                                            : std::from_chars(first, last, token.float_value);
  if (result.ec == std::errc()) return;
  at_ = token.begin;  // take the token back and report it
  const bool integer = token.kind == Token::Kind::kInt;
  line_start_ = token.starts_line;
  tokens_.pop_back();
  PushError(end,
            integer ? "the number does not fit in 64 bits" : "the number is out of f64's range",
            integer ? "" : "write `inf` or `0.0` if that is meant");
}

void Scanner::ScanHex() {
  size_t end = at_ + 2;
  while (IsNamePart(At(end))) ++end;
  int64_t value = 0;
  const char* const first = value_.data() + at_ + 2;
  const char* const last = value_.data() + end;
  const std::from_chars_result result = std::from_chars(first, last, value, 16);
  if (first == last || result.ec == std::errc::invalid_argument ||
      (result.ec == std::errc() && result.ptr != last)) {
    return PushError(end, "not a hexadecimal number");
  }
  if (result.ec != std::errc()) return PushError(end, "the number does not fit in 64 bits");
  Push(Token::Kind::kInt, end).int_value = value;
}

void Scanner::ScanString() {
  const char quote = value_[at_];
  std::string out;
  size_t end = at_ + 1;
  for (; At(end) != quote; ++end) {
    if (end >= value_.size() || value_[end] == '\n') {
      return PushError(end, "a string without its closing quote");
    }
    char c = value_[end];
    if (c == '\\') {
      const char escaped = At(++end);
      if (escaped != '\\' && escaped != 'n' && escaped != '"' && escaped != '\'') {
        return PushError(end, "an unknown escape in a string", "only \\\\ \\\" \\' and \\n");
      }
      c = escaped == 'n' ? '\n' : escaped;
    } else if (c < ' ' || c > '~') {
      const CodePoint point = DecodeUtf8(value_, end);
      const auto length = static_cast<size_t>(point.length);
      const std::string what = DescribeCharacter(point, value_.substr(end, length));
      // The rest of the line may be code or string: leave all of it out.
      at_ = end;
      return PushError(std::min(value_.find('\n', end), value_.size()), "a string holds " + what,
                       "messages are printable ASCII");
    }
    out += c;
  }
  Push(Token::Kind::kString, end + 1).text = std::move(out);
}

bool Scanner::ScanOperator() {
  for (const std::string_view op : kOperators) {
    if (value_.substr(at_, op.size()) != op) continue;
    Push(Token::Kind::kOp, at_ + op.size());
    return true;
  }
  return false;
}

void Scanner::ScanOther() {
  const CodePoint point = DecodeUtf8(value_, at_);
  size_t end = at_ + static_cast<size_t>(point.length);
  const std::string what = DescribeCharacter(point, value_.substr(at_, end - at_));
  std::string hint;
  if (point.value == '\\') {
    hint = "lines continue inside brackets, without a backslash";
    // Joined all the same, so that the next line is not taken for a statement.
    if (At(end) == '\r') ++end;
    if (At(end) == '\n') ++end;
  }
  if (const std::string_view ascii = LookAlike(point.value); point.valid && !ascii.empty()) {
    hint = "write " + std::string(ascii);
  }
  PushError(end, what + " has no meaning here", std::move(hint));
}

}  // namespace

Span SpanAt(const Text& text, size_t begin, size_t end) {
  if (text.offsets.empty()) return {};
  const size_t last = text.offsets.size() - 1;
  return text.At(std::min(begin, last), std::min(end, last));
}

std::vector<Token> Lex(const Text& text, Layout layout, Diagnostics& diagnostics) {
  std::vector<Token> tokens = Scanner(text, diagnostics).Scan();
  MatchBrackets(text, tokens, diagnostics);
  if (layout == Layout::kBody) return LayOut(text, std::move(tokens), diagnostics);
  std::erase_if(tokens, [](const Token& t) { return t.kind == Token::Kind::kNewline; });
  return tokens;
}

}  // namespace kiln
