#pragma once

#include <string>

#include "generator/plan/plan.h"

namespace kiln {

/// What would make the text of a plan touch memory that is not its own, in one sentence; empty for
/// a plan that is sound: every place is inside the loops that it names, every dimension that is
/// clipped is walked by the loop that stops at the array's edge and by nothing else, and every
/// variable is defined before it is used.
std::string FlawOf(const Plan& plan);

}  // namespace kiln
