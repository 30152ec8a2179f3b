#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Where all that a dot's sums are stored to is under a mask that holds for a range of rows alone,
/// such as those of one group in gmm, no other rows are computed: sets `low` and `high` of the
/// dots. Rows do not depend on each other, so nothing else changes.
void FindLiveRows(Plan& plan);

}  // namespace kiln
