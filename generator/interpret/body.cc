#include "generator/interpret/body.h"

#include <sstream>

#include "generator/interpret/copies.h"
#include "generator/interpret/evaluate.h"
#include "generator/interpret/grid.h"

namespace kiln::interpret {
namespace {

/// What a store changes: the block of a ref or the tile of a `var`.
Tile& TargetOf(Run& run, const action::Store& store) {
  if (store.ref >= 0) return BlockAt(run, store.ref).tile;
  return run.locals[static_cast<size_t>(store.local)].tile;
}

void Define(Run& run, const action::Define& define, Span span) {
  LocalValue& local = run.locals[static_cast<size_t>(define.local)];
  const Shape& shape = run.kernel[LocalId(define.local)].shape;
  if (shape.empty()) {
    local.scalar = EvaluateScalar(run, *define.value);
    return;
  }
  Tile value = EvaluateTile(run, *define.value);
  // A snapshot of a small part would make the next store copy the whole buffer.
  if (value.size() * 2 < value.cells) value = Compact(value);
  local.tile = Fit(run, value, ExtentsOf(run, shape, span), span);
}

/// Undefined values that go to an output remember who stored them.
OriginId StoredOrigin(Run& run, const action::Store& store, Span span, OriginId origin) {
  const bool output = store.ref >= 0 && RefAt(run, store.ref).role == Role::kOutput;
  if (origin == kDefined || !output) return origin;
  return run.origins.Stored(origin, span, run.step);
}

void NoteStore(Run& run, const action::Store& store, Span span, Tile& value) {
  const bool output = store.ref >= 0 && RefAt(run, store.ref).role == Role::kOutput;
  if (!value.origins || !output) return;
  value = Compact(value);
  const Buffer<OriginId> own = MakeBuffer<OriginId>(value.cells);
  for (int64_t i = 0; i < value.cells; ++i)
    own[i] = StoredOrigin(run, store, span, value.origins[i]);
  value.origins = own;
}

void StoreElement(Run& run, const action::Store& store, Span span, const Box& box) {
  const Scalar value = EvaluateScalar(run, *store.value);
  Tile& target = TargetOf(run, store);
  MakeWritable(target);
  int64_t cell = 0;
  for (int d = 0; d < box.start.rank(); ++d) cell += box.start[d] * target.strides[d];
  if (target.floating)
    target.floats[cell] = value.f;
  else
    target.ints[cell] = value.i;
  if (value.origin != kDefined) MakeOrigins(target);
  if (target.origins) target.origins[cell] = StoredOrigin(run, store, span, value.origin);
}

void StoreTile(Run& run, const action::Store& store, Span span, const Box& box) {
  Tile value = Fit(run, EvaluateTile(run, *store.value), box.view, span);
  Tile mask;
  if (store.mask) mask = Fit(run, EvaluateTile(run, *store.mask), box.view, store.mask->span);
  NoteStore(run, store, span, value);
  NoteStore(run, store, span, mask);
  Tile& target = TargetOf(run, store);
  if (!store.mask && box.view == target.extents) {
    target = Compact(value);
    return;
  }
  MakeWritable(target);
  Paste(target, SliceTile(target, store.subscripts, box), value, store.mask ? &mask : nullptr);
}

void StoreValue(Run& run, const action::Store& store, Span span) {
  const bool scalar_local = store.local >= 0 && run.kernel[LocalId(store.local)].shape.empty();
  if (scalar_local) {
    run.locals[static_cast<size_t>(store.local)].scalar = EvaluateScalar(run, *store.value);
    return;
  }
  const Box box =
      BoxOf(run, store.subscripts, TargetOf(run, store).extents, {store.ref, store.local});
  if (!run.copies.empty() && store.ref >= 0) CheckWrite(run, store.ref, box, span);
  if (store.shape.empty() && !store.mask)
    StoreElement(run, store, span, box);
  else
    StoreTile(run, store, span, box);
}

void Loop(Run& run, const action::For& loop) {
  const int64_t low = EvaluateIndex(run, *loop.low, "a loop bound");
  const int64_t high = EvaluateIndex(run, *loop.high, "a loop bound");
  for (int64_t i = low; i < high; ++i) {
    run.locals[static_cast<size_t>(loop.local)].scalar = {0, i, kDefined};
    Execute(run, loop.body);
  }
}

/// Without a bound of its own, a loop of so many turns is taken for one that never ends.
constexpr int64_t kMostTurns = int64_t{1} << 24;

void RepeatWhile(Run& run, const action::While& loop, Span span) {
  const int64_t most = loop.most ? Evaluate(*loop.most, run.binding).value_or(0) : kMostTurns;
  for (int64_t turn = 0; EvaluateCondition(run, *loop.condition, "the condition of `while`");
       ++turn) {
    if (turn >= most) {
      Fail(run, "assert", span,
           "the loop does not end after " + std::to_string(most) + " turns" + AtPoint(run));
    }
    Execute(run, loop.body);
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

void Check(Run& run, const action::Assert& check, Span span) {
  if (EvaluateCondition(run, *check.condition, "the condition of `assert`")) return;
  Fail(run, "assert", span,
       "the assertion fails" + AtPoint(run) + (check.message.empty() ? "" : ": " + check.message) +
           SidesText(run, *check.condition));
}

void ExecuteOne(Run& run, const Action& action) {
  const Span span = action.span;
  Match(
      action, [&](const action::Define& define) { Define(run, define, span); },
      [&](const action::Store& store) { StoreValue(run, store, span); },
      [&](const action::When& when) {
        const bool holds = EvaluateCondition(run, *when.condition, "the condition of `when`");
        Execute(run, holds ? when.body : when.orelse);
      },
      [&](const action::For& loop) { Loop(run, loop); },
      [&](const action::While& loop) { RepeatWhile(run, loop, span); },
      [&](const action::Assert& check) { Check(run, check, span); },
      [&](const action::Copy& copy) { StartCopy(run, copy, span); },
      [&](const action::Wait& wait) { WaitForCopy(run, wait, span); });
}

}  // namespace

void Execute(Run& run, const Actions& actions) {
  for (const Action& action : actions) ExecuteOne(run, action);
}

}  // namespace kiln::interpret
