#pragma once

#include <vector>

#include "generator/ir/kernel.h"

namespace kiln {

/// By ref: whether its elements go into a sum, a dot or another reduction, perhaps through locals
/// and scratch. What is undefined in them is then a matter of the rule `tail`.
std::vector<bool> ReducedRefs(const Kernel& kernel);

}  // namespace kiln
