// Lines and blocks of a body: where statements begin and end, and how to go on after an error.
#include "generator/syntax/body_parser.h"
#include "generator/syntax/names.h"

namespace kiln {

std::vector<Stmt> BodyParser::ParseStatements() {
  std::vector<Stmt> out;
  bool previous_failed = false;  // then an `else` may well belong to it
  while (!tokens_.Is(Token::Kind::kEnd) && !tokens_.Is(Token::Kind::kDedent)) {
    if (tokens_.Is(Token::Kind::kIndent)) {
      if (!tokens_.LineHasError()) {
        Error(tokens_.SpanOf(tokens_.Peek(1)), "this line is indented, but begins no block");
      }
      failed_ = true;
      ParseIndented();
      continue;
    }
    Stmt stmt;
    const bool stray_else = tokens_.IsWord("else");
    const bool silent = tokens_.LineHasError() || (stray_else && previous_failed);
    if (stray_else && !silent) {
      Error(tokens_.SpanOf(tokens_.Peek()), "an `else` without a `when` before it",
            "`else` stands in the column of its `when`");
    }
    previous_failed = silent || stray_else || !ParseStatement(stmt, true);
    if (previous_failed) {
      Recover();
    } else {
      out.push_back(std::move(stmt));
    }
  }
  return out;
}

void BodyParser::Recover() {
  failed_ = true;
  while (!tokens_.Is(Token::Kind::kEnd)) {
    if (tokens_.Take().kind == Token::Kind::kNewline) break;
  }
  if (tokens_.Is(Token::Kind::kIndent)) ParseIndented();
}

/// From an indent to its dedent.
std::vector<Stmt> BodyParser::ParseIndented() {
  if (depth_ >= kMaxNesting) {
    if (!too_deep_) {
      Error(tokens_.SpanOf(tokens_.Peek(1)),
            "blocks nested more than " + std::to_string(kMaxNesting) + " levels deep");
    }
    too_deep_ = failed_ = true;
    SkipBlock();
    return {};
  }
  tokens_.Take();
  ++depth_;
  std::vector<Stmt> block = ParseStatements();
  --depth_;
  if (tokens_.Is(Token::Kind::kDedent)) tokens_.Take();
  return block;
}

void BodyParser::SkipBlock() {
  int open = 0;
  do {
    const Token::Kind kind = tokens_.Take().kind;
    if (kind == Token::Kind::kIndent) ++open;
    if (kind == Token::Kind::kDedent) --open;
  } while (open > 0 && !tokens_.Is(Token::Kind::kEnd));
}

bool BodyParser::ParseStatement(Stmt& stmt, bool compound_allowed) {
  first_ = stmt.span = tokens_.SpanOf(tokens_.Peek());
  for (const Form& form : kForms) {
    if (!tokens_.IsWord(form.word)) continue;
    if (IsOneOf(kStores, 1)) {
      return Error(first_, Quote(form.word) + " begins a statement and cannot be stored to",
                   "give it another name");
    }
    if (form.compound && !compound_allowed) {
      return Error(first_, Quote(form.word) + " must start a line of its own");
    }
    tokens_.Take();
    return (this->*form.parse)(stmt);
  }
  return ReportWord() ? false : ParseStore(stmt);
}

/// Reports a statement that only other languages have.
bool BodyParser::ReportWord() {
  if (tokens_.IsOp("@")) {
    Error(first_, "there are no decorators", "`@pl.when(c)` is written `when c:`");
    return true;
  }
  // As the target of a store it is a name like any other.
  const bool stored_to = IsOneOf(kStores, 1) || tokens_.IsOp("[", 1);
  if (!tokens_.Is(Token::Kind::kName) || stored_to) return false;
  const std::string& word = tokens_.Peek().text;
  const std::string hint = ForeignStatementHint(word);
  if (hint.empty()) return false;
  Error(first_, "there is no " + Quote(word) + " statement", hint);
  return true;
}

bool BodyParser::EndStatement(Stmt& stmt) {
  stmt.span = Cover(stmt.span, tokens_.LastSpan());
  if (tokens_.Is(Token::Kind::kNewline)) {
    tokens_.Take();
    return true;
  }
  const Token& found = tokens_.Peek();
  if (one_line_ && found.kind == Token::Kind::kName && HabitHint(found).empty()) {
    return Error(tokens_.SpanOf(found), "expected the end of the line, found " + Describe(found),
                 "one statement a line; YAML keeps lines apart after `body: |`");
  }
  return Unexpected("the end of the line");
}

/// The colon and what it opens.
bool BodyParser::ParseBlock(Stmt& stmt, std::vector<Stmt>& block) {
  if (!tokens_.Expect(":")) return false;
  const Span header = Cover(stmt.span, tokens_.LastSpan());
  if (stmt.span.begin == first_.begin) stmt.span = header;
  if (!tokens_.Is(Token::Kind::kNewline)) return ParseOneLine(block);
  tokens_.Take();
  if (tokens_.Is(Token::Kind::kIndent)) {
    block = ParseIndented();
  } else {
    failed_ = true;
    Error(first_, "an empty block", "indent the lines that belong to it");
  }
  return true;
}

bool BodyParser::ParseOneLine(std::vector<Stmt>& block) {
  Stmt only;
  if (!ParseStatement(only, false)) return false;
  block.push_back(std::move(only));
  return true;
}

std::vector<Stmt> ParseBody(const Text& text, Diagnostics& diagnostics) {
  return BodyParser(text, diagnostics).Parse();
}

}  // namespace kiln
