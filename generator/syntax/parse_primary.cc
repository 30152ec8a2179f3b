#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>

#include "generator/syntax/foreign.h"
#include "generator/syntax/parser.h"

/// The tightest part of an expression: words, literals, brackets, calls, subscripts.
namespace kiln {
namespace {

constexpr std::array<std::string_view, 14> kModules = {"jax",   "jnp",   "lax",   "np",    "numpy",
                                                       "pl",    "pltpu", "plgpu", "nn",    "math",
                                                       "torch", "F",     "tl",    "triton"};

constexpr std::array<std::string_view, 16> kAlongAxes = {
    "sum",    "prod",   "mean",    "max",    "min",    "any",  "all",     "argmax",
    "argmin", "cumsum", "cumprod", "cummax", "cummin", "sort", "argsort", "flip"};

template <class Words>
bool Has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Arguments of numpy and PyTorch as Kiln has them: "1, keepdims=True" is "axis=1, keep=true".
std::string Translated(std::string arguments, bool along_axes) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"keepdims=", "keep="},
                                                                      {"keepdim=", "keep="},
                                                                      {"dim=", "axis="},
                                                                      {"True", "true"},
                                                                      {"False", "false"}};
  for (const auto& [from, to] : kWords) {
    const size_t at = arguments.find(from);
    const bool word = at != std::string::npos &&
                      (at == 0 || !std::isalnum(static_cast<unsigned char>(arguments[at - 1])));
    if (word) arguments.replace(at, from.size(), to);
  }
  const bool number =
      !arguments.empty() &&
      (arguments[0] == '-' || std::isdigit(static_cast<unsigned char>(arguments[0])));
  return number && along_axes ? "axis=" + arguments : arguments;
}

/// "8, 128" and "(8, 128)" as "[8, 128]"
std::string AsList(const std::string& arguments) {
  if (arguments.empty() || arguments.front() == '[') return arguments;
  const bool tuple = arguments.front() == '(' && arguments.back() == ')';
  return "[" + (tuple ? arguments.substr(1, arguments.size() - 2) : arguments) + "]";
}

/// `x.sum(1)` is written sum(x, axis=1), `np.sum(x)` is written sum(x).
std::string MethodHint(const Expr& base, const std::string& method, const std::string& inside) {
  constexpr size_t kMost = 40;
  if (const std::string hint = HintForForeign(method); !hint.empty()) return hint;
  const std::string& module = base.name;  // of a name, or jax.nn
  const bool value = base.kind == Expr::Kind::kName && !Has(kModules, module);
  std::string arguments = Translated(inside, value && Has(kAlongAxes, method));
  if (value && (method == "reshape" || method == "transpose")) arguments = AsList(arguments);
  if (arguments.size() > kMost || arguments.find('\n') != std::string::npos) arguments = "...";
  if (value) arguments = module.substr(0, kMost) + (arguments.empty() ? "" : ", " + arguments);
  return "write " + method.substr(0, kMost) + "(" + arguments + ")";
}

}  // namespace

ParsedPtr ExprParser::ParsePostfix() {
  ParsedPtr expr = ParsePrimary();
  while (expr) {
    if (tokens_.IsOp("[")) {
      expr = ParseSubscript(std::move(expr));
    } else if (tokens_.IsOp(".")) {
      expr = ParseAttribute(std::move(expr));
    } else if (tokens_.IsOp("(")) {
      return tokens_.Error(tokens_.SpanOf(tokens_.Peek()), "only a function's name can be called");
    } else {
      break;
    }
  }
  return expr;
}

ParsedPtr ExprParser::ParsePrimary() {
  const Token& token = tokens_.Peek();
  switch (token.kind) {
    case Token::Kind::kName:
      return ParseWord();
    case Token::Kind::kInt:
    case Token::Kind::kFloat: {
      const bool integer = token.kind == Token::Kind::kInt;
      ParsedPtr expr = Start(integer ? Expr::Kind::kInt : Expr::Kind::kFloat, tokens_.Take());
      expr->int_value = token.int_value;
      expr->float_value = token.float_value;
      return expr;
    }
    default:
      break;
  }
  if (tokens_.IsOp("(")) return ParseParentheses();
  if (tokens_.IsOp("[")) {
    return tokens_.Error(tokens_.SpanOf(token), "a list can only be an argument of a function");
  }
  if (tokens_.IsOp("...")) {
    return tokens_.Error(tokens_.SpanOf(token), "`...` can only stand in a subscript");
  }
  return tokens_.Unexpected("an expression");
}

