#include "generator/planner/rewrite/reads.h"

#include <functional>
#include <utility>

#include "generator/ir/tile_node.h"

namespace kiln {

void Reads::Add(const Node& node) {
  const bool of_ref = node.op == Op::kRead || node.op == Op::kInside || node.op == Op::kAt;
  if (of_ref) refs.insert(node.index);
  if (node.op == Op::kLocal) locals.insert(node.index);
  ForEachArgument(node, [this](const Node& arg) { Add(arg); });
}

bool IsOfTarget(const action::Store& store, const Node& value) {
  return store.ref >= 0 ? value.op == Op::kRead && value.index == store.ref
                        : value.op == Op::kLocal && value.index == store.local;
}

bool StaysAsItIs(const Node& node, const Kernel& kernel,
                 const std::function<bool(RefId)>& is_constant) {
  const OpClass of = ClassOf(node.op);
  const bool of_elements = of == OpClass::kLeaf || of == OpClass::kShape || IsElementwise(node.op);
  if (!of_elements || node.op == Op::kTake || node.op == Op::kTakeAlong) return false;
  if (node.op == Op::kRead && !is_constant(RefId(node.index))) return false;
  if (node.op == Op::kLocal && kernel[LocalId(node.index)].kind == Local::Kind::kVar) return false;
  bool stays = true;
  ForEachArgument(node,
                  [&](const Node& arg) { stays = stays && StaysAsItIs(arg, kernel, is_constant); });
  return stays;
}

NodePtr ReadOf(LocalId local, const Node& value) {
  Node read = TileNode(Op::kLocal, value.dtype, value.shape, value.span, {});
  read.index = local.number();
  return Share(std::move(read));
}

LocalId NewLet(const std::string& name, const NodePtr& value, Kernel* kernel, Actions* to) {
  const LocalId let(static_cast<int>(kernel->locals.size()));
  kernel->locals.push_back({name, value->span, value->dtype, value->shape, Local::Kind::kLet});
  to->push_back({value->span, action::Define{let.number(), value}});
  return let;
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
