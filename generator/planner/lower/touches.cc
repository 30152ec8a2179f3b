#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// What a statement reads and writes while copies may be in flight.
namespace kiln {
namespace {

void FindEnds(const Kernel& kernel, const std::vector<Action>& actions, std::vector<bool>& ends) {
  for (const Action& action : actions) {
    if (action.kind == Action::Kind::kCopy) {
      for (const int ref : {action.source.ref, action.target.ref})
        ends[static_cast<size_t>(ref)] =
            kernel.refs[static_cast<size_t>(ref)].memory != Memory::kAny;
    }
    FindEnds(kernel, action.body, ends);
    FindEnds(kernel, action.orelse, ends);
  }
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
  if (action.kind == Action::Kind::kStore && action.ref >= 0)
    Touch(action.ref, action.subscripts, /*writes=*/true);
  for (const NodePtr& node :
       {action.value, action.mask, action.condition, action.low, action.high}) {
    if (node) TouchReads(*node);
  }
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
