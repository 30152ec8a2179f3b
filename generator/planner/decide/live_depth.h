#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Where both operands of a dot are made 0 outside of one range of its depth, such as the rows of
/// one group in tgmm, the dot is over that range alone: its operands are packed from where they
/// are, without a masked copy, and what would add zeros is left out.
void FindLiveDepths(Plan& plan);

}  // namespace kiln
