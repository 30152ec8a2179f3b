#include "generator/render/view/mentions.h"

#include <algorithm>
#include <cctype>

namespace kiln::render {
namespace {

bool IsOfWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where what begins here ends: a word, a comment, a string literal, or one other character.
size_t EndOf(std::string_view text, size_t begin) {
  size_t end = begin + 1;
  if (text.substr(begin, 2) == "//") return std::min(text.find('\n', begin), text.size());
  if (text[begin] == '"') {
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text.size());
  }
  if (IsOfWord(text[begin])) {
    while (end < text.size() && IsOfWord(text[end])) ++end;
  }
  return end;
}

}  // namespace

bool Mentions(std::string_view text, std::string_view word) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = EndOf(text, begin);
    const bool is_member = begin > 0 && text[begin - 1] == '.';
    if (!is_member && text.substr(begin, end - begin) == word) return true;
    begin = end;
  }
  return false;
}

bool Mentions(const Fields& fields, std::string_view word) {
  for (const std::string& name : fields.Names()) {
    const Fields::Value& value = *fields.Find(name);
    if (Mentions(value.text, word) || Mentions(value.items, word)) return true;
  }
  return false;
}

bool Mentions(const std::vector<Fields>& list, std::string_view word) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Fields& fields) { return Mentions(fields, word); });
}

}  // namespace kiln::render
