#include <algorithm>
#include <cstddef>
#include <utility>

#include "generator/syntax/lexer.h"

namespace kiln {
namespace {

bool IsOpening(const Token& t) {
  return t.kind == Token::Kind::kOp && (t.text == "(" || t.text == "[" || t.text == "{");
}
bool IsClosing(const Token& t) {
  return t.kind == Token::Kind::kOp && (t.text == ")" || t.text == "]" || t.text == "}");
}
bool Matches(const Token& open, const Token& close) {
  return (open.text == "(" && close.text == ")") || (open.text == "[" && close.text == "]") ||
         (open.text == "{" && close.text == "}");
}

/// Finds the brackets that match. What stays open is reported where it was opened, and hides no
/// line ends, so that the statements after it are still read.
class BracketMatcher {
 public:
  BracketMatcher(const Text& text, std::vector<Token>& tokens, Diagnostics& diagnostics)
      : text_(text), tokens_(tokens), diagnostics_(diagnostics), depth_change_(tokens.size()) {}

  void Run() {
    reported_lines_.resize(static_cast<size_t>(tokens_.back().line) + 1);
    for (const Token& t : tokens_) {
      if (t.kind == Token::Kind::kError) reported_lines_[static_cast<size_t>(t.line)] = true;
    }
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (IsOpening(tokens_[i])) open_.push_back(i);
      if (IsClosing(tokens_[i])) Close(i);
    }
    for (const size_t i : open_) Report(i, "`" + tokens_[i].text + "` is never closed", {});
    DropInnerNewlines();
  }

 private:
  void Close(size_t i) {
    const std::string closing = "`" + tokens_[i].text + "`";
    if (open_.empty()) return Report(i, closing + " closes nothing", {});
    const size_t opened = open_.back();
    open_.pop_back();
    ++depth_change_[opened];
    --depth_change_[i];
    const Token& opening = tokens_[opened];
    if (Matches(opening, tokens_[i])) return;
    Report(i, closing + " does not match `" + opening.text + "`",
           {{SpanAt(text_, opening.begin, opening.end), "opened here"}});
  }

  /// Once a line, and not after another error there: what follows the first is rarely news.
  void Report(size_t i, std::string message, std::vector<Note> notes) {
    Token& token = tokens_[i];
    token.kind = Token::Kind::kError;
    const auto line = static_cast<size_t>(token.line);
    if (reported_lines_[line]) return;
    reported_lines_[line] = true;
    diagnostics_.Error("syntax", SpanAt(text_, token.begin, token.end), std::move(message), "",
                       std::move(notes));
  }

  void DropInnerNewlines() {
    int depth = 0;
    size_t kept = 0;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      depth += depth_change_[i];
      if (depth > 0 && tokens_[i].kind == Token::Kind::kNewline) continue;
      if (kept != i) tokens_[kept] = std::move(tokens_[i]);
      ++kept;
    }
    tokens_.resize(kept);
  }

  const Text& text_;
  std::vector<Token>& tokens_;
  Diagnostics& diagnostics_;
  std::vector<int> depth_change_;
  std::vector<size_t> open_;
  std::vector<bool> reported_lines_;
};

/// Logical lines to indents and dedents.
class LayoutReader {
 public:
  LayoutReader(const Text& text, std::vector<Token> raw, Diagnostics& diagnostics)
      : text_(text), raw_(std::move(raw)), diagnostics_(diagnostics) {}

  std::vector<Token> Run() {
    for (size_t i = 0; i < raw_.size();) {
      size_t end = i;
      while (raw_[end].kind != Token::Kind::kNewline && raw_[end].kind != Token::Kind::kEnd) ++end;
      if (end > i) AddLine(i, end);
      i = end + 1;
    }
    const size_t end = text_.value.size();
    for (; levels_.size() > 1; levels_.pop_back()) Close(end);
    Push(Token::Kind::kEnd, end);
    return std::move(out_);
  }

 private:
  struct Level {
    size_t column;
    bool block;  // false: a column that matches nothing, taken over after the error
  };

  void AddLine(size_t begin, size_t end) {
    Indent(begin, end);
    const size_t line_end = raw_[end - 1].end;
    for (size_t i = begin; i < end; ++i) out_.push_back(std::move(raw_[i]));
    Push(Token::Kind::kNewline, line_end);
  }

  void Indent(size_t begin, size_t end) {
    const size_t at = raw_[begin].begin;
    const size_t column = Column(begin);
    if (levels_.empty()) levels_.push_back({column, false});
    if (column > levels_.back().column) {
      levels_.push_back({column, true});
      return Push(Token::Kind::kIndent, at);
    }
    for (; levels_.size() > 1 && levels_.back().column > column; levels_.pop_back()) Close(at);
    if (levels_.back().column == column) return;
    const auto is_error = [](const Token& t) { return t.kind == Token::Kind::kError; };
    const auto first = raw_.begin() + static_cast<ptrdiff_t>(begin);
    if (std::none_of(first, raw_.begin() + static_cast<ptrdiff_t>(end), is_error)) {
      diagnostics_.Error("syntax", SpanAt(text_, at, raw_[begin].end),
                         "the indentation matches no line above",
                         "the lines of one block start in the same column");
    }
    raw_[begin].kind = Token::Kind::kError;
    // The lines that follow are probably meant to align with this one.
    if (column < levels_.back().column) {
      levels_.back().column = column;
    } else {
      levels_.push_back({column, false});
    }
  }

  /// Counted in bytes from the line's start: leading whitespace is spaces, or a reported tab,
  /// which stands for eight.
  size_t Column(size_t begin) const {
    const size_t line = text_.value.rfind('\n', raw_[begin].begin);
    const size_t start = line == std::string::npos ? 0 : line + 1;
    size_t column = raw_[begin].begin - start;
    for (size_t i = raw_[begin].begin; i < text_.value.size(); ++i) {
      if (text_.value[i] != '\t' && text_.value[i] != ' ') break;
      column += text_.value[i] == '\t' ? 8 : 1;
    }
    return column;
  }

  void Close(size_t at) {
    if (levels_.back().block) Push(Token::Kind::kDedent, at);
  }

  void Push(Token::Kind kind, size_t at) {
    Token token;
    token.kind = kind;
    token.begin = token.end = at;
    out_.push_back(std::move(token));
  }

  const Text& text_;
  std::vector<Token> raw_;
  Diagnostics& diagnostics_;
  std::vector<Level> levels_;
  std::vector<Token> out_;
};

}  // namespace

void MatchBrackets(const Text& text, std::vector<Token>& tokens, Diagnostics& diagnostics) {
  BracketMatcher(text, tokens, diagnostics).Run();
}

std::vector<Token> LayOut(const Text& text, std::vector<Token> tokens, Diagnostics& diagnostics) {
  return LayoutReader(text, std::move(tokens), diagnostics).Run();
}

}  // namespace kiln
