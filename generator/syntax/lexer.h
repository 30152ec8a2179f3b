#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/text/diagnostic.h"
#include "generator/text/source.h"

/// Tokens of Kiln's own grammar, for the parsers of expressions and bodies only.
namespace kiln {

struct Token {
  enum class Kind {
    kName,     // keywords too: most mean something only at the start of a statement
    kInt,      // int_value
    kFloat,    // float_value
    kString,   // text is what it says, escapes resolved
    kOp,       // text is the operator or bracket
    kNewline,  // the end of a statement; only in a body
    kIndent,
    kDedent,
    kError,  // already reported; a statement that has one is skipped
    kEnd,
  };
  Kind kind = Kind::kEnd;
  size_t begin = 0;  // bytes of the text's value
  size_t end = 0;
  int line = 0;  // from 0
  bool starts_line = false;
  std::string text;
  int64_t int_value = 0;
  double float_value = 0;
};

/// A value is one logical line whatever its line ends; a body is laid out as Python is.
enum class Layout { kValue, kBody };

/// Ends in one kEnd. Every bracket that is left open, or closed by the wrong one, is reported and
/// becomes a kError; newlines between brackets that match are gone.
std::vector<Token> Lex(const Text& text, Layout layout, Diagnostics& diagnostics);

// The two steps of Lex after the characters (layout.cc); both take the tokens with every line end.
void MatchBrackets(const Text& text, std::vector<Token>& tokens, Diagnostics& diagnostics);
std::vector<Token> LayOut(const Text& text, std::vector<Token> tokens, Diagnostics& diagnostics);

/// The place of a range of the text's bytes in the file, safe for a Text without offsets.
Span SpanAt(const Text& text, size_t begin, size_t end);

}  // namespace kiln
