#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "generator/syntax/names.h"
#include "generator/syntax/parser.h"

namespace kiln {
namespace {

using Operators = std::span<const std::string_view>;

constexpr std::array<std::string_view, 1> kOrWord = {"or"}, kAndWord = {"and"}, kBar = {"|"},
                                          kCaret = {"^"}, kAmpersand = {"&"};
constexpr std::array<std::string_view, 2> kShifts = {"<<", ">>"}, kSums = {"+", "-"};
constexpr std::array<std::string_view, 4> kProducts = {"*", "/", "//", "%"};
constexpr std::array<std::string_view, 6> kComparisons = {"<", "<=", ">", ">=", "==", "!="};

// The binary operators from loosest to tightest, as in Python. `not` sits between `and` and the
// comparisons, and has no operators here.
constexpr size_t kNotLevel = 2, kComparisonLevel = 3;
constexpr std::array<Operators, 10> kLevels = {kOrWord, kAndWord, Operators(), kComparisons,
                                               kBar,    kCaret,   kAmpersand,  kShifts,
                                               kSums,   kProducts};

bool IsOneOf(const Token& token, Operators operators) {
  const bool word = token.kind == Token::Kind::kName;
  return (word || token.kind == Token::Kind::kOp) &&
         std::find(operators.begin(), operators.end(), token.text) != operators.end();
}

bool IsBitOperation(const Expr& expr) {
  return expr.kind == Expr::Kind::kBinary &&
         (expr.name == "&" || expr.name == "|" || expr.name == "^");
}

// All trees below are made by this parser, so every Expr of theirs is a ParsedExpr.
const ParsedExpr& Parsed(const ExprPtr& expr) { return static_cast<const ParsedExpr&>(*expr); }

bool IsBareBitOperation(const ExprPtr& expr) {
  return IsBitOperation(*expr) && !Parsed(expr).parenthesised;
}

/// `a < b & c < d` with its comparisons in parentheses: "(a < b) & (c < d)".
std::string SplitComparisons(const ParsedExpr& chain) {
  std::string done, open;
  bool compared = false;
  for (size_t i = 0; i < chain.args.size(); ++i) {
    const ExprPtr& arg = chain.args[i];
    const bool split = IsBareBitOperation(arg);
    if (split && (IsBareBitOperation(arg->args[0]) || IsBareBitOperation(arg->args[1]))) return "";
    if (i > 0) open += " " + chain.ops[i - 1] + " ";
    compared = compared || i > 0;
    open += ToString(split ? *arg->args[0] : *arg);
    if (!split) continue;
    done += (compared ? "(" + open + ")" : open) + " " + arg->name + " ";
    open = ToString(*arg->args[1]);
    compared = false;
  }
  return done + (compared ? "(" + open + ")" : open);
}

/// Counts a level for as long as it lives.
class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

}  // namespace

ParsedPtr ExprParser::Start(Expr::Kind kind, const Token& token) const {
  auto expr = std::make_shared<ParsedExpr>();
  expr->kind = kind;
  expr->span = expr->name_span = tokens_.SpanOf(token);
  return expr;
}

ParsedPtr ExprParser::Finish(ParsedPtr expr) {
  const auto count = [&](const ExprPtr& child) {
    if (child) expr->height = std::max(expr->height, Parsed(child).height + 1);
  };
  for (const ExprPtr& arg : expr->args) count(arg);
  for (const Keyword& keyword : expr->keywords) count(keyword.value);
  if (expr->height <= kMaxHeight) return expr;
  return tokens_.Error(expr->name_span,
                       "more than " + std::to_string(kMaxHeight) + " operations in a row",
                       "name a part of it with `let`");
}

bool ExprParser::TooDeep() {
  if (depth_ <= kMaxNesting) return false;
  tokens_.Error(tokens_.SpanOf(tokens_.Peek()),
                "nested more than " + std::to_string(kMaxNesting) + " levels deep",
                "name a part of it with `let`");
  return true;
}

// a if c else b
ParsedPtr ExprParser::ParseExpr() {
  const Deeper level(depth_);
  if (TooDeep()) return nullptr;
  ParsedPtr value = ParseLevel(0);
  if (!value || !tokens_.IsWord("if")) return value;
  ParsedPtr expr = Start(Expr::Kind::kIf, tokens_.Take());
  ParsedPtr condition = ParseLevel(0);
  if (!condition) return nullptr;
  if (!tokens_.IsWord("else")) return tokens_.Unexpected("`else` of `a if c else b`");
  tokens_.Take();
  if (value->kind == Expr::Kind::kList) tuple_at_ = tokens_.position();
  ParsedPtr otherwise = ParseExpr();
  if (!otherwise) return nullptr;
  expr->span = Cover(value->span, otherwise->span);
  expr->args = {value, condition, otherwise};
  return Finish(expr);
}

namespace {

/// The value of the name in place `k` out of `count`; null: it has none of its own.
ExprPtr ValueOfName(const ExprPtr& values, size_t k, size_t count) {
  if (values->kind == Expr::Kind::kList)
    return values->args.size() == count ? values->args[k] : nullptr;
  if (values->kind != Expr::Kind::kIf) return nullptr;
  auto choice = std::make_shared<ParsedExpr>(Parsed(values));
  for (const size_t side : {size_t{0}, size_t{2}}) {
    choice->args[side] = ValueOfName(values->args[side], k, count);
    if (!choice->args[side]) return nullptr;
  }
  return choice;
}

}  // namespace

bool ExprParser::ParseValues(size_t count, std::vector<ExprPtr>& out) {
  const Span begin = tokens_.SpanOf(tokens_.Peek());
  values_ = true;
  do {
    tuple_at_ = tokens_.position();
    out.push_back(ParseExpr());
  } while (out.back() && tokens_.Accept(","));
  values_ = false;
  if (!out.back()) return false;
  if (out.size() == count && count > 1) return true;
  const ExprPtr together = out.front();
  if (out.size() == 1) {
    out.clear();
    // A call may give several values: each name has the call, and is told which by its place.
    const bool call = together->kind == Expr::Kind::kCall;
    for (size_t k = 0; k < count; ++k)
      out.push_back(call && count > 1 ? together : ValueOfName(together, k, count));
    if (out.back()) return true;
    out.resize(1);
  }
  tokens_.Error(Cover(begin, tokens_.LastSpan()),
                std::to_string(count) + " names for " +
                    (out.size() == 1 ? "one value" : std::to_string(out.size()) + " values"),
                "write a value for each, `a, b`, or under a condition `(a, b) if c else (d, e)`");
  return false;
}

ParsedPtr ExprParser::Binary(ParsedPtr left, const Token& op, ParsedPtr right) {
  ParsedPtr expr = Start(Expr::Kind::kBinary, op);
  expr->name = op.text;
  expr->span = Cover(left->span, right->span);
  expr->args = {std::move(left), std::move(right)};
  return Finish(expr);
}

ParsedPtr ExprParser::ParseLevel(size_t level) {
  if (level == kNotLevel) return ParseNot(level);
  if (level == kComparisonLevel) return ParseComparison(level);
  if (level == kLevels.size()) return ParseUnary();
  ParsedPtr left = ParseLevel(level + 1);
  while (left && IsOneOf(tokens_.Peek(), kLevels[level])) {
    const Token& op = tokens_.Take();
    ParsedPtr right = ParseLevel(level + 1);
    if (!right) return nullptr;
    left = Binary(std::move(left), op, std::move(right));
  }
  return left;
}

ParsedPtr ExprParser::ParseNot(size_t level) {
  if (!tokens_.IsWord("not")) return ParseLevel(level + 1);
  const Deeper deeper(depth_);
  if (TooDeep()) return nullptr;
  ParsedPtr expr = Start(Expr::Kind::kUnary, tokens_.Take());
  expr->name = "not";
  ParsedPtr operand = ParseNot(level);
  if (!operand) return nullptr;
  expr->span = Cover(expr->span, operand->span);
  expr->args = {operand};
  return Finish(expr);
}

ParsedPtr ExprParser::ParseComparison(size_t level) {
  ParsedPtr first = ParseLevel(level + 1);
  if (!first || !IsOneOf(tokens_.Peek(), kComparisons)) return first;
  ParsedPtr expr = Start(Expr::Kind::kCompare, tokens_.Peek());
  expr->args = {first};
  while (IsOneOf(tokens_.Peek(), kComparisons)) {
    expr->ops.push_back(tokens_.Take().text);
    ParsedPtr operand = ParseLevel(level + 1);
    if (!operand) return nullptr;
    expr->args.push_back(operand);
  }
  expr->span = Cover(first->span, expr->args.back()->span);
  if (!CheckBitOperands(*expr)) return nullptr;
  return Finish(expr);
}

// Python reads `a < b & c < d` as `a < (b & c) < d`, C reads `x & 1 == 0` as `x & (1 == 0)`, and
// nearly always something else is meant: so neither is accepted.
bool ExprParser::CheckBitOperands(const ParsedExpr& comparison) {
  const auto bare =
      std::find_if(comparison.args.begin(), comparison.args.end(), IsBareBitOperation);
  if (bare == comparison.args.end()) return true;
  const auto at = static_cast<size_t>(bare - comparison.args.begin());
  const std::string split = SplitComparisons(comparison);
  std::string hint = split.empty() ? "write each comparison in parentheses" : "write " + split;
  if (comparison.ops.size() == 1 && !split.empty()) {
    hint = "write " + ToString(comparison) + " or " + split;
  }
  const std::string compare = Quote(comparison.ops[at == 0 ? 0 : at - 1]);
  tokens_.Error((*bare)->name_span, Quote((*bare)->name) + " binds tighter than " + compare, hint);
  return false;
}

ParsedPtr ExprParser::ParseUnary() {
  const Token& op = tokens_.Peek();
  if (!tokens_.IsOp("-") && !tokens_.IsOp("+") && !tokens_.IsOp("~")) return ParsePower();
  const Deeper deeper(depth_);
  if (TooDeep()) return nullptr;
  tokens_.Take();
  ParsedPtr operand = ParseUnary();
  if (!operand) return nullptr;
  ParsedPtr expr = Start(Expr::Kind::kUnary, op);
  expr->name = op.text;
  expr->span = Cover(expr->span, operand->span);
  expr->args = {operand};
  return Finish(expr);
}

ParsedPtr ExprParser::ParsePower() {
  ParsedPtr base = ParsePostfix();
  if (!base || !tokens_.IsOp("**")) return base;
  const Deeper deeper(depth_);
  if (TooDeep()) return nullptr;
  const Token& op = tokens_.Take();
  ParsedPtr exponent = ParseUnary();  // so that a ** -b is read, and a ** b ** c from the right
  return exponent ? Binary(std::move(base), op, std::move(exponent)) : nullptr;
}

bool ExprParser::CheckReference(const ParsedPtr& expr, std::string_view what) {
  const bool subscript = expr->kind == Expr::Kind::kSubscript;
  const Expr& base = subscript ? *expr->args[0] : *expr;
  if (base.kind == Expr::Kind::kName && !expr->parenthesised) return true;
  std::string hint;
  if (subscript && base.kind == Expr::Kind::kSubscript) hint = "write one subscript: ref[i, j]";
  tokens_.Error(expr->span, std::string(what) + " must be a name or a subscript of one", hint);
  return false;
}

ParsedPtr ExprParser::ParseReference(std::string_view what) {
  ParsedPtr expr = ParseExpr();
  return expr && CheckReference(expr, what) ? expr : nullptr;
}

}  // namespace kiln
