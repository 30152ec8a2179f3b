// The statement half of the parser, whose two files share this class.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/syntax/parser.h"

/// An error costs its statement and nothing else: the rest of its line is skipped, a block below it
/// is still read for errors of its own.
namespace kiln {

class BodyParser {
 public:
  BodyParser(const Text& text, Diagnostics& diagnostics)
      : one_line_(text.value.find('\n') == std::string::npos),
        tokens_(text, Lex(text, Layout::kBody, diagnostics), diagnostics) {}

  std::vector<Stmt> Parse() {
    std::vector<Stmt> body = ParseStatements();
    return failed_ ? std::vector<Stmt>() : body;
  }

 private:
  struct Form {
    std::string_view word;
    bool (BodyParser::*parse)(Stmt&);
    bool compound;
  };
  static const std::array<Form, 8> kForms;
  static constexpr std::array<std::string_view, 4> kStores = {"=", "+=", "-=", "*="};

  // parse_body.cc: lines and blocks.
  std::vector<Stmt> ParseStatements();
  std::vector<Stmt> ParseIndented();
  void Recover();
  void SkipBlock();
  bool ParseStatement(Stmt& stmt, bool compound_allowed);
  bool ReportWord();
  bool ParseBlock(Stmt& stmt, std::vector<Stmt>& block);
  bool ParseOneLine(std::vector<Stmt>& block);
  bool EndStatement(Stmt& stmt);

  // parse_statement.cc: each kind of statement.
  bool ParseLet(Stmt& stmt);
  bool ParseNames(Stmt& stmt, std::string_view what);
  bool ParseValues(Stmt& stmt);
  bool ParseVar(Stmt& stmt);
  bool ParseWhen(Stmt& stmt);
  bool ParseElse(Stmt& stmt);
  bool ParseFor(Stmt& stmt);
  bool ParseRange(Stmt& stmt);
  bool ParseWhile(Stmt& stmt);
  bool ParseAssert(Stmt& stmt);
  bool ParseCopy(Stmt& stmt);
  bool ParseWait(Stmt& stmt);
  bool ParseStore(Stmt& stmt);
  static bool IsMaskedWindow(const Expr& target);
  bool ReportNoStore(const ParsedPtr& target);

  /// False, for the many places that report and give up.
  bool Error(Span span, std::string message, std::string hint = "") {
    tokens_.Error(span, std::move(message), std::move(hint));
    return false;
  }
  bool Unexpected(std::string_view wanted) {
    tokens_.Unexpected(wanted);
    return false;
  }
  template <size_t kCount>
  bool IsOneOf(const std::array<std::string_view, kCount>& ops, size_t ahead = 0) const {
    return std::any_of(ops.begin(), ops.end(),
                       [&](std::string_view op) { return tokens_.IsOp(op, ahead); });
  }
  /// An expression, or false.
  bool Take(ExprPtr& out) {
    out = exprs_.ParseExpr();
    return out != nullptr;
  }

  const bool one_line_;
  TokenStream tokens_;
  ExprParser exprs_{tokens_};
  Span first_;     // the first word of the statement being read
  int depth_ = 0;  // of blocks
  bool failed_ = false;
  bool too_deep_ = false;
};

}  // namespace kiln
