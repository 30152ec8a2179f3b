#include "generator/planner/rewrite/reads.h"

#include <functional>

namespace kiln {

void Reads::Add(const Node& node) {
  const bool of_ref = node.op == Op::kRead || node.op == Op::kInside || node.op == Op::kAt;
  if (of_ref) refs.insert(node.index);
  if (node.op == Op::kLocal) locals.insert(node.index);
  ForEachArgument(node, [this](const Node& arg) { Add(arg); });
}

Table<int, Local> TimesRead(const Kernel& kernel) {
  Table<int, Local> times(kernel.locals.size());
  const std::function<void(const Node&)> count = [&](const Node& node) {
    if (node.op == Op::kLocal) ++times[LocalId(node.index)];
    ForEachArgument(node, count);
  };
  for (const Actions* actions : {&kernel.body, &kernel.epilogue})
    ForEachAction(*actions, [&](const Action& action) { ForEachExpression(action, count); });
  return times;
}

}  // namespace kiln
