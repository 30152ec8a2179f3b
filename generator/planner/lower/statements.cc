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
    Action when;
    when.kind = Action::Kind::kWhen;
    when.span = kernel_.epilogue.front().span;
    auto last = std::make_shared<Node>();
    last->op = Op::kLastVisit;
    last->dtype = DType::kBool;
    last->index = kernel_.epilogue_outputs.front();
    when.condition = last;
    when.body = kernel_.epilogue;
    Statement(when);
  }
  return stages;
}

void Lowering::Block(const std::vector<Action>& actions) {
  for (const Action& action : actions) Statement(action);
}

Stages Lowering::Nested(const std::vector<Action>& actions) {
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
  switch (action.kind) {
    case Action::Kind::kDefine:
      return DefineLocal(action);
    case Action::Kind::kStore:
      return StoreTile(action);
    case Action::Kind::kWhen:
      return When(action);
    case Action::Kind::kFor:
      return For(action);
    case Action::Kind::kAssert: {
      Stage stage = StageOf(Stage::Kind::kAssert, action.span);
      stage.value = Scalar(*action.condition);
      stage.text = action.message;
      return Emit(std::move(stage));
    }
    case Action::Kind::kCopy:
      return Copy(action);
    case Action::Kind::kWait:
      return Wait(action);
  }
}

void Lowering::DefineLocal(const Action& action) {
  const size_t index = static_cast<size_t>(action.local);
  const Local& local = kernel_.locals[index];
  if (local.shape.empty()) {
    const ElementPtr value = Scalar(*action.value);
    if (local.kind == Local::Kind::kLet) local_bounds_[action.local] = BoundsOf(*action.value);
    const int variable = NewVariable(local.name, local.dtype, local.kind == Local::Kind::kVar);
    local_variable_[index] = variable;
    Stage stage = StageOf(Stage::Kind::kDefine, action.span);
    stage.variable = variable;
    stage.value = value;
    return Emit(std::move(stage));
  }
  const int buffer =
      NewTemp(local.name, local.dtype, local.shape, spaces_.SpacesOfLocal(action.local));
  EmitBroadcast(WholeOf(buffer, local.shape.size()), action.value, local.shape, nullptr);
  local_buffer_[index] = buffer;
}

void Lowering::StoreTile(const Action& action) {
  const bool local = action.ref < 0;
  if (local && local_variable_[static_cast<size_t>(action.local)] >= 0) {
    const int variable = local_variable_[static_cast<size_t>(action.local)];
    Stage stage = StageOf(Stage::Kind::kAssign, action.span);
    stage.variable = variable;
    stage.value = Scalar(*action.value);
    return Emit(std::move(stage));
  }
  Target target;
  target.buffer = local ? local_buffer_[static_cast<size_t>(action.local)] : action.ref;
  const size_t rank = plan_.buffers[static_cast<size_t>(target.buffer)].extents.size();
  if (action.subscripts.empty()) {
    target = WholeOf(target.buffer, rank);
  } else {
    int axis = 0;
    const Shape extents = plan_.buffers[static_cast<size_t>(target.buffer)].extents;
    for (size_t d = 0; d < action.subscripts.size(); ++d) {
      const Subscript& s = action.subscripts[d];
      if (IsWholeRange(s, extents[d])) {
        // Without an offset the store's loop is the target's own, which stops at the array's edge.
        target.dimensions.push_back({axis++, nullptr});
        continue;
      }
      const std::string& name = local ? kernel_.locals[static_cast<size_t>(action.local)].name
                                      : kernel_.refs[static_cast<size_t>(action.ref)].name;
      target.dimensions.push_back({s.range ? axis++ : -1, CheckedStart(name, s, extents[d])});
    }
  }
  EmitBroadcast(target, action.value, action.shape, action.mask);
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

void Lowering::When(const Action& action) {
  if (const std::optional<bool> known = KnownValue(*action.condition)) {
    return Block(*known ? action.body : action.orelse);
  }
  Stage stage = StageOf(Stage::Kind::kIf, action.span);
  stage.value = Scalar(*action.condition);
  stage.body = Nested(action.body);
  stage.orelse = Nested(action.orelse);
  Emit(std::move(stage));
}

void Lowering::For(const Action& action) {
  Stage stage = StageOf(Stage::Kind::kFor, action.span);
  stage.low = Scalar(*action.low);
  stage.high = Scalar(*action.high);
  const size_t index = static_cast<size_t>(action.local);
  stage.variable = NewVariable(kernel_.locals[index].name, DType::kIndex, false);
  local_variable_[index] = stage.variable;
  local_bounds_[action.local] = {BoundsOf(*action.low).low, BoundsOf(*action.high).high};
  if (std::optional<Size>& high = local_bounds_[action.local].high) high = *high - Size(1);
  stage.body = Nested(action.body);
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
