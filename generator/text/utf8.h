#pragma once

#include <string>
#include <string_view>

namespace kiln {

struct CodePoint {
  char32_t value = 0;
  int length = 1;     // bytes
  bool valid = true;  // false: the byte starts no code point (value is that byte, length 1)
};

/// The code point at byte `at`, which must be inside `text`.
CodePoint DecodeUtf8(std::string_view text, size_t at);

/// Code points of valid text; of other text, a stable count all the same.
int CountCodePoints(std::string_view text);

/// The offset of the first byte that is not UTF-8, or npos.
size_t FindInvalidUtf8(std::string_view text);

/// A code point as a terminal shows it. Control characters, bytes that are not UTF-8 and the
/// invisible characters that reorder text are spelt out ("\x1b", "\u{202e}").
struct Glyph {
  std::string text;
  int columns = 1;
};
Glyph GlyphOf(const CodePoint& point, std::string_view bytes);

/// `text` safe to print: every code point as its glyph, newlines kept.
std::string Printable(std::string_view text);

/// The same on one line, for a file's name: "a\x0ab".
std::string OneLine(std::string_view text);

}  // namespace kiln
