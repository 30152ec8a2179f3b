#pragma once

#include <vector>

#include "generator/plan/plan.h"

namespace kiln {

using AxisFlags = Table<bool, Axis>;

/// The axes that say where an operand's block is, or how large it is.
AxisFlags AxesOfIndex(const Kernel& kernel, const Ref& ref);

/// Which blocks of an operand come back. An axis outside of all index maps brings every block back.
/// One that looks an index up, such as the visits of a group's tiles, or skips blocks of a walk, as
/// under a causal mask, may find the same block many times.
std::vector<Reuse> FindReuse(const Kernel& kernel, const Ref& ref);

/// The axes at whose steps a block stays: those inside of all that its index depends on.
Axes FindStays(const Kernel& kernel, const Ref& ref);

}  // namespace kiln
