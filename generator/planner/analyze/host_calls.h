#pragma once

#include <vector>

#include "generator/plan/plan.h"

namespace kiln {

/// The calls of `prepare`, with the parameters and results of their functions.
std::vector<HostCallPlan> PlanHostCalls(const Kernel& kernel);

}  // namespace kiln
