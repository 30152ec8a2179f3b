#include "generator/planner/rewrite/value_numbers.h"

#include <sstream>

namespace kiln {

int ValueNumbers::Of(const NodePtr& node) {
  const auto known = known_.find(node);
  if (known != known_.end()) return known->second;
  const std::string text = TextOf(*node);  // which numbers the arguments first
  const int next = static_cast<int>(numbers_.size());
  const int number = numbers_.emplace(text, next).first->second;
  known_.emplace(node, number);
  return number;
}

/// All that a node says, with the numbers of what it is made of.
std::string ValueNumbers::TextOf(const Node& node) {
  std::ostringstream text;
  text << std::hexfloat << static_cast<int>(node.op) << ' ' << static_cast<int>(node.dtype) << ' '
       << ToString(node.shape) << ' ' << node.index << ' ' << node.int_value << ' '
       << node.float_value << ' ' << node.keep << node.descending;
  if (node.op == Op::kRead || node.op == Op::kInside || node.op == Op::kAt)
    text << " ref " << changes_of_refs_[kernel_.ArrayOf(node.index)] << ' ' << changes_of_all_;
  if (node.op == Op::kLocal) text << " local " << changes_of_locals_[node.index];
  for (const int axis : node.axes) text << " axis " << axis;
  for (const NodePtr& arg : node.args) text << " (" << Of(arg) << ')';
  for (const Subscript& s : node.subscripts) {
    text << " [" << s.range << ' ' << Of(s.start) << ' ' << s.size.ToString() << ' ' << s.stride;
    if (s.count) text << ' ' << Of(s.count);
    text << ']';
  }
  return text.str();
}

void ValueNumbers::Change(const action::Store& store) {
  if (store.ref < 0) {
    ++changes_of_locals_[store.local];
    return;
  }
  const int array = kernel_.ArrayOf(store.ref);
  ++changes_of_refs_[array];
  // An output may have the memory of an input.
  const int alias = kernel_.refs[static_cast<size_t>(array)].alias;
  if (alias >= 0) ++changes_of_refs_[kernel_.ArrayOf(alias)];
}

void ValueNumbers::Pass(const Action& passed) {
  known_.clear();
  const auto change = [this](const Action& action) {
    if (const auto* store = As<action::Store>(action)) Change(*store);
    if (const auto* define = As<action::Define>(action)) ++changes_of_locals_[define->local];
    if (const auto* loop = As<action::For>(action)) ++changes_of_locals_[loop->local];
    // Copies by hand change what they arrive in, be it later.
    if (Is<action::Copy>(action) || Is<action::Wait>(action)) ++changes_of_all_;
  };
  change(passed);
  ForEachBlock(passed, [&](const Actions& block) { ForEachAction(block, change); });
}

}  // namespace kiln
