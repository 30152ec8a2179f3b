#include <algorithm>
#include <array>
#include <utility>

#include "generator/syntax/names.h"
#include "generator/syntax/parser.h"

namespace kiln {
namespace {

struct Habit {
  std::string_view token;
  std::string_view hint;
};

// Operators and words of Python, C and NumPy that people will type here.
constexpr std::array kHabits = std::to_array<Habit>({
    {"&&", "write `and` for scalars, `&` for tiles: (a < b) & (c < d)"},
    {"||", "write `or` for scalars, `|` for tiles: (a < b) | (c < d)"},
    {"!", "write `not` for a scalar, `~` for a mask"},
    {"===", "write `==`"},
    {"!==", "write `!=`"},
    {"<>", "write `!=`"},
    {"=", "`=` stores a value in a statement of its own; `==` compares"},
    {":=", "name the value before: `let t = ...`"},
    {"@", "write `dot(a, b)`"},
    {"?", "write `a if c else b`"},
    {";", "one statement a line"},
    {"{", "there are no braces; blocks are indented, lists are written [a, b]"},
    {"->", "`->` belongs to `copy src -> dst, sem`"},
    {"+=", "only a statement of its own can update a value"},
    {"-=", "only a statement of its own can update a value"},
    {"*=", "only a statement of its own can update a value"},
    {"None", "there is no None; x[:, None] is `expand(x, 1)`, x[None, :] is `expand(x, 0)`"},
    {"True", "write `true`"},
    {"False", "write `false`"},
    {"lambda", "there are no functions to define; name a value with `let`"},
    {"in", "`in` belongs to `for r in range(n):`"},
    {"is", "write `==`"},
    {"for", "there are no comprehensions; a loop is `for r in range(n):`"},
});

// Words that begin a statement there and none here.
constexpr std::array kStatementHabits = std::to_array<Habit>({
    {"if", "write `when c:`"},
    {"elif", "write `else when c:`"},
    {"pass", "leave an empty block out"},
    {"return", "put what follows under a `when`"},
    {"break", "put the rest of the loop under a `when`"},
    {"continue", "put the rest of the loop under a `when`"},
    {"print", "store the value in an output, or state it: `assert c, \"message\"`"},
    {"def", "a kernel is one body; name values with `let`"},
    {"class", "a kernel is one body; name values with `let`"},
    {"import", "every function is at hand without it"},
    {"from", "every function is at hand without it"},
    {"with", "scratch is declared under `scratch`"},
    {"del", "names end with their block"},
    {"raise", "write `assert c, \"message\"`"},
    {"try", "write `when c:`"},
    {"global", "one namespace holds all names"},
});

constexpr std::array kReserved = std::to_array<std::string_view>(
    {"and", "or", "not", "if", "else", "in", "is", "lambda", "None", "True", "False"});
constexpr std::array kLiteralWords =
    std::to_array<std::string_view>({"inf", "nan", "true", "false"});

template <size_t kCount>
std::string FindHabit(const std::array<Habit, kCount>& habits, std::string_view token) {
  for (const Habit& habit : habits) {
    if (habit.token == token) return std::string(habit.hint);
  }
  return "";
}

}  // namespace

std::string Describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::kString:
      return "a string";
    case Token::Kind::kNewline:
      return "the end of the line";
    case Token::Kind::kEnd:
      return "the end";
    case Token::Kind::kIndent:
    case Token::Kind::kDedent:
      return "another indentation";
    default:
      return Quote(token.text);
  }
}

std::string HabitHint(const Token& token) {
  if (token.kind == Token::Kind::kString) return "a string can only be the message of an `assert`";
  if (token.kind != Token::Kind::kOp && token.kind != Token::Kind::kName) return "";
  return FindHabit(kHabits, token.text);
}

std::string ForeignStatementHint(std::string_view word) {
  return FindHabit(kStatementHabits, word);
}

bool IsReserved(std::string_view word) {
  return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end();
}