ParsedPtr ExprParser::ParseWord() {
  const Token& token = tokens_.Peek();
  const std::string& word = token.text;
  if (word == "not") {
    return tokens_.Error(tokens_.SpanOf(token), "`not` binds looser than the operator before it",
                         "write (not ...) in parentheses");
  }
  if (IsReserved(word)) return tokens_.Unexpected("an expression");
  if (tokens_.IsOp("(", 1)) return ParseCall();
  if (word == "true" || word == "false") {
    ParsedPtr expr = Start(Expr::Kind::kBool, tokens_.Take());
    expr->int_value = word == "true";
    return expr;
  }
  if (word == "inf" || word == "nan") {
    ParsedPtr expr = Start(Expr::Kind::kFloat, tokens_.Take());
    expr->float_value = word == "inf" ? std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::quiet_NaN();
    return expr;
  }
  ParsedPtr expr = Start(Expr::Kind::kName, tokens_.Take());
  expr->name = word;
  return expr;
}

ParsedPtr ExprParser::ParseParentheses() {
  const bool tuple_allowed = tokens_.position() == tuple_at_;
  const Token& open = tokens_.Take();
  if (tokens_.IsOp(")")) {
    return tokens_.Error(tokens_.SpanOf(open), "nothing between the parentheses");
  }
  ParsedPtr expr = ParseExpr();
  if (!expr) return nullptr;
  if (tokens_.IsOp(",")) {
    if (tuple_allowed) return ParseTuple(open, std::move(expr));
    return tokens_.Error(tokens_.SpanOf(tokens_.Peek()), "a tuple in parentheses",
                         "index maps and subscripts take a, b; functions take lists: [a, b]");
  }
  if (!tokens_.Close(open, ")")) return nullptr;
  expr->span = Cover(tokens_.SpanOf(open), tokens_.LastSpan());
  expr->parenthesised = true;
  return expr;
}

ParsedPtr ExprParser::ParseTuple(const Token& open, ParsedPtr first) {
  ParsedPtr list = Start(Expr::Kind::kList, open);
  list->args = {std::move(first)};
  tokens_.Take();  // the comma
  if (!ParseUntil(open, ")", list->args)) return nullptr;
  const bool chosen = values_ && (tokens_.IsWord("if") || tokens_.IsWord("else") ||
                                  tokens_.Is(Token::Kind::kNewline));
  if (!chosen && !tokens_.IsOp(",") && !tokens_.IsOp(")")) return tokens_.Unexpected("`,` or `)`");
  list->span = Cover(list->span, tokens_.LastSpan());
  return Finish(list);
}

ParsedPtr ExprParser::ParseCall() {
  const Token& name = tokens_.Take();
  ParsedPtr call = Start(Expr::Kind::kCall, name);
  call->name = name.text;
  const Token& open = tokens_.Take();
  while (!tokens_.Accept(")")) {
    if (!ParseArgument(*call)) return nullptr;
    if (tokens_.Accept(",")) continue;
    if (!tokens_.Close(open, ")")) return nullptr;
    break;
  }
  call->span = Cover(call->span, tokens_.LastSpan());
  return Finish(call);
}

bool ExprParser::ParseArgument(ParsedExpr& call) {
  if (tokens_.Is(Token::Kind::kName) && tokens_.IsOp("=", 1)) return ParseKeyword(call);
  const Span begin = tokens_.SpanOf(tokens_.Peek());
  ParsedPtr value = ParseArgumentValue();
  if (!value) return false;
  if (!call.keywords.empty()) {
    tokens_.Error(begin, "a positional argument after `" + call.keywords.back().name.name + "=`");
    return false;
  }
  call.args.push_back(std::move(value));
  return true;
}

