#pragma once

#include "generator/bind/bind.h"

namespace kiln {

/// What any engine has to do, at least, for a call of these sizes.
struct Operations {
  double steps = 0;
  double parallel = 1;  // steps that may run at the same time
  double elements = 0;  // operations on single elements, those of dots among them, over all steps
  double largest = 0;   // elements of the largest value of a step, if it is ever computed
};

/// Counts statements that run in every step, and the rounds of loops whose ends are known: what
/// stands under a condition may never run.
Operations LeastOperations(const Binding& binding);

}  // namespace kiln