bool IsLiteralWord(std::string_view word) {
  return std::find(kLiteralWords.begin(), kLiteralWords.end(), word) != kLiteralWords.end();
}

TokenStream::TokenStream(const Text& text, std::vector<Token> tokens, Diagnostics& diagnostics)
    : text_(text), tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

const Token& TokenStream::Peek(size_t ahead) const {
  return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
}

const Token& TokenStream::Take() {
  const Token& token = Peek();
  next_ = std::min(next_ + 1, tokens_.size() - 1);
  return token;
}

bool TokenStream::IsOp(std::string_view op, size_t ahead) const {
  return Peek(ahead).kind == Token::Kind::kOp && Peek(ahead).text == op;
}

bool TokenStream::IsWord(std::string_view word, size_t ahead) const {
  return Peek(ahead).kind == Token::Kind::kName && Peek(ahead).text == word;
}

bool TokenStream::Accept(std::string_view op) {
  if (!IsOp(op)) return false;
  Take();
  return true;
}

bool TokenStream::Expect(std::string_view op) {
  if (Accept(op)) return true;
  Unexpected(Quote(op));
  return false;
}

bool TokenStream::Close(const Token& open, std::string_view op) {
  if (Accept(op)) return true;
  const Token& found = Peek();
  if (found.kind == Token::Kind::kError || !found.starts_line) {
    Unexpected("`,` or " + Quote(op));
    return false;
  }
  // Brackets join lines, so what looks wrong on this line is most often an earlier omission.
  Error(SpanOf(open), Quote(open.text) + " is not closed where its line ends", "",
        {{SpanOf(found), "read as the continuation of that line"}});
  return false;
}

bool TokenStream::TakeName(std::string_view what, Ident& out) {
  const Token& token = Peek();
  if (token.kind != Token::Kind::kName || IsReserved(token.text)) {
    Unexpected(what);
    return false;
  }
  if (IsLiteralWord(token.text)) {
    Error(SpanOf(token), Quote(token.text) + " is a literal, not a name");
    return false;
  }
  out = {token.text, SpanOf(token)};
  Take();
  return true;
}

bool TokenStream::LineHasError() const {
  for (size_t i = next_; i < tokens_.size(); ++i) {
    if (tokens_[i].kind == Token::Kind::kError) return true;
    if (tokens_[i].kind == Token::Kind::kNewline) return false;
  }
  return false;
}

std::string TokenStream::Inside(size_t ahead) const {
  const size_t begin = Peek(ahead).end;
  size_t end = begin;
  for (int open = 0; Peek(ahead).kind != Token::Kind::kEnd; ++ahead) {
    const std::string& text = Peek(ahead).kind == Token::Kind::kOp ? Peek(ahead).text : "";
    open += text == "(" || text == "[" ? 1 : text == ")" || text == "]" ? -1 : 0;
    if (open == 0) break;
    end = Peek(ahead).end;
  }
  return text_.value.substr(begin, end - begin);
}

Span TokenStream::LastSpan() const { return SpanOf(tokens_[next_ == 0 ? 0 : next_ - 1]); }

std::nullptr_t TokenStream::Error(Span span, std::string message, std::string hint,
                                  std::vector<Note> notes) {
  diagnostics_.Error("syntax", span, std::move(message), std::move(hint), std::move(notes));
  return nullptr;
}

std::nullptr_t TokenStream::Unexpected(std::string_view wanted) {
  const Token& token = Peek();
  if (token.kind == Token::Kind::kError) return nullptr;
  std::string hint = HabitHint(token);
  const std::string& before = tokens_[next_ == 0 ? 0 : next_ - 1].text;
  if (IsOp("=") && (before == "+" || before == "-" || before == "*")) {
    hint = "write `" + before + "=` without a space";
  }
  return Error(SpanOf(token), "expected " + std::string(wanted) + ", found " + Describe(token),
               std::move(hint));
}

}  // namespace kiln
