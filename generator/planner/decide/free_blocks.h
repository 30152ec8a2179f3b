#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Blocks whose size changes no result, so that Direct may take others than the spec's: the axis
/// does nothing but walk them, all loops over them stop at the array's edge, and a sum over them
/// is one chain of additions. Fills plan.free_blocks.
void FindFreeBlocks(Plan& plan);

}  // namespace kiln
