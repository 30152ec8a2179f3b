#include "generator/front/names.h"

#include <algorithm>
#include <iterator>

namespace kiln {
namespace {

constexpr size_t kMaxQuoted = 60;

constexpr std::string_view kReserved[] = {"all", "and",   "assert", "copy", "else", "false", "for",
                                          "if",  "in",    "inf",    "let",  "nan",  "not",   "null",
                                          "or",  "range", "true",   "var",  "wait", "when"};

constexpr std::string_view kDTypes[] = {"bool", "i8",  "u8",   "i16", "u16", "i32",
                                        "u32",  "i64", "bf16", "f16", "f32", "f64"};

// C++20, the alternative spellings of operators, and the macros of its oldest headers.
constexpr std::string_view kCpp[] = {
    "EOF",       "INFINITY",     "NAN",           "NULL",
    "alignas",   "alignof",      "and",           "and_eq",
    "asm",       "auto",         "bitand",        "bitor",
    "bool",      "break",        "case",          "catch",
    "char",      "char16_t",     "char32_t",      "char8_t",
    "class",     "co_await",     "co_return",     "co_yield",
    "compl",     "concept",      "const",         "const_cast",
    "consteval", "constexpr",    "constinit",     "continue",
    "decltype",  "default",      "delete",        "do",
    "double",    "dynamic_cast", "else",          "enum",
    "errno",     "explicit",     "export",        "extern",
    "false",     "float",        "for",           "friend",
    "goto",      "if",           "inline",        "int",
    "long",      "mutable",      "namespace",     "new",
    "noexcept",  "not",          "not_eq",        "nullptr",
    "operator",  "or",           "or_eq",         "private",
    "protected", "public",       "register",      "reinterpret_cast",
    "requires",  "return",       "short",         "signed",
    "sizeof",    "static",       "static_assert", "static_cast",
    "stderr",    "stdin",        "stdout",        "struct",
    "switch",    "template",     "this",          "thread_local",
    "throw",     "true",         "try",           "typedef",
    "typeid",    "typename",     "union",         "unsigned",
    "using",     "virtual",      "void",          "volatile",
    "wchar_t",   "while",        "xor",           "xor_eq"};

template <size_t kCount>
bool Contains(const std::string_view (&words)[kCount], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool IsLetter(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// `__x` and `_X` belong to the C++ implementation.
bool BelongsToCompiler(std::string_view name) {
  return name.size() > 1 && name[0] == '_' &&
         (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
}

}  // namespace

std::string Quote(std::string_view text) {
  if (text.size() <= kMaxQuoted) return "`" + std::string(text) + "`";
  size_t cut = kMaxQuoted;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return "`" + std::string(text.substr(0, cut)) + "…`";
}

bool IsIdentifier(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return IsLetter(c) || IsDigit(c); });
}

bool IsReservedWord(std::string_view text) { return Contains(kReserved, text); }

bool CheckNewName(const Ident& name, Diagnostics& diagnostics) {
  const std::string quoted = Quote(name.name);
  const auto error = [&](const std::string& message, const std::string& hint) {
    diagnostics.Error("name", name.span, message, hint);
    return false;
  };
  if (!IsIdentifier(name.name)) {
    return error(quoted + " is not a name",
                 "a name has letters, digits and `_`, and does not "
                 "begin with a digit");
  }
  if (name.name.size() > kMaxNameLength) {
    return error("the name " + quoted + " has " + std::to_string(name.name.size()) +
                     " characters; the limit is " + std::to_string(kMaxNameLength),
                 "");
  }
  if (IsReservedWord(name.name)) {
    return error(quoted + " is a word of the spec language", "choose another name");
  }
  if (Contains(kDTypes, name.name)) return error(quoted + " is a dtype", "choose another name");
  if (Contains(kCpp, name.name)) {
    return error(quoted + " is a word of C++, which names become part of", "choose another name");
  }
  if (BelongsToCompiler(name.name)) {
    return error("names like " + quoted + " belong to the C++ compiler",
                 "begin with a letter, or with one `_` and a small letter");
  }
  return true;
}

}  // namespace kiln
