#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// What a statement reads and writes while copies may be in flight.
namespace kiln {
namespace {

void FindEnds(const Kernel& kernel, const Actions& actions, Table<bool, Ref>& ends) {
  ForEachAction(actions, [&](const Action& action) {
    const auto* copy = As<action::Copy>(action);
    if (!copy) return;
    for (const RefId ref : {RefId(copy->source.ref), RefId(copy->target.ref)})
      ends[ref] = kernel[ref].memory != Memory::kAny;
  });
}

}  // namespace

Table<bool, Ref> EndsOfCopies(const Kernel& kernel) {
  Table<bool, Ref> ends(kernel.refs.size());
  FindEnds(kernel, kernel.body, ends);
  FindEnds(kernel, kernel.epilogue, ends);
  return ends;
}

/// Before the statement: its checks would be lost in its loops.
void Lowering::TouchesOf(const Action& action) {
  if (std::find(copied_.begin(), copied_.end(), true) == copied_.end()) return;
  Match(
      action, [&](const action::Define& define) { TouchReads(*define.value); },
      [&](const action::Store& store) {
        if (store.ref >= 0) Touch(RefId(store.ref), store.subscripts, /*writes=*/true);
        TouchReads(*store.value);
        if (store.mask) TouchReads(*store.mask);
      },
      [&](const action::When& when) { TouchReads(*when.condition); },
      [&](const action::For& loop) { TouchReads(*loop.low), TouchReads(*loop.high); },
      [](const action::While&) {},  // before each turn
      [&](const action::Assert& check) { TouchReads(*check.condition); },
      // A copy checks its windows itself; what it reads to find them is not looked at.
      [](const action::Copy&) {}, [](const action::Wait&) {});
}

/// What may not be evaluated is not checked.
void Lowering::TouchReads(const Node& node) {
  if (node.op == Op::kRead) Touch(RefId(node.index), node.subscripts, /*writes=*/false);
  const bool lazy = node.op == Op::kIf || node.op == Op::kAnd || node.op == Op::kOr;
  for (size_t k = 0; k < (lazy ? std::min<size_t>(1, node.args.size()) : node.args.size()); ++k)
    TouchReads(*node.args[k]);
}

void Lowering::Touch(RefId ref, const std::vector<Subscript>& subscripts, bool writes) {
  if (!copied_[ref]) return;
  const stage::Touch touch{WindowOf({ref.number(), subscripts, {}, span_}), writes};
  for (size_t k = out_->size(); k-- > 0;) {
    const auto* former = As<stage::Touch>((*out_)[k]);
    if (!former) break;
    if (former->writes == writes && SamePlace(former->window.begin, touch.window.begin) &&
        former->window.dimensions == touch.window.dimensions) {
      return;
    }
  }
  Emit(touch);
}

}  // namespace kiln
