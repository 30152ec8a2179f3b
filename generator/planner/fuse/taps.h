#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A dot of a window that adds to the same sums in each turn of loops of constant length, or in one
/// statement after another, becomes one dot over all these taps: its sums stay in registers.
void JoinTaps(Plan& plan, Stages& stages);

}  // namespace kiln
