// A function for each kind of statement, and the table of the words that begin one.
#include "generator/syntax/body_parser.h"
#include "generator/syntax/names.h"

namespace kiln {
namespace {

constexpr std::array<std::string_view, 10> kForeignStores = {
    "/=", "//=", "%=", "**=", "<<=", ">>=", "&=", "|=", "^=", "@="};

}  // namespace

const std::array<BodyParser::Form, 8> BodyParser::kForms = {{
    {"let", &BodyParser::ParseLet, false},
    {"var", &BodyParser::ParseVar, false},
    {"when", &BodyParser::ParseWhen, true},
    {"for", &BodyParser::ParseFor, true},
    {"while", &BodyParser::ParseWhile, true},
    {"assert", &BodyParser::ParseAssert, false},
    {"copy", &BodyParser::ParseCopy, false},
    {"wait", &BodyParser::ParseWait, false},
}};

bool BodyParser::ParseLet(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kLet;
  if (!ParseNames(stmt, "the name of a value")) return false;
  if (tokens_.IsOp(":")) {
    return Error(tokens_.SpanOf(tokens_.Peek()), "a `let` takes no type",
                 "cast its value: `let t = f32(x)`");
  }
  return ParseValues(stmt);
}

/// `a`, or several of them with commas.
bool BodyParser::ParseNames(Stmt& stmt, std::string_view what) {
  if (!tokens_.TakeName(what, stmt.name)) return false;
  while (tokens_.Accept(",")) {
    if (!tokens_.TakeName(what, stmt.others.emplace_back().name)) return false;
  }
  return true;
}

/// `= value`, or a value for each of the names, to the end of the line.
bool BodyParser::ParseValues(Stmt& stmt) {
  if (!tokens_.Expect("=")) return false;
  if (stmt.others.empty()) return Take(stmt.value) && EndStatement(stmt);
  std::vector<ExprPtr> values;
  if (!exprs_.ParseValues(stmt.others.size() + 1, values)) return false;
  stmt.value = values.front();
  for (size_t k = 0; k < stmt.others.size(); ++k) stmt.others[k].value = values[k + 1];
  return EndStatement(stmt);
}

bool BodyParser::ParseVar(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kVar;
  if (!ParseNames(stmt, "the name of a variable")) return false;
  if (tokens_.IsOp(":") && !stmt.others.empty()) {
    return Error(tokens_.SpanOf(tokens_.Peek()), "a `var` of several names takes no type",
                 "write a line for each, or cast the values: `var a, b = f32(x), f32(y)`");
  }
  if (tokens_.Accept(":")) {
    stmt.typed = true;
    if (!tokens_.TakeName("a dtype, as in f32[8, 128]", stmt.dtype)) return false;
    if (tokens_.IsOp("[")) {
      const Token& open = tokens_.Take();
      if (!exprs_.ParseUntil(open, "]", stmt.shape)) return false;
    }
  }
  if (tokens_.Is(Token::Kind::kNewline)) {
    return Error(stmt.name.span, "a `var` without its first value", "write `= 0` or another value");
  }
  return ParseValues(stmt);
}

bool BodyParser::ParseWhen(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kWhen;
  if (!Take(stmt.condition) || !ParseBlock(stmt, stmt.body)) return false;
  return !tokens_.IsWord("else") || ParseElse(stmt);
}

bool BodyParser::ParseElse(Stmt& stmt) {
  if (tokens_.LineHasError()) return false;
  first_ = tokens_.SpanOf(tokens_.Take());
  if (!tokens_.IsWord("when")) {
    if (tokens_.IsWord("if")) {
      return Error(tokens_.SpanOf(tokens_.Peek()), "there is no `else if`", "write `else when c:`");
    }
    return ParseBlock(stmt, stmt.orelse);
  }
  if (depth_ >= kMaxNesting) {
    return Error(first_, "more than " + std::to_string(kMaxNesting) + " `else when` in a row");
  }
  Stmt nested;
  first_ = nested.span = tokens_.SpanOf(tokens_.Take());
  ++depth_;
  const bool parsed = ParseWhen(nested);
  --depth_;
  stmt.orelse.push_back(std::move(nested));
  return parsed;
}

bool BodyParser::ParseFor(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kFor;
  if (!tokens_.TakeName("the name of the loop's variable", stmt.name)) return false;
  if (!tokens_.IsWord("in")) return Unexpected("`in range(...)`");
  tokens_.Take();
  if (!tokens_.IsWord("range")) {
    return Error(tokens_.SpanOf(tokens_.Peek()), "loops run over `range(a, b)`");
  }
  return ParseRange(stmt) && ParseBlock(stmt, stmt.body);
}

bool BodyParser::ParseRange(Stmt& stmt) {
  const Span range = tokens_.SpanOf(tokens_.Take());
  const Token& open = tokens_.Peek();
  std::vector<ExprPtr> bounds;
  if (!tokens_.Expect("(") || !exprs_.ParseUntil(open, ")", bounds)) return false;
  if (bounds.empty()) return Error(range, "`range` without a bound");
  if (bounds.size() > 2) {
    return Error(bounds[2]->span, "`range` has no stride", "multiply the loop's variable");
  }
  stmt.high = bounds.back();
  stmt.low = bounds.front();
  if (bounds.size() == 2) return true;
  Expr zero;
  zero.kind = Expr::Kind::kInt;
  zero.span = zero.name_span = range;
  stmt.low = std::make_shared<const Expr>(std::move(zero));
  return true;
}

bool BodyParser::ParseWhile(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kWhile;
  if (!Take(stmt.condition)) return false;
  if (tokens_.Accept(",")) {
    if (!tokens_.IsWord("most")) return Unexpected("`most=`");
    tokens_.Take();
    if (!tokens_.Expect("=") || !Take(stmt.high)) return false;
  }
  return ParseBlock(stmt, stmt.body);
}

bool BodyParser::ParseAssert(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kAssert;
  if (!Take(stmt.condition)) return false;
  if (!tokens_.Accept(",") || !tokens_.Is(Token::Kind::kString)) {
    if (!tokens_.Is(Token::Kind::kNewline)) return Unexpected("`, \"message\"`");
    return Error(stmt.span, "an `assert` without its message",
                 "write `assert c, \"what must hold\"`");
  }
  stmt.message = tokens_.Take().text;
  return EndStatement(stmt);
}

bool BodyParser::ParseCopy(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kCopy;
  stmt.target = exprs_.ParseReference("the source of a copy");
  if (!stmt.target || !tokens_.Expect("->")) return false;
  stmt.value = exprs_.ParseReference("the destination of a copy");
  if (!stmt.value) return false;
  if (!tokens_.Accept(",")) return Unexpected("`,` and the copy's semaphore");
  stmt.semaphore = exprs_.ParseReference("a semaphore");
  return stmt.semaphore && EndStatement(stmt);
}

bool BodyParser::ParseWait(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kWait;
  stmt.semaphore = exprs_.ParseReference("a semaphore");
  if (!stmt.semaphore) return false;
  if (tokens_.Accept(",")) {
    stmt.target = exprs_.ParseReference("what arrives");
    if (!stmt.target) return false;
  }
  return EndStatement(stmt);
}

bool BodyParser::ParseStore(Stmt& stmt) {
  stmt.kind = Stmt::Kind::kAssign;
  ParsedPtr target = exprs_.ParseExpr();
  if (!target) return false;
  if (!IsOneOf(kStores)) return ReportNoStore(target);
  if (!IsMaskedWindow(*target) && !exprs_.CheckReference(target, "the target of a store"))
    return false;
  stmt.op = tokens_.Take().text;
  stmt.target = std::move(target);
  if (!Take(stmt.value)) return false;
  if (IsOneOf(kStores)) {
    return Error(tokens_.SpanOf(tokens_.Peek()), "a statement stores once",
                 "write the second store on its own line");
  }
  return EndStatement(stmt);
}

/// Whether it is `ref[window][mask]`.
bool BodyParser::IsMaskedWindow(const Expr& target) {
  if (target.kind != Expr::Kind::kSubscript || target.args.size() != 2) return false;
  const Expr& window = *target.args[0];
  return window.kind == Expr::Kind::kSubscript && window.args[0]->kind == Expr::Kind::kName;
}

bool BodyParser::ReportNoStore(const ParsedPtr& target) {
  const Token& next = tokens_.Peek();
  const Span span = tokens_.SpanOf(next);
  if (IsOneOf(kForeignStores)) {
    const std::string op = next.text == "@=" ? "" : next.text.substr(0, next.text.size() - 1);
    const std::string to = target->height > 4 ? "x" : ToString(*target);
    return Error(
        span, "there is no " + Quote(next.text) + ", only += -= *=",
        "write " + to + " = " + (op.empty() ? "dot(" + to + ", ...)" : to + " " + op + " ..."));
  }
  if (tokens_.IsOp(",")) return Error(span, "a statement stores to one target");
  if (tokens_.IsOp(":")) {
    return Error(span, "a `:` where no block begins",
                 "a typed variable is written `var n: i32[8] = 0`");
  }
  if (!tokens_.Is(Token::Kind::kNewline)) return Unexpected("`=`, an operator or the end");
  const bool equals = target->kind == Expr::Kind::kCompare && target->ops[0] == "==";
  return Error(
      target->span, "this value is not used",
      equals ? "`=` stores, `==` compares" : "store it, `ref = ...`, or name it with `let`");
}

}  // namespace kiln
