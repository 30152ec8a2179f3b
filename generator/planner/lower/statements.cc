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
      copied_(EndsOfCopies(kernel_)) {
  local_buffer_.assign(kernel_.locals.size(), -1);
  local_variable_.assign(kernel_.locals.size(), -1);
}

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
  TouchesOf(action);
  Match(
      action, [this](const action::Define& define) { DefineLocal(define); },
      [this](const action::Store& store) { StoreTile(store); },
      [this](const action::When& when) { When(when); },
      [this](const action::For& loop) { For(loop); },
      [this](const action::Assert& check) { Assert(check); },
      [this](const action::Copy& copy) { Copy(copy); },
      [this](const action::Wait& wait) { Wait(wait); });
}

void Lowering::Assert(const action::Assert& check) {
  Stage stage = StageOf(Stage::Kind::kAssert, span_);
  stage.value = Scalar(*check.condition);
  stage.text = check.message;
  Emit(std::move(stage));
}

void Lowering::DefineLocal(const action::Define& define) {
  const size_t index = static_cast<size_t>(define.local);
  const Local& local = kernel_.locals[index];
  if (local.shape.empty()) {
    const ElementPtr value = Scalar(*define.value);
    if (local.kind == Local::Kind::kLet) local_bounds_[define.local] = BoundsOf(*define.value);
    const int variable = NewVariable(local.name, local.dtype, local.kind == Local::Kind::kVar);
    local_variable_[index] = variable;
    Stage stage = StageOf(Stage::Kind::kDefine, span_);
    stage.variable = variable;
    stage.value = value;
    return Emit(std::move(stage));
  }
  const int buffer =
      NewTemp(local.name, local.dtype, local.shape, spaces_.SpacesOfLocal(define.local));
  EmitBroadcast(WholeOf(buffer, local.shape.size()), define.value, local.shape, nullptr);
  local_buffer_[index] = buffer;
}

void Lowering::StoreTile(const action::Store& store) {
  const bool local = store.ref < 0;
  if (local && local_variable_[static_cast<size_t>(store.local)] >= 0) {
    const int variable = local_variable_[static_cast<size_t>(store.local)];
    Stage stage = StageOf(Stage::Kind::kAssign, span_);
    stage.variable = variable;
    stage.value = Scalar(*store.value);
    return Emit(std::move(stage));
  }
  Target target;
  target.buffer = local ? local_buffer_[static_cast<size_t>(store.local)] : store.ref;
  const size_t rank = plan_.buffers[static_cast<size_t>(target.buffer)].extents.size();
  if (store.subscripts.empty()) {
    target = WholeOf(target.buffer, rank);
  } else {
    int axis = 0;
    const Shape extents = plan_.buffers[static_cast<size_t>(target.buffer)].extents;
    for (size_t d = 0; d < store.subscripts.size(); ++d) {
      const Subscript& s = store.subscripts[d];
      if (IsWholeRange(s, extents[d])) {
        // Without an offset the store's loop is the target's own, which stops at the array's edge.
        target.dimensions.push_back({axis++, nullptr});
        continue;
      }
      const std::string& name = local ? kernel_.locals[static_cast<size_t>(store.local)].name
                                      : kernel_.refs[static_cast<size_t>(store.ref)].name;
      target.dimensions.push_back({s.range ? axis++ : -1, CheckedStart(name, s, extents[d])});
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
  Stage stage = StageOf(Stage::Kind::kIf, span_);
  stage.value = Scalar(*when.condition);
  stage.body = Nested(when.body);
  stage.orelse = Nested(when.orelse);
  Emit(std::move(stage));
}

void Lowering::For(const action::For& loop) {
  Stage stage = StageOf(Stage::Kind::kFor, span_);
  stage.low = Scalar(*loop.low);
  stage.high = Scalar(*loop.high);
  const size_t index = static_cast<size_t>(loop.local);
  stage.variable = NewVariable(kernel_.locals[index].name, DType::kIndex, false);
  local_variable_[index] = stage.variable;
  local_bounds_[loop.local] = {BoundsOf(*loop.low).low, BoundsOf(*loop.high).high};
  if (std::optional<Size>& high = local_bounds_[loop.local].high) high = *high - Size(1);
  stage.body = Nested(loop.body);
  Emit(std::move(stage));
}

std::optional<bool> Lowering::KnownValue(const Node& c) const {
  if (!known_.first) return std::nullopt;
  const auto of_reduction = [&] {
    const Reduction& reduction = known_.reduction;
    const bool of_visit = c.op == Op::kFirstVisit || c.op == Op::kLastVisit;
    if (reduction.stay >= 0) return of_visit && c.index == reduction.stay;
    if (of_visit) return StayIs(kernel_, c.index, reduction.axes);
    return reduction.axes.size() == 1 && reduction.axes[0] == c.index;
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

int Lowering::NewVariable(const std::string& name, DType dtype, bool changes) {
  plan_.variables.push_back({name, dtype, changes});
  return static_cast<int>(plan_.variables.size()) - 1;
}

ElementPtr Lowering::Variable(int variable) const {
  auto e = std::make_shared<Element>();
  e->kind = Element::Kind::kVariable;
  e->dtype = plan_.variables[static_cast<size_t>(variable)].dtype;
  e->index = variable;
  return e;
}

Stages LowerBody(Plan& plan, SpaceAnalysis& spaces, const Known& known, Diagnostics& diagnostics) {
  return Lowering(plan, spaces, known, diagnostics).Body();
}

}  // namespace kiln
