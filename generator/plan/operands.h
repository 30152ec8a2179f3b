#pragma once

#include <vector>

#include "generator/front/kernel.h"
#include "generator/plan/plan.h"

namespace kiln {

/// How each operand is held: as panels where dots alone read it, the same side and way round every
/// time; else in rows.
std::vector<OperandPlan> PlanOperands(const Kernel& kernel);

/// The parallel axes, in the order in which cores prefer to cut them: an axis of the right operand
/// first, as then none packs a part of it that another packs.
std::vector<int> CutOrder(const Kernel& kernel, const std::vector<OperandPlan>& operands);

/// The scratch, or the output, that a reduction zeroes at its first step and adds dots to, or -1;
/// `axes` are the reduction's, the fastest ones of the grid.
int FindAccumulator(const Kernel& kernel, std::vector<int>* axes);

/// The output with each of whose stays a scratch begins anew: a store to all of it under
/// `when first(output)`, before anything reads it. -1: none.
int BegunWith(const Kernel& kernel, int scratch);
/// Whether scratch never outlives a step of the axis, as it begins with an output that the axis
/// walks.
bool BeginsAnew(const Kernel& kernel, int scratch, int axis);

}  // namespace kiln
