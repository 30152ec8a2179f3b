#pragma once

#include <memory>
#include <vector>

#include "generator/plan/plan.h"

namespace kiln {

/// Kernel to Plan. Null and an error ("not supported yet") where generated code cannot follow.
std::unique_ptr<Plan> MakePlan(const Kernel& kernel, Diagnostics& diagnostics);

/// The plan of the kernel, then that of each variant. Empty after an error.
std::vector<std::unique_ptr<Plan>> MakePlans(const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
