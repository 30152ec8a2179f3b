#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Reductions of a row that read elements in common and do not wait for each other become one pass
/// over it; so do the loops over rows around such passes. Each reduction folds as before.
void ReduceInOnePass(const Plan& plan, Stages& stages);

}  // namespace kiln
