#include "generator/text/utf8.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace kiln {
namespace {

struct Range {
  char32_t first, last;
};

// What terminals draw two columns wide. Coarse on purpose: a caret one column off under a rare
// symbol is no reason to carry the whole Unicode table.
constexpr Range kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                           {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr Range kCombining[] = {{0x0300, 0x036F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
// Control characters, line separators and the marks that make text read in another order than
// it is stored.
constexpr Range kHidden[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x200B, 0x200F},
                             {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}};

template <size_t kCount>
bool In(char32_t value, const Range (&ranges)[kCount]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [value](Range r) { return value >= r.first && value <= r.last; });
}

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

int LengthFromLead(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

bool IsScalarValue(char32_t value, int length) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return value >= kLeast[length] && value <= 0x10FFFF && !surrogate;
}

std::string Hex(const char* format, unsigned value) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

}  // namespace

CodePoint DecodeUtf8(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const CodePoint invalid = {lead, 1, false};
  const int length = LengthFromLead(lead);
  if (length == 0 || at + static_cast<size_t>(length) > text.size()) return invalid;
  if (length == 1) return {lead, 1, true};
  char32_t value = lead & (0x7Fu >> length);
  for (int i = 1; i < length; ++i) {
    const char byte = text[at + static_cast<size_t>(i)];
    if (!IsContinuation(byte)) return invalid;
    value = value << 6 | (static_cast<unsigned char>(byte) & 0x3Fu);
  }
  if (!IsScalarValue(value, length)) return invalid;
  return {value, length, true};
}

int CountCodePoints(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return !IsContinuation(c); }));
}

size_t FindInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    if (!point.valid) return at;
    at += static_cast<size_t>(point.length);
  }
  return std::string_view::npos;
}

Glyph GlyphOf(const CodePoint& point, std::string_view bytes) {
  const bool hidden = In(point.value, kHidden);
  if (!point.valid || (hidden && point.value < 0x100)) {
    return {Hex("\\x%02x", static_cast<unsigned>(point.value)), 4};
  }
  if (hidden) {
    std::string text = Hex("\\u{%x}", static_cast<unsigned>(point.value));
    const int columns = static_cast<int>(text.size());
    return {std::move(text), columns};
  }
  if (In(point.value, kCombining)) return {std::string(bytes), 0};
  return {std::string(bytes), In(point.value, kWide) ? 2 : 1};
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    const auto length = static_cast<size_t>(point.length);
    if (text[at] == '\n') {
      out += '\n';
    } else {
      out += GlyphOf(point, text.substr(at, length)).text;
    }
    at += length;
  }
  return out;
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) out += c == '\n' ? std::string("\\x0a") : std::string(1, c);
  return out;
}

}  // namespace kiln
