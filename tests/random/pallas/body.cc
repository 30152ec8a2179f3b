#include "tests/random/pallas/body.h"

#include <algorithm>

namespace kiln::soak {

void Body::Line(int depth, const std::string& text) {
  text_ += std::string(static_cast<size_t>(depth) * 4, ' ') + text + "\n";
}

void Body::Statements(const Actions& actions, int depth) {
  const size_t before = text_.size();
  for (const Action& action : actions) Statement(action, depth);
  if (text_.size() == before) Line(depth, "pass");
}

std::string Body::Filling(const Node& value, const Shape& shape) const {
  const std::string text = expressions_.Text(value), wanted = expressions_.ShapeText(shape);
  if (expressions_.ShapeText(value.shape) == wanted) return text;
  return "jnp.broadcast_to(" + text + ", " + wanted + ")";
}

void Body::Define(const action::Define& define, int depth) {
  const Local& local = LocalAt(define.local);
  if (local.kind == Local::Kind::kVar)
    Line(depth, local.name + "[...] = " + Filling(*define.value, local.shape));
  else
    Line(depth, local.name + " = " + expressions_.Text(*define.value));
}

void Body::Store(const action::Store& store, int depth) {
  const bool to_ref = store.ref >= 0;
  const std::string& name = to_ref ? expressions_.RefAt(store.ref).name : LocalAt(store.local).name;
  const Shape& of = to_ref ? expressions_.RefAt(store.ref).view : LocalAt(store.local).shape;
  const std::string target = name + expressions_.Subscripts(store.subscripts, of);
  const std::string value = Filling(*store.value, store.shape);
  if (store.mask)
    Line(depth, target + " = jnp.where(" + expressions_.Text(*store.mask) + ", " + value + ", " +
                    target + ")");
  else
    Line(depth, target + " = " + value);
}

void Body::When(const action::When& when, int depth) {
  const std::string condition = "when_" + std::to_string(conditions_++);
  Line(depth, condition + " = " + expressions_.Text(*when.condition));
  Line(depth, "@pl.when(" + condition + ")");
  Line(depth, "def _():");
  Statements(when.body, depth + 1);
  if (when.orelse.empty()) return;
  Line(depth, "@pl.when(~" + condition + ")");
  Line(depth, "def _():");
  Statements(when.orelse, depth + 1);
}

void Body::For(const action::For& loop, int depth) {
  const std::string& name = LocalAt(loop.local).name;
  Line(depth,
       "@pl.loop(" + expressions_.Index(*loop.low) + ", " + expressions_.Index(*loop.high) + ")");
  Line(depth, "def _(" + name + "):");
  Line(depth + 1, name + " = cast(" + name + ", i64)");
  Statements(loop.body, depth + 1);
}

/// What refs hold is asked outside of the loop and at the end of each turn.
void Body::While(const action::While& loop, int depth) {
  const std::string turn = "turn_" + std::to_string(conditions_++);
  const std::string condition = "jnp.asarray(" + expressions_.Text(*loop.condition) + ", bool_)";
  Line(depth, "def " + turn + "(_):");
  Statements(loop.body, depth + 1);
  Line(depth + 1, "return " + condition);
  Line(depth, "jax.lax.while_loop(lambda holds: holds, " + turn + ", " + condition + ")");
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

std::string Body::CopyText(const std::string& from, const std::string& to, int semaphore,
                           const std::vector<NodePtr>& slot) const {
  std::string at;
  for (const NodePtr& index : slot) at += (at.empty() ? "" : ", ") + expressions_.Index(*index);
  return "pltpu.make_async_copy(" + from + ", " + to + ", " + expressions_.RefAt(semaphore).name +
         ".at[" + at + "])";
}

/// A copy that the wait may be for: Pallas waits for as many bytes as a copy like it moves.
const action::Copy& Body::CopyOf(const action::Wait& wait) const {
  const action::Copy* found = nullptr;
  const auto look = [&](const Action& action) {
    const auto* copy = As<action::Copy>(action);
    if (!copy || copy->semaphore != wait.semaphore) return;
    if (found &&
        expressions_.ShapeText(found->target.shape) != expressions_.ShapeText(copy->target.shape))
      throw CannotSay("copies of several sizes on one semaphore");
    if (std::any_of(copy->target.subscripts.begin(), copy->target.subscripts.end(),
                    [](const Subscript& subscript) { return subscript.count != nullptr; }))
      throw CannotSay("a wait for a copy whose size only a run knows");
    found = copy;
  };
  ForEachAction(kernel_.body, look);
  ForEachAction(kernel_.epilogue, look);
  if (!found) throw CannotSay("a wait without a copy");
  return *found;
}

void Body::Statement(const Action& action, int depth) {
  Match(
      action, [&](const action::Define& define) { Define(define, depth); },
      [&](const action::Store& store) { Store(store, depth); },
      [&](const action::When& when) { When(when, depth); },
      [&](const action::For& loop) { For(loop, depth); },
      [&](const action::While& loop) { While(loop, depth); },
      [](const action::Assert&) {},  // the interpreter has found that it holds
      [&](const action::Copy& copy) {
        Line(depth, CopyText(WindowText(copy.source, false), WindowText(copy.target, false),
                             copy.semaphore, copy.slot) +
                        ".start()");
      },
      [&](const action::Wait& wait) {
        const action::Copy* const like = wait.window ? nullptr : &CopyOf(wait);
        const std::string from =
            like ? WindowText(like->source, true) : WindowText(*wait.window, false);
        const std::string to = like ? WindowText(like->target, true) : from;
        Line(depth, CopyText(from, to, wait.semaphore, wait.slot) + ".wait()");
      });
}

}  // namespace kiln::soak
