// What the tables of keys are written with: the forms that values have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "generator/spec/fields.h"

/// Every table lists: name, form, required, description, example; then the reader.
namespace kiln::forms {

inline constexpr bool kRequired = true;
inline constexpr bool kOptional = false;

inline ValueForm Scalar(std::string label, std::string pattern = "") {
  return {ValueForm::Kind::kScalar, std::move(label), {}, {}, std::move(pattern)};
}
/// `each` is a regular expression.
inline ValueForm WithCommas(std::string label, const std::string& each) {
  return Scalar(std::move(label), "^\\s*(" + each + ")(\\s*,\\s*(" + each + "))*\\s*$");
}
inline ValueForm Expression() { return Scalar("an expression"); }
inline ValueForm Condition() { return Scalar("a condition"); }
inline ValueForm ArrayText() {
  return Scalar("an array type", "^\\s*[A-Za-z_][A-Za-z0-9_]*\\s*(\\[[^{}]*\\])?\\s*$");
}
inline ValueForm Statements() { return Scalar("statements"); }
inline ValueForm Name() { return {ValueForm::Kind::kName, "", {}, {}}; }
inline ValueForm Null() { return {ValueForm::Kind::kNull, "", {}, {}}; }
inline ValueForm Words(std::vector<std::string> words) {
  return {ValueForm::Kind::kWord, "", std::move(words), {}};
}
inline ValueForm ListOf(ValueForm item) {
  return {ValueForm::Kind::kList, "", {}, {std::move(item)}};
}
inline ValueForm FreeKeys(std::string of_what, ValueForm value) {
  return {ValueForm::Kind::kFreeKeys, std::move(of_what), {}, {std::move(value)}};
}
inline ValueForm Keys(std::string section) {
  return {ValueForm::Kind::kKeys, std::move(section), {}, {}};
}
inline ValueForm OneOf(std::vector<ValueForm> forms) {
  return {ValueForm::Kind::kOneOf, "", {}, std::move(forms)};
}

template <typename T>
std::vector<Field<T>> Join(std::vector<std::vector<Field<T>>> parts) {
  std::vector<Field<T>> all;
  for (auto& part : parts) {
    for (auto& field : part) all.push_back(std::move(field));
  }
  return all;
}

}  // namespace kiln::forms
