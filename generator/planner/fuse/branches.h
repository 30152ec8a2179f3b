#pragma once

#include "generator/plan/plan.h"
#include "generator/planner/lower/lower.h"

namespace kiln {

/// Where a condition is around the dots of a reduction, what the other statements do with its
/// accumulator moves into both branches: so sums begin in registers and end in the output, as they
/// do without a condition.
void MoveIntoBranches(Plan& plan, Stages& stages, RefId accumulator);

}  // namespace kiln
