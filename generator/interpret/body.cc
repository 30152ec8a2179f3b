#include "generator/interpret/body.h"

#include <sstream>

#include "generator/interpret/copies.h"
#include "generator/interpret/evaluate.h"
#include "generator/interpret/grid.h"

namespace kiln::interpret {
namespace {

/// What a store changes: the block of a ref or the tile of a `var`.
Tile& TargetOf(Run& run, const Action& action) {
  if (action.ref >= 0) return BlockAt(run, action.ref).tile;
  return run.locals[static_cast<size_t>(action.local)].tile;
}

void Define(Run& run, const Action& action) {
  LocalValue& local = run.locals[static_cast<size_t>(action.local)];
  const Shape& shape = run.kernel.locals[static_cast<size_t>(action.local)].shape;
  if (shape.empty()) {
    local.scalar = EvaluateScalar(run, *action.value);
    return;
  }
  Tile value = EvaluateTile(run, *action.value);
  // A snapshot of a small part would make the next store copy the whole buffer.
  if (value.size() * 2 < value.cells) value = Compact(value);
  local.tile = Fit(run, value, ExtentsOf(run, shape, action.span), action.span);
}

/// Undefined values that go to an output remember who stored them.
OriginId StoredOrigin(Run& run, const Action& action, OriginId origin) {
  const bool output = action.ref >= 0 && RefAt(run, action.ref).role == Role::kOutput;
  if (origin == kDefined || !output) return origin;
  return run.origins.Stored(origin, action.span, run.step);
}

void NoteStore(Run& run, const Action& action, Tile& value) {
  const bool output = action.ref >= 0 && RefAt(run, action.ref).role == Role::kOutput;
  if (!value.origins || !output) return;
  value = Compact(value);
  const Buffer<OriginId> own = MakeBuffer<OriginId>(value.cells);
  for (int64_t i = 0; i < value.cells; ++i) own[i] = StoredOrigin(run, action, value.origins[i]);
  value.origins = own;
}

void StoreElement(Run& run, const Action& action, const Box& box) {
  const Scalar value = EvaluateScalar(run, *action.value);
  Tile& target = TargetOf(run, action);
  MakeWritable(target);
  int64_t cell = 0;
  for (int d = 0; d < box.start.rank(); ++d) cell += box.start[d] * target.strides[d];
  if (target.floating)
    target.floats[cell] = value.f;
  else
    target.ints[cell] = value.i;
  if (value.origin != kDefined) MakeOrigins(target);
  if (target.origins) target.origins[cell] = StoredOrigin(run, action, value.origin);
}

void StoreTile(Run& run, const Action& action, const Box& box) {
  Tile value = Fit(run, EvaluateTile(run, *action.value), box.view, action.span);
  Tile mask;
  if (action.mask) mask = Fit(run, EvaluateTile(run, *action.mask), box.view, action.mask->span);
  NoteStore(run, action, value);
  NoteStore(run, action, mask);
  Tile& target = TargetOf(run, action);
  if (!action.mask && box.view == target.extents) {
    target = Compact(value);
    return;
  }
  MakeWritable(target);
  Paste(target, SliceTile(target, action.subscripts, box), value, action.mask ? &mask : nullptr);
}

void StoreValue(Run& run, const Action& action) {
  const bool scalar_local =
      action.local >= 0 && run.kernel.locals[static_cast<size_t>(action.local)].shape.empty();
  if (scalar_local) {
    run.locals[static_cast<size_t>(action.local)].scalar = EvaluateScalar(run, *action.value);
    return;
  }
  const Box box =
      BoxOf(run, action.subscripts, TargetOf(run, action).extents, {action.ref, action.local});
  if (!run.copies.empty() && action.ref >= 0) CheckWrite(run, action.ref, box, action.span);
  if (action.shape.empty() && !action.mask)
    StoreElement(run, action, box);
  else
    StoreTile(run, action, box);
}

void Loop(Run& run, const Action& action) {
  const int64_t low = EvaluateIndex(run, *action.low, "a loop bound");
  const int64_t high = EvaluateIndex(run, *action.high, "a loop bound");
  for (int64_t i = low; i < high; ++i) {
    run.locals[static_cast<size_t>(action.local)].scalar = {0, i, kDefined};
    Execute(run, action.body);
  }
}

/// "; `x[i]` is 2" for the sides of a comparison of scalars.
std::string SidesText(Run& run, const Node& condition) {
  if (!IsComparison(condition.op)) return "";
  std::string text;
  for (const NodePtr& side : condition.args) {
    if (side->op == Op::kConst) continue;
    const Scalar value = EvaluateScalar(run, *side);
    std::ostringstream number;
    if (IsFloat(side->dtype))
      number << value.f;
    else
      number << value.i;
    text += "; `" + ToString(*side, run.kernel) + "` is " + number.str();
  }
  return text;
}

void Check(Run& run, const Action& action) {
  if (EvaluateCondition(run, *action.condition, "the condition of `assert`")) return;
  Fail(run, "assert", action.span,
       "the assertion fails" + AtPoint(run) +
           (action.message.empty() ? "" : ": " + action.message) +
           SidesText(run, *action.condition));
}

void ExecuteOne(Run& run, const Action& action) {
  switch (action.kind) {
    case Action::Kind::kDefine:
      return Define(run, action);
    case Action::Kind::kStore:
      return StoreValue(run, action);
    case Action::Kind::kWhen:
      if (EvaluateCondition(run, *action.condition, "the condition of `when`")) {
        return Execute(run, action.body);
      }
      return Execute(run, action.orelse);
    case Action::Kind::kFor:
      return Loop(run, action);
    case Action::Kind::kAssert:
      return Check(run, action);
    case Action::Kind::kCopy:
      return StartCopy(run, action);
    case Action::Kind::kWait:
      return WaitForCopy(run, action);
  }
}

}  // namespace

void Execute(Run& run, const std::vector<Action>& actions) {
  for (const Action& action : actions) ExecuteOne(run, action);
}

}  // namespace kiln::interpret
