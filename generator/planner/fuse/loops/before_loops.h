#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// What every turn of a loop would compute again and hand to its dots (operands that are packed,
/// values of the body's own) is computed once, before the loop.
void ComputeBeforeLoops(Plan& plan, Stages& stages);

}  // namespace kiln
