#include <algorithm>

#include "generator/plan/stays.h"
#include "generator/planner/lower/lowering.h"

namespace kiln {

Lowering::Lowering(Plan& plan, SpaceAnalysis& spaces, const Known& known, Diagnostics& diagnostics)
    : plan_(plan),
      kernel_(*plan.kernel),
      spaces_(spaces),
      known_(known),
      diagnostics_(diagnostics),
      copied_(EndsOfCopies(kernel_)),
      has_dots_(HasDots(kernel_)),
      chained_(DotsInChains(kernel_)),
      local_buffer_(kernel_.locals.size()),
      local_variable_(kernel_.locals.size()),
      read_in_parts_(ReadInParts(kernel_)),
      written_after_(WrittenAfterLets(kernel_)) {}

Stages Lowering::Body() {
  Stages stages;
  out_ = &stages;
  Block(kernel_.body);
  if (!kernel_.epilogue.empty()) {
    // The epilogue is a `when last(outputs):` at the end of the body.
    auto last = std::make_shared<Node>();
    last->op = Op::kLastVisit;
    last->dtype = DType::kBool;
    last->index = kernel_.epilogue_outputs.front();
    Statement({kernel_.epilogue.front().span, action::When{last, kernel_.epilogue, {}}});
  }
  return stages;
}

void Lowering::Block(const Actions& actions) {
  for (const Action& action : actions) Statement(action);
}

Stages Lowering::Nested(const Actions& actions) {
  Stages stages;
  Stages* const outer = std::exchange(out_, &stages);
  Block(actions);
  out_ = outer;
  return stages;
}

void Lowering::Statement(const Action& action) {
  span_ = action.span;
  temporary_.clear();
  sums_.clear();
  hoisted_.clear();
  checked_.clear();
  TouchesOf(action);
  Match(
      action, [this](const action::Define& define) { DefineLocal(define); },
      [this](const action::Store& store) { StoreTile(store); },
      [this](const action::When& when) { When(when); },
      [this](const action::For& loop) { For(loop); },
      [this](const action::While& loop) { While(loop); },
      [this](const action::Assert& check) { Assert(check); },
      [this](const action::Copy& copy) { Copy(copy); },
      [this](const action::Wait& wait) { Wait(wait); });
}

void Lowering::Assert(const action::Assert& check) {
  Emit(stage::Assert{Scalar(*check.condition), check.message});
}

void Lowering::DefineLocal(const action::Define& define) {
  const LocalId id(define.local);
  const Local& local = kernel_[id];
  if (local.kind == Local::Kind::kLet) {
    local_bounds_[id] = BoundsOf(*define.value);
    index_ranges_[id] =
        RangeOf(*define.value, kernel_, [this](LocalId other) { return RangeOfLocal(other); });
    if (define.value->shape == local.shape) KeepOneHot(id, define.value);
  }
  if (local.shape.empty()) {
    const ElementPtr value = Scalar(*define.value);
    local_variable_[id] = NewVariable(local.name, local.dtype, local.kind == Local::Kind::kVar);
    return Emit(stage::Define{local_variable_[id], value});
  }
  if (local.kind == Local::Kind::kLet && define.value->shape == local.shape &&
      (IsWindow(*define.value, id) || (read_in_parts_[id] && IsMadeOfWindows(*define.value, id)))) {
    // It is in range here or nowhere.
    Value(*define.value, Point(local.shape.size()));
    views_[id] = define.value;
    return;
  }
  if (local.kind == Local::Kind::kLet && define.value->op == Op::kReshape &&
      RegroupsDimensions(*define.value) && DividesIntoShortLines(*define.value)) {
    // Its argument is kept, and seen through.
    const Node& arg = *define.value->args[0];
    const BufferId kept = NewTemp(local.name, arg.dtype, arg.shape, spaces_.SpacesOf(arg));
    EmitInto(WholeOf(kept, arg.shape.size()), arg, nullptr);
    kept_[&arg] = kept;
    views_[id] = define.value;
    return;
  }
  const BufferId buffer = NewTemp(local.name, local.dtype, local.shape, spaces_.SpacesOfLocal(id));
  EmitBroadcast(WholeOf(buffer, local.shape.size()), define.value, local.shape, nullptr);
  local_buffer_[id] = buffer;
}

void Lowering::StoreTile(const action::Store& store) {
  const RefId ref(store.ref);
  if (ref && known_.last == false && known_.stored_again[ref]) return;
  const LocalId local(store.local);
  if (!ref && local_variable_[local])
    return Emit(stage::Assign{local_variable_[local], Scalar(*store.value)});
  Target target;
  target.buffer = ref ? BufferOf(ref) : local_buffer_[local];
  const Shape extents = plan_[target.buffer].extents;
  if (store.subscripts.empty()) {
    target = WholeOf(target.buffer, extents.size());
  } else {
    const std::string& name = ref ? kernel_[ref].name : kernel_[local].name;
    size_t axis = 0;
    const auto next_axis = [&](bool range) {
      return range ? std::optional<size_t>(axis++) : std::nullopt;
    };
    for (size_t d = 0; d < store.subscripts.size(); ++d) {
      const Subscript& s = store.subscripts[d];
      if (IsWholeRange(s, extents[d])) {
        // Without an offset the store's loop is the target's own, which stops at the array's edge.
        target.dimensions.push_back({next_axis(true), nullptr});
        continue;
      }
      target.dimensions.push_back(
          {next_axis(s.range), CheckedStart(name, s, extents[d]), s.stride});
    }
  }
  EmitBroadcast(target, store.value, store.shape, store.mask);
}

/// A value of fewer dimensions, or of extents 1, fills the window.
void Lowering::EmitBroadcast(const Target& target, const NodePtr& value, const Shape& shape,
                             const NodePtr& mask) {
  if (value->shape.size() == shape.size() && value->shape == shape) {
    return EmitInto(target, *value, mask);
  }
  Node broadcast;
  broadcast.op = Op::kBroadcast;
  broadcast.dtype = value->dtype;
  broadcast.shape = shape;
  broadcast.args = {value};
  EmitInto(target, broadcast, mask);
}

void Lowering::When(const action::When& when) {
  if (const std::optional<bool> known = KnownValue(*when.condition)) {
    return Block(*known ? when.body : when.orelse);
  }
  const Span span = span_;
  stage::If stage;
  stage.condition = Scalar(*when.condition);
  stage.body = Nested(when.body);
  stage.orelse = Nested(when.orelse);
  Emit(Stage{span, std::move(stage)});
}

void Lowering::For(const action::For& loop) {
  const Span span = span_;
  stage::For stage;
  stage.low = Scalar(*loop.low);
  stage.high = Scalar(*loop.high);
  const LocalId local(loop.local);
  stage.variable = NewVariable(kernel_[local].name, DType::kIndex, false);
  local_variable_[local] = stage.variable;
  local_bounds_[local] = {BoundsOf(*loop.low).low, BoundsOf(*loop.high).high};
  if (std::optional<Size>& high = local_bounds_[local].high) high = *high - Size(1);
  const auto of_local = [this](LocalId outer) { return RangeOfLocal(outer); };
  index_ranges_[local] = {RangeOf(*loop.low, kernel_, of_local).low,
                          RangeOf(*loop.high, kernel_, of_local).high - 1};
  ++turning_;
  stage.body = Nested(loop.body);
  --turning_;
  Emit(Stage{span, std::move(stage)});
}

void Lowering::While(const action::While& loop) {
  const Span span = span_;
  stage::While stage;
  stage.turn = NewVariable("turn", DType::kIndex, false);
  if (loop.most) stage.most = Scalar(*loop.most->ToNode());
  Stages* const outer = std::exchange(out_, &stage.before);
  TouchReads(*loop.condition);
  stage.condition = Scalar(*loop.condition);
  out_ = outer;
  ++turning_;
  stage.body = Nested(loop.body);
  --turning_;
  Emit(Stage{span, std::move(stage)});
}

std::optional<bool> Lowering::KnownValue(const Node& c) const {
  if (!known_.first) return std::nullopt;
  const auto of_reduction = [&] {
    const Reduction& reduction = known_.reduction;
    const bool of_visit = c.op == Op::kFirstVisit || c.op == Op::kLastVisit;
    if (reduction.stay) return of_visit && RefId(c.index) == reduction.stay;
    if (of_visit) return StayIs(kernel_, RefId(c.index), reduction.axes);
    return reduction.axes.size() == 1 && reduction.axes[0] == AxisId(c.index);
  };
  switch (c.op) {
    case Op::kFirstStep:
    case Op::kFirstVisit:
      return of_reduction() ? known_.first : std::nullopt;
    case Op::kLastStep:
    case Op::kLastVisit:
      return of_reduction() ? known_.last : std::nullopt;
    default:
      return std::nullopt;
  }
}

VariableId Lowering::NewVariable(const std::string& name, DType dtype, bool changes) {
  return plan_.variables.Add({name, dtype, changes});
}

Stages LowerBody(Plan& plan, SpaceAnalysis& spaces, const Known& known, Diagnostics& diagnostics) {
  return Lowering(plan, spaces, known, diagnostics).Body();
}

}  // namespace kiln
