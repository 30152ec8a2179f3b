#pragma once

#include <functional>
#include <vector>

#include "generator/check/grid/common.h"

/// The statements of the body and the epilogue with what encloses each.
namespace kiln {

/// A condition or a loop around a statement (or around a part of an expression).
struct Enclosing {
  NodePtr condition;  // or null: a loop, or turns of `while`
  bool negated = false;
  int local = -1;     // the loop's variable
  NodePtr low, high;  // `while`: null, and how many turns at most, if that is said
};

/// Calls `use` with each statement before those it contains. `locals` gathers the values of
/// `let`, each before the statements that can see it.
void ForEachStatement(const Kernel& kernel, Locals& locals,
                      const std::function<void(const Action&, const std::vector<Enclosing>&)>& use);

/// True for "this is the last step of the output's stay", which holds once in every stay.
bool IsLastVisitOf(const Enclosing& enclosing, int ref);

}  // namespace kiln
