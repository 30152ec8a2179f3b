#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// What goes on with the reduction of a row that the body has computed, or of a short row of a
/// narrow input, gets a loop over rows of its own. In one loop a core waits for the largest of a
/// row before it can begin with the exponentials, row for row; apart, rows do not wait for each
/// other.
void SplitRows(Plan& plan, Stages& stages);

}  // namespace kiln
