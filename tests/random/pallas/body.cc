#include "tests/random/pallas/body.h"

namespace kiln::soak {

void CollectActions(const std::vector<Action>& actions, std::vector<const Action*>& to) {
  for (const Action& action : actions) {
    to.push_back(&action);
    CollectActions(action.body, to);
    CollectActions(action.orelse, to);
  }
}

void Body::Line(int depth, const std::string& text) {
  text_ += std::string(static_cast<size_t>(depth) * 4, ' ') + text + "\n";
}

void Body::Statements(const std::vector<Action>& actions, int depth) {
  const size_t before = text_.size();
  for (const Action& action : actions) Statement(action, depth);
  if (text_.size() == before) Line(depth, "pass");
}

std::string Body::Filling(const Node& value, const Shape& shape) const {
  const std::string text = expressions_.Text(value), wanted = expressions_.ShapeText(shape);
  if (expressions_.ShapeText(value.shape) == wanted) return text;
  return "jnp.broadcast_to(" + text + ", " + wanted + ")";
}

void Body::Define(const Action& action, int depth) {
  const Local& local = LocalAt(action.local);
  if (local.kind == Local::Kind::kVar)
    Line(depth, local.name + "[...] = " + Filling(*action.value, local.shape));
  else
    Line(depth, local.name + " = " + expressions_.Text(*action.value));
}

void Body::Store(const Action& action, int depth) {
  const bool to_ref = action.ref >= 0;
  const std::string& name =
      to_ref ? expressions_.RefAt(action.ref).name : LocalAt(action.local).name;
  const Shape& of = to_ref ? expressions_.RefAt(action.ref).view : LocalAt(action.local).shape;
  const std::string target = name + expressions_.Subscripts(action.subscripts, of);
  const std::string value = Filling(*action.value, action.shape);
  if (action.mask)
    Line(depth, target + " = jnp.where(" + expressions_.Text(*action.mask) + ", " + value + ", " +
                    target + ")");
  else
    Line(depth, target + " = " + value);
}

void Body::When(const Action& action, int depth) {
  const std::string condition = "when_" + std::to_string(conditions_++);
  Line(depth, condition + " = " + expressions_.Text(*action.condition));
  Line(depth, "@pl.when(" + condition + ")");
  Line(depth, "def _():");
  Statements(action.body, depth + 1);
  if (action.orelse.empty()) return;
  Line(depth, "@pl.when(~" + condition + ")");
  Line(depth, "def _():");
  Statements(action.orelse, depth + 1);
}

void Body::For(const Action& action, int depth) {
  const std::string& name = LocalAt(action.local).name;
  Line(depth, "@pl.loop(" + expressions_.Index(*action.low) + ", " +
                  expressions_.Index(*action.high) + ")");
  Line(depth, "def _(" + name + "):");
  Line(depth + 1, name + " = cast(" + name + ", i64)");
  Statements(action.body, depth + 1);
}

/// `begin`: the same window at the beginning of the array.
std::string Body::WindowText(const Window& window, bool begin) const {
  const Ref& ref = expressions_.RefAt(window.ref);
  std::vector<Subscript> subscripts = window.subscripts;
  if (begin) {
    auto zero = std::make_shared<Node>();
    zero->dtype = DType::kIndex;
    for (Subscript& subscript : subscripts) subscript.start = zero;
  }
  const std::string text = expressions_.Subscripts(subscripts, ref.view);
  return text == "[...]" ? ref.name : ref.name + ".at" + text;
}

std::string Body::CopyText(const Action& copy, const Node& slot, bool begin) const {
  return "pltpu.make_async_copy(" + WindowText(copy.source, begin) + ", " +
         WindowText(copy.target, begin) + ", " + expressions_.RefAt(copy.ref).name + ".at[" +
         expressions_.Index(slot) + "])";
}

/// A copy that the wait may be for: Pallas waits for as many bytes as a copy like it moves.
const Action& Body::CopyOf(const Action& wait) const {
  std::vector<const Action*> all;
  CollectActions(kernel_.body, all);
  CollectActions(kernel_.epilogue, all);
  const Action* found = nullptr;
  for (const Action* action : all) {
    if (action->kind != Action::Kind::kCopy || action->ref != wait.ref) continue;
    if (found &&
        expressions_.ShapeText(found->target.shape) != expressions_.ShapeText(action->target.shape))
      throw CannotSay("copies of several sizes on one semaphore");
    found = action;
  }
  if (!found) throw CannotSay("a wait without a copy");
  return *found;
}

void Body::Statement(const Action& action, int depth) {
  switch (action.kind) {
    case Action::Kind::kDefine:
      return Define(action, depth);
    case Action::Kind::kStore:
      return Store(action, depth);
    case Action::Kind::kWhen:
      return When(action, depth);
    case Action::Kind::kFor:
      return For(action, depth);
    case Action::Kind::kAssert:
      return;  // the interpreter has found that it holds
    case Action::Kind::kCopy:
      return Line(depth, CopyText(action, *action.slot, false) + ".start()");
    case Action::Kind::kWait:
      return Line(depth, CopyText(CopyOf(action), *action.slot, true) + ".wait()");
  }
}

}  // namespace kiln::soak
