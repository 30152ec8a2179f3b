#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/planner/passes.h"

namespace kiln {

/// The kernel as the planner has it, the same to whoever calls it (rewrite/). Null: as it is.
std::shared_ptr<const Kernel> RewrittenForPlan(const Kernel& kernel);

/// Kernel to Plan. Null and an error ("not supported yet") where generated code cannot follow.
/// `last`: the name of a pass after which the plan is shown as it is then, unverified.
std::unique_ptr<Plan> MakePlan(const Kernel& kernel, Diagnostics& diagnostics,
                               std::string_view last = "");

/// The plan of the kernel, then that of each variant. Empty after an error.
std::vector<std::unique_ptr<Plan>> MakePlans(const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
