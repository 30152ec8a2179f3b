#pragma once

#include <vector>

#include "generator/ir/kernel.h"
#include "generator/plan/plan.h"

namespace kiln {

/// Steps through which dots are added up in scratch, or in an output: all steps of `axes`, the
/// fastest ones of the grid; or those for which the block of the output `stay` is the same, which
/// only prefetch arrays know.
struct Reduction {
  RefId accumulator;  // none: there is no reduction
  Axes axes;
  RefId stay;
};

/// How each operand is held: as panels where dots alone read it, the same side and way round every
/// time; else in rows.
Table<OperandPlan, Ref> PlanOperands(const Kernel& kernel);

/// The parallel axes, in the order in which cores prefer to cut them: an axis of B
/// first, as then none packs a part of it that another packs.
Axes CutOrder(const Kernel& kernel, const Table<OperandPlan, Ref>& operands);

/// What zeroes scratch, or an output, at its first step and adds dots to it, under a condition or
/// always.
Reduction FindReduction(const Kernel& kernel);

/// The output with each of whose stays a scratch begins anew: a store to all of it under
/// `when first(output)`, before anything reads it; or none.
RefId BegunWith(const Kernel& kernel, RefId scratch);
/// Whether scratch never outlives a step of the axis, as it begins with an output that the axis
/// walks.
bool BeginsAnew(const Kernel& kernel, RefId scratch, AxisId axis);

}  // namespace kiln
