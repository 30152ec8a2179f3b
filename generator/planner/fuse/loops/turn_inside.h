#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// `for turn { for … { for lanes { … } } }`, whose turns go on with the same elements, become
/// `for … { for lanes { for turn { … } } }`, in which these stay in registers; but not where turns
/// have to follow each other over all elements, or would wait for each other, or walk over memory
/// in large steps.
void TurnInside(Plan& plan, Stages& stages);

/// Rows that take their turns together (rows/four_rows.h).
constexpr int64_t kFourRows = 4;

/// So few statements that there are registers for four rows of them.
bool IsShortTurn(const stage::For& loop);

}  // namespace kiln
