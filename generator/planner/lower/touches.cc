#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// What a statement reads and writes while copies may be in flight.
namespace kiln {
namespace {

void FindEnds(const Kernel& kernel, const Actions& actions, std::vector<bool>& ends) {
  ForEachAction(actions, [&](const Action& action) {
    const auto* copy = As<action::Copy>(action);
    if (!copy) return;
    for (const int ref : {copy->source.ref, copy->target.ref})
      ends[static_cast<size_t>(ref)] = kernel.refs[static_cast<size_t>(ref)].memory != Memory::kAny;
  });
}

}  // namespace

std::vector<bool> EndsOfCopies(const Kernel& kernel) {
  std::vector<bool> ends(kernel.refs.size());
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
        if (store.ref >= 0) Touch(store.ref, store.subscripts, /*writes=*/true);
        TouchReads(*store.value);
        if (store.mask) TouchReads(*store.mask);
      },
      [&](const action::When& when) { TouchReads(*when.condition); },
      [&](const action::For& loop) { TouchReads(*loop.low), TouchReads(*loop.high); },
      [&](const action::Assert& check) { TouchReads(*check.condition); },
      // A copy checks its windows itself; what it reads to find them is not looked at.
      [](const action::Copy&) {}, [](const action::Wait&) {});
}

/// What may not be evaluated is not checked.
void Lowering::TouchReads(const Node& node) {
  if (node.op == Op::kRead) Touch(node.index, node.subscripts, /*writes=*/false);
  const bool lazy = node.op == Op::kIf || node.op == Op::kAnd || node.op == Op::kOr;
  for (size_t k = 0; k < (lazy ? std::min<size_t>(1, node.args.size()) : node.args.size()); ++k)
    TouchReads(*node.args[k]);
}

void Lowering::Touch(int ref, const std::vector<Subscript>& subscripts, bool writes) {
  if (!copied_[static_cast<size_t>(ref)]) return;
  Stage stage = StageOf(Stage::Kind::kTouch, span_);
  stage.writes = writes;
  stage.place = WindowOf({ref, subscripts, {}, span_}, &stage.place_window);
  for (size_t k = out_->size(); k-- > 0 && (*out_)[k].kind == Stage::Kind::kTouch;) {
    const Stage& former = (*out_)[k];
    const bool same_sizes = std::equal(former.place_window.begin(), former.place_window.end(),
                                       stage.place_window.begin(), stage.place_window.end(),
                                       [](const WindowDim& a, const WindowDim& b) {
                                         return a.size == b.size && a.point == b.point;
                                       });
    if (former.writes == writes && SamePlace(former.place, stage.place) && same_sizes) return;
  }
  Emit(std::move(stage));
}

}  // namespace kiln
