#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "generator/ir/match.h"
#include "generator/ir/node.h"

/// Statements of a kernel: a struct for each kind, what all kinds have in common, and the walks
/// over them. `Match` requires a case for every kind, so that a new one is a list of compile
/// errors.
namespace kiln {

struct Action;
using Actions = std::vector<Action>;

/// A subscripted reference of a manual copy.
struct Window {
  int ref = -1;
  std::vector<Subscript> subscripts;  // one a dimension; empty = whole
  Shape shape;
  Span span;
};

namespace action {

/// local = value, of a let or a var.
struct Define {
  int local = -1;
  NodePtr value;
};

/// ref or local [subscripts] = value; with mask: only where true.
struct Store {
  int ref = -1;    // or
  int local = -1;  // a var
  std::vector<Subscript> subscripts;
  Shape shape;   // of the stored window; value broadcasts to it
  NodePtr mask;  // of the window's shape, or null
  NodePtr value;

  bool IsWhole() const { return subscripts.empty() && !mask; }
};

struct When {
  NodePtr condition;  // bool scalar
  Actions body, orelse;
};

/// `local` from low to high (exclusive).
struct For {
  int local = -1;
  NodePtr low, high;  // integer scalars
  Actions body;
};

/// As long as the condition, which is asked before each turn, holds. More than `most` turns fail.
struct While {
  NodePtr condition;  // bool scalar
  std::optional<Size> most;
  Actions body;
};

struct Assert {
  NodePtr condition;  // bool scalar
  std::string message;
};

/// source -> target, on semaphore[slot].
struct Copy {
  Window source, target;
  int semaphore = -1;         // ref
  std::vector<NodePtr> slot;  // kIndex scalars, one a dimension of the semaphores
};

/// Until the oldest copy on semaphore[slot] has arrived, or as many bytes of copies on it as a
/// window has.
struct Wait {
  int semaphore = -1;         // ref
  std::vector<NodePtr> slot;  // as that of a copy
  std::optional<Window> window;
};

}  // namespace action

struct Action {
  using Kind = std::variant<action::Store, action::Define, action::When, action::For, action::While,
                            action::Assert, action::Copy, action::Wait>;
  Span span;
  Kind what;
};

/// The statement as one of a kind; null: it is of another.
template <typename Kind>
const Kind* As(const Action& action) {
  return std::get_if<Kind>(&action.what);
}

template <typename Kind>
bool Is(const Action& action) {
  return std::holds_alternative<Kind>(action.what);
}

template <typename... Cases>
decltype(auto) Match(const Action& action, Cases&&... cases) {
  return MatchKind(action.what, std::forward<Cases>(cases)...);
}

/// Calls `use` with each list of statements that the statement holds.
template <typename Use>
void ForEachBlock(const Action& of, const Use& use) {
  Match(
      of, [&](const action::When& when) { use(when.body), use(when.orelse); },
      [&](const action::For& loop) { use(loop.body); },
      [&](const action::While& loop) { use(loop.body); }, [](const action::Define&) {},
      [](const action::Store&) {}, [](const action::Assert&) {}, [](const action::Copy&) {},
      [](const action::Wait&) {});
}

/// Calls `use` with each expression of the statement, without those of statements that it holds.
template <typename Use>
void ForEachExpression(const Action& of, const Use& use) {
  const auto all = [&](const std::vector<NodePtr>& nodes) {
    for (const NodePtr& node : nodes) use(*node);
  };
  const auto starts = [&](const std::vector<Subscript>& subscripts) {
    for (const Subscript& subscript : subscripts) {
      use(*subscript.start);
      if (subscript.count) use(*subscript.count);
    }
  };
  Match(
      of, [&](const action::Define& define) { use(*define.value); },
      [&](const action::Store& store) {
        use(*store.value);
        if (store.mask) use(*store.mask);
        starts(store.subscripts);
      },
      [&](const action::When& when) { use(*when.condition); },
      [&](const action::For& loop) { use(*loop.low), use(*loop.high); },
      [&](const action::While& loop) { use(*loop.condition); },
      [&](const action::Assert& check) { use(*check.condition); },
      [&](const action::Copy& copy) {
        all(copy.slot);
        starts(copy.source.subscripts);
        starts(copy.target.subscripts);
      },
      [&](const action::Wait& wait) {
        all(wait.slot);
        if (wait.window) starts(wait.window->subscripts);
      });
}

/// Calls `change` with the pointer to each expression of subscripts.
template <typename Change>
void ChangeExpressions(std::vector<Subscript>& subscripts, const Change& change) {
  for (Subscript& subscript : subscripts) {
    if (subscript.start) change(subscript.start);
    if (subscript.count) change(subscript.count);
  }
}

/// Calls `change` with the pointer to each expression of the statement, without those of
/// statements that it holds.
template <typename Change>
void ChangeExpressions(Action& of, const Change& change) {
  const auto all = [&](std::vector<NodePtr>& nodes) {
    for (NodePtr& node : nodes) change(node);
  };
  MatchKind(
      of.what, [&](action::Define& define) { change(define.value); },
      [&](action::Store& store) {
        change(store.value);
        if (store.mask) change(store.mask);
        ChangeExpressions(store.subscripts, change);
      },
      [&](action::When& when) { change(when.condition); },
      [&](action::For& loop) { change(loop.low), change(loop.high); },
      [&](action::While& loop) { change(loop.condition); },
      [&](action::Assert& check) { change(check.condition); },
      [&](action::Copy& copy) {
        all(copy.slot);
        ChangeExpressions(copy.source.subscripts, change);
        ChangeExpressions(copy.target.subscripts, change);
      },
      [&](action::Wait& wait) {
        all(wait.slot);
        if (wait.window) ChangeExpressions(wait.window->subscripts, change);
      });
}

/// Calls `change` with each list of statements that the statement holds.
template <typename Change>
void ChangeBlocks(Action& of, const Change& change) {
  MatchKind(
      of.what, [&](action::When& when) { change(when.body), change(when.orelse); },
      [&](action::For& loop) { change(loop.body); },
      [&](action::While& loop) { change(loop.body); }, [](const auto&) {});
}

/// Calls `use` with each statement and those that it holds, in the order of the text.
template <typename Use>
void ForEachAction(const Actions& actions, const Use& use) {
  for (const Action& action : actions) {
    use(action);
    ForEachBlock(action, [&](const Actions& block) { ForEachAction(block, use); });
  }
}

/// Whether `is` holds for one of the statements or of those that they hold.
template <typename Predicate>
bool AnyAction(const Actions& actions, const Predicate& is) {
  bool any = false;
  ForEachAction(actions, [&](const Action& action) { any = any || is(action); });
  return any;
}

}  // namespace kiln
