#include <algorithm>

#include "tests/random/make/maker.h"

/// Elementwise kernels, of which the blocks are free: what comes out does not depend on where they
/// cut.
namespace kiln::soak {

namespace {

/// Whether a text has one of the names as a word.
bool Mentions(const std::string& text, const std::set<std::string>& names) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    if (names.count(text.substr(at, end - at))) return true;
    at = std::max(end, at + 1);
  }
  return false;
}

}  // namespace

/// What is stored, said of whole arrays, where it is made of nothing that blocks or steps alone
/// have.
void Maker::AddReference(const RefInfo& output, const Term& stored) {
  std::set<std::string> inside;
  for (const AxisInfo& axis : axes_) inside.insert(axis.name);
  for (const RefInfo& ref : refs_) {
    if (ref.role != RefInfo::Role::kInput) inside.insert(ref.name);
  }
  for (const Statement& statement : draft_.body) {
    if (statement.text.rfind("let ", 0) == 0)
      inside.insert(statement.text.substr(4, statement.text.find(" =") - 4));
  }
  const std::string text = ToText(stored);
  // Brackets hold shapes and subscripts of blocks.
  if (text.find('[') != std::string::npos || Mentions(text, inside)) return;
  if (draft_.extra.empty()) draft_.extra.emplace_back("reference", "");
  draft_.extra.back().second += output.name + ": \"" + text + "\"\n";
}

/// Every operand walks every axis, as the outputs do.
Draft Maker::MakePlain() {
  plain_ = true;
  Grid();
  const std::vector<DimPlan> plans = OutputDims(axes_.size());
  const bool partial =
      std::any_of(axes_.begin(), axes_.end(), [](const AxisInfo& axis) { return axis.partial; });
  const bool refers = !partial && Want("key spec.reference", 0.2);
  const int64_t outputs = dice_.Between(1, 2), inputs = dice_.Between(1, 3);
  for (int64_t o = 0; o < outputs; ++o) {
    AddOperand(plans, OutputDType(plans), true);
    output_axes_.push_back(axes_.size());
    if (partial) StartWith(draft_.operands.back(), refs_.back());
  }
  for (int64_t i = 0; i < inputs; ++i) AddOperand(plans, AnyDType(), false);
  BindDims();
  for (RefInfo& ref : refs_) {
    if (ref.role != RefInfo::Role::kOutput) continue;
    if (dice_.Chance(0.4)) {
      const Value value = Make(AnyDType(), ref.view, 2);
      const std::string name = Name("t");
      draft_.body.push_back({"let " + name + " = $0", {value.term}, {}, {}});
      scope_.push_back(value);
      scope_.back().term = {name, {}};
    }
    StoreWhole(ref, draft_.body);
    if (refers) AddReference(ref, draft_.body.back().args[0]);
  }
  AddConstraints();
  return std::move(draft_);
}

}  // namespace kiln::soak
