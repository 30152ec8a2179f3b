#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A value of few operations on one element of an input, such as `x - mean`, that a pass over a row
/// would leave in memory for later passes, is made anew there: they load the element instead of the
/// value, and neither a store nor room in the caches is spent on it.
void RecomputeCheapValues(Plan& plan, Stages& stages);

}  // namespace kiln
