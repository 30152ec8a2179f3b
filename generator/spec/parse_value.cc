#include <utility>

#include "generator/syntax/parser.h"

/// The values of YAML keys: one logical line each, nothing left over.
namespace kiln {
namespace {

/// A parser of one value. `usable` is false when the characters were already at fault.
struct ValueParser {
  ValueParser(const Text& text, Diagnostics& diagnostics)
      : tokens(text, Lex(text, Layout::kValue, diagnostics), diagnostics),
        usable(!tokens.LineHasError()) {}

  bool AtEnd(std::string_view wanted) {
    if (tokens.Is(Token::Kind::kEnd)) return true;
    tokens.Unexpected(wanted);
    return false;
  }

  TokenStream tokens;
  ExprParser exprs{tokens};
  bool usable;
};

}  // namespace

ExprPtr ParseExpr(const Text& text, Diagnostics& diagnostics) {
  ValueParser parser(text, diagnostics);
  if (!parser.usable) return nullptr;
  ParsedPtr expr = parser.exprs.ParseExpr();
  return expr && parser.AtEnd("an operator or the end") ? expr : nullptr;
}

std::vector<ExprPtr> ParseExprList(const Text& text, Diagnostics& diagnostics) {
  ValueParser parser(text, diagnostics);
  if (!parser.usable) return {};
  std::vector<ExprPtr> out;
  do {
    // `i,` is how Python writes one entry.
    if (!out.empty() && parser.tokens.Is(Token::Kind::kEnd)) break;
    ParsedPtr expr = parser.exprs.ParseExpr();
    if (!expr) return {};
    out.push_back(std::move(expr));
  } while (parser.tokens.Accept(","));
  if (!parser.AtEnd("`,` or the end")) return {};
  return out;
}

bool ParseArrayType(const Text& text, Diagnostics& diagnostics, ArrayType& out) {
  ValueParser parser(text, diagnostics);
  if (!parser.usable) return false;
  TokenStream& tokens = parser.tokens;
  if (!tokens.TakeName("a dtype, as in f32[m, n]", out.dtype)) return false;
  out.shape.clear();
  if (tokens.IsOp("[")) {
    const Token& open = tokens.Take();
    if (!parser.exprs.ParseUntil(open, "]", out.shape)) return false;
  }
  out.span = Cover(out.dtype.span, tokens.LastSpan());
  return parser.AtEnd("the end of the array's type");
}

bool ParsePrepare(const Text& text, Diagnostics& diagnostics, std::vector<Ident>& results,
                  ExprPtr& call) {
  ValueParser parser(text, diagnostics);
  if (!parser.usable) return false;
  results.clear();
  do {
    Ident name;
    if (!parser.tokens.TakeName("the name of a result", name)) return false;
    results.push_back(std::move(name));
  } while (parser.tokens.Accept(","));
  if (!parser.tokens.Expect("=")) return false;
  ParsedPtr expr = parser.exprs.ParseExpr();
  if (!expr || !parser.AtEnd("the end")) return false;
  if (expr->kind != Expr::Kind::kCall) {
    parser.tokens.Error(expr->span, "`prepare` takes a call", "write a, b = f(x, y)");
    return false;
  }
  call = std::move(expr);
  return true;
}

}  // namespace kiln
