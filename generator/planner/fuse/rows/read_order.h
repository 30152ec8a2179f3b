#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A nest that stores rows in the order of its output, and reads them across that of an input, as
/// where heads are split or merged, gets to know in which order they are in memory. A call in which
/// that is far away reads them so.
void FollowReads(Plan& plan);

}  // namespace kiln
