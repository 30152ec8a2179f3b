#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Rows that indices in memory choose (`take`) are where no hardware looks ahead: each turn asks
/// for the row of a later index.
void AskForChosenRows(Plan& plan);

}  // namespace kiln
