#pragma once

#include "generator/ir/kernel.h"
#include "generator/plan/plan.h"
#include "generator/planner/analyze/operands.h"

namespace kiln {

/// Outputs that every step of a reduction stores anew, and that nobody reads: what is there after
/// the last step is all that counts.
Table<bool, Ref> StoredAgain(const Kernel& kernel, const Reduction& reduction);

}  // namespace kiln
