#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "generator/data/dtype.h"

/// C++'s own words: types, literals, names that are free.
namespace kiln::render {

/// How elements are stored: "bf16", "int8_t".
std::string StorageType(DType dtype);
/// How a value is held: "float" for bf16, f16 and f32, "int32_t" for the small integers. An index
/// is an int64_t.
std::string ValueType(DType dtype);
/// Whether a value of the dtype needs 64-bit lanes.

std::string IntLiteral(int64_t value, DType dtype);
std::string FloatLiteral(double value, DType dtype);

/// A string literal.
std::string Quoted(std::string_view text);

/// Somebody's text as the rest of a line comment, or of several: none of its lines ends so that
/// the compiler takes the next line for a part of it.
std::string CommentText(std::string_view text);

/// Names that are taken, and new ones beside them.
class Scope {
 public:
  Scope();  // what a generated kernel's own text uses is taken
  /// `hint`, or `hint_0`, `hint_1` …; "value_0" without a hint.
  std::string New(const std::string& hint);
  /// The same, but numbered from the start: x_0, x_1.
  std::string Numbered(const std::string& hint);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace kiln::render
