#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generator/syntax/lexer.h"
#include "generator/syntax/trees.h"

/// The recursive-descent parser of trees.h, shared by its expression and its statement half.
/// Every Parse function takes what it parses, or reports exactly one error and returns null or
/// false; the caller gives up its statement (or value) then.
namespace kiln {

/// How deep brackets, prefix operators and blocks may nest, and how high an expression's tree may
/// grow (a sum is as high as it has terms). Both bound the stack of everything that walks trees.
inline constexpr int kMaxNesting = 64;
inline constexpr int kMaxHeight = 256;

/// A cursor over tokens, and the messages about the one it stands on.
class TokenStream {
 public:
  TokenStream(const Text& text, std::vector<Token> tokens, Diagnostics& diagnostics);

  const Token& Peek(size_t ahead = 0) const;
  const Token& Take();
  size_t position() const { return next_; }
  bool Is(Token::Kind kind) const { return Peek().kind == kind; }
  bool IsOp(std::string_view op, size_t ahead = 0) const;
  bool IsWord(std::string_view word, size_t ahead = 0) const;
  bool Accept(std::string_view op);
  /// Takes `op` or reports what is there instead.
  bool Expect(std::string_view op);
  /// Takes the bracket that closes `open`.
  bool Close(const Token& open, std::string_view op);
  /// Takes a name that may be declared; `what` is for the message: "the name of a value".
  bool TakeName(std::string_view what, Ident& out);
  /// True if the rest of the statement holds something already reported.
  bool LineHasError() const;

  /// What stands between the bracket so far ahead and the one that closes it.
  std::string Inside(size_t ahead) const;

  Span SpanOf(const Token& token) const { return SpanAt(text_, token.begin, token.end); }
  Span LastSpan() const;
  std::nullptr_t Error(Span span, std::string message, std::string hint = "",
                       std::vector<Note> notes = {});
  /// Reports the current token where `wanted` should stand, in other languages' terms if it is
  /// one of their habits. Silent when the token was reported as it was read.
  std::nullptr_t Unexpected(std::string_view wanted);

 private:
  const Text& text_;
  std::vector<Token> tokens_;
  Diagnostics& diagnostics_;
  size_t next_ = 0;
};

std::string Describe(const Token& token);
/// What the reader of another language should know about a word or operator; may be empty.
std::string HabitHint(const Token& token);
/// The same for a word that begins a statement in other languages, and none here.
std::string ForeignStatementHint(std::string_view word);
/// `and`, `if` and their like, which can be no name in an expression.
bool IsReserved(std::string_view word);
bool IsLiteralWord(std::string_view word);

/// A tree with what only the parser needs to know.
struct ParsedExpr : Expr {
  int height = 1;
  bool parenthesised = false;
};
using ParsedPtr = std::shared_ptr<ParsedExpr>;

class ExprParser {
 public:
  explicit ExprParser(TokenStream& tokens) : tokens_(tokens) {}

  ParsedPtr ParseExpr();
  /// A name or a subscript of one: what can be stored to, copied, waited for.
  /// `what` is for the message: "a copy's target".
  ParsedPtr ParseReference(std::string_view what);
  bool CheckReference(const ParsedPtr& expr, std::string_view what);
  /// Expressions separated by commas, up to `close`, which is taken too; one more comma may
  /// stand before it.
  bool ParseUntil(const Token& open, std::string_view close, std::vector<ExprPtr>& out);
  /// `a, b`, or under a condition `(a, b) if c else (d, e)`: a value for each of `count` names;
  /// or one call, which is then that of each.
  bool ParseValues(size_t count, std::vector<ExprPtr>& out);

 private:
  // parse_expr.cc: operators.
  ParsedPtr ParseLevel(size_t level);
  ParsedPtr ParseNot(size_t level);
  ParsedPtr ParseComparison(size_t level);
  ParsedPtr ParseUnary();
  ParsedPtr ParsePower();

  // parse_primary.cc: what operators join.
  ParsedPtr ParsePostfix();
  ParsedPtr ParsePrimary();
  ParsedPtr ParseWord();
  ParsedPtr ParseParentheses();
  ParsedPtr ParseTuple(const Token& open, ParsedPtr first);
  ParsedPtr ParseCall();
  bool ParseArgument(ParsedExpr& call);
  bool ParseKeyword(ParsedExpr& call);
  ParsedPtr ParseArgumentValue();
  ParsedPtr ParseSubscript(ParsedPtr base);
  ParsedPtr ParseEntry();
  ParsedPtr ParseSlice(ParsedPtr low);
  ParsedPtr ParseAttribute(ParsedPtr base);

  ParsedPtr Start(Expr::Kind kind, const Token& token) const;
  ParsedPtr Binary(ParsedPtr left, const Token& op, ParsedPtr right);
  /// Sets the height, from the arguments; null and an error if the tree is too high.
  ParsedPtr Finish(ParsedPtr expr);
  bool CheckBitOperands(const ParsedExpr& comparison);
  bool TooDeep();

  TokenStream& tokens_;
  int depth_ = 0;
  size_t tuple_at_ = std::string::npos;  // the token where `(a, b)` may stand for `[a, b]`
  bool values_ = false;                  // of several names: `if` may follow
};

}  // namespace kiln