bool ExprParser::ParseKeyword(ParsedExpr& call) {
  Keyword keyword;
  if (!tokens_.TakeName("the name of an argument", keyword.name)) return false;
  for (const Keyword& other : call.keywords) {
    if (other.name.name != keyword.name.name) continue;
    tokens_.Error(keyword.name.span, "the argument `" + keyword.name.name + "` is given twice");
    return false;
  }
  tokens_.Take();  // the `=`
  tuple_at_ = tokens_.position();
  ParsedPtr value = ParseArgumentValue();
  if (!value) return false;
  keyword.value = std::move(value);
  call.keywords.push_back(std::move(keyword));
  return true;
}

ParsedPtr ExprParser::ParseArgumentValue() {
  if (!tokens_.IsOp("[")) return ParseExpr();
  const Token& open = tokens_.Take();
  ParsedPtr list = Start(Expr::Kind::kList, open);
  if (!ParseUntil(open, "]", list->args)) return nullptr;
  list->span = Cover(list->span, tokens_.LastSpan());
  return Finish(list);
}

bool ExprParser::ParseUntil(const Token& open, std::string_view close, std::vector<ExprPtr>& out) {
  while (!tokens_.Accept(close)) {
    ParsedPtr expr = ParseExpr();
    if (!expr) return false;
    out.push_back(std::move(expr));
    if (!tokens_.Accept(",")) return tokens_.Close(open, close);
  }
  return true;
}

ParsedPtr ExprParser::ParseSubscript(ParsedPtr base) {
  const Token& open = tokens_.Take();
  ParsedPtr expr = Start(Expr::Kind::kSubscript, open);
  if (tokens_.IsOp("]")) return tokens_.Error(tokens_.SpanOf(open), "an empty subscript");
  expr->args = {base};
  while (!tokens_.Accept("]")) {
    ParsedPtr entry = ParseEntry();
    if (!entry) return nullptr;
    expr->args.push_back(std::move(entry));
    if (tokens_.Accept(",")) continue;
    if (!tokens_.Close(open, "]")) return nullptr;
    break;
  }
  expr->span = Cover(base->span, tokens_.LastSpan());
  return Finish(expr);
}

ParsedPtr ExprParser::ParseEntry() {
  if (tokens_.IsOp("...")) return Start(Expr::Kind::kEllipsis, tokens_.Take());
  if (tokens_.IsOp(":")) return ParseSlice(nullptr);
  ParsedPtr entry = ParseExpr();
  return entry && tokens_.IsOp(":") ? ParseSlice(std::move(entry)) : entry;
}

ParsedPtr ExprParser::ParseSlice(ParsedPtr low) {
  ParsedPtr slice = Start(Expr::Kind::kSlice, tokens_.Take());
  ParsedPtr high, stride;
  if (!tokens_.IsOp(",") && !tokens_.IsOp("]") && !tokens_.IsOp(":")) {
    high = ParseExpr();
    if (!high) return nullptr;
  }
  if (tokens_.Accept(":")) {
    stride = ParseExpr();
    if (!stride) return nullptr;
  }
  if (low) slice->span = Cover(low->span, slice->span);
  slice->span = Cover(slice->span, tokens_.LastSpan());
  slice->args = {low, high, stride};
  return Finish(slice);
}

ParsedPtr ExprParser::ParseAttribute(ParsedPtr base) {
  tokens_.Take();  // the dot
  const Token& name = tokens_.Peek();
  if (name.kind != Token::Kind::kName) return tokens_.Unexpected("`T` or `mT` after the dot");
  if (tokens_.IsOp("(", 1)) {
    return tokens_.Error(tokens_.SpanOf(name), "there are no methods and no modules",
                         MethodHint(*base, name.text, tokens_.Inside(1)));
  }
  ParsedPtr expr = Start(Expr::Kind::kAttribute, tokens_.Take());
  expr->name = name.text;
  expr->span = Cover(base->span, expr->span);
  expr->args = {std::move(base)};
  return Finish(expr);
}

}  // namespace kiln
