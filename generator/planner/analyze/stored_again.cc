#include "generator/planner/analyze/stored_again.h"

#include <algorithm>

namespace kiln {
namespace {

bool UsesAxisOf(const Node& node, const Axes& axes) {
  const auto in = [&](const NodePtr& n) { return UsesAxisOf(*n, axes); };
  return std::find(axes.begin(), axes.end(), AxisId(AxisOf(node))) != axes.end() ||
         std::any_of(node.args.begin(), node.args.end(), in) ||
         std::any_of(node.subscripts.begin(), node.subscripts.end(),
                     [&](const Subscript& s) { return in(s.start); });
}

bool StaysThrough(const Ref& output, const Axes& axes) {
  return std::none_of(output.block.begin(), output.block.end(), [&](const BlockDim& dim) {
    return (dim.index && UsesAxisOf(*dim.index, axes)) ||
           (dim.extent && UsesAxisOf(*dim.extent, axes));
  });
}

void MarkReads(const Node& node, Table<bool, Ref>& read) {
  if (node.op == Op::kRead) read[RefId(node.index)] = true;
  for (const NodePtr& arg : node.args) MarkReads(*arg, read);
  for (const Subscript& s : node.subscripts) MarkReads(*s.start, read);
}

/// Whether computing it may fail: what fails in some step has to be reported of that step.
bool MayFail(const Node& node) {
  return !node.subscripts.empty() || std::any_of(node.args.begin(), node.args.end(),
                                                 [](const NodePtr& arg) { return MayFail(*arg); });
}

/// What is read, copied, or written by more than one store to all of it.
Table<bool, Ref> TouchedOtherwise(const Kernel& kernel) {
  Table<bool, Ref> touched(kernel.refs.size());
  const auto visit = [&](const Action& action, bool always) {
    ForEachExpression(action, [&](const Node& node) { MarkReads(node, touched); });
    if (const auto* copy = As<action::Copy>(action))
      touched[RefId(copy->source.ref)] = touched[RefId(copy->target.ref)] = true;
    const auto* store = As<action::Store>(action);
    if (store && store->ref >= 0 && (!always || !store->IsWhole() || MayFail(*store->value)))
      touched[RefId(store->ref)] = true;
  };
  for (const Action& action : kernel.body) {
    visit(action, true);
    ForEachBlock(action, [&](const Actions& block) {
      ForEachAction(block, [&](const Action& inner) { visit(inner, false); });
    });
  }
  ForEachAction(kernel.epilogue, [&](const Action& action) { visit(action, false); });
  for (const Ref& ref : kernel.refs) {
    if (ref.view_of >= 0) touched[RefId(ref.view_of)] = true;
  }
  return touched;
}

}  // namespace

Table<bool, Ref> StoredAgain(const Kernel& kernel, const Reduction& reduction) {
  Table<bool, Ref> found(kernel.refs.size());
  if (!reduction.accumulator || reduction.stay) return found;
  const Table<bool, Ref> touched = TouchedOtherwise(kernel);
  for (const Action& action : kernel.body) {
    const auto* store = As<action::Store>(action);
    if (!store || store->ref < 0 || touched[RefId(store->ref)]) continue;
    const Ref& ref = kernel[RefId(store->ref)];
    found[RefId(store->ref)] = ref.role == Role::kOutput && ref.alias < 0 && ref.view_of < 0 &&
                               StaysThrough(ref, reduction.axes);
  }
  return found;
}

}  // namespace kiln
