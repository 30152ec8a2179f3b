#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Types whose k-groups are elements as they are. Others are converted as they are packed.
bool IsMultipliedUnpacked(DType type);

/// Whether elements of the type become f32 where a dot of f32 loads them.
bool IsWidened(DType stored, DType element);

/// Whether a dot that multiplies the panels stores to the buffer, while tiles still read there.
bool IsStoredMeanwhile(const Plan& plan, PanelsId panels, BufferId buffer);

/// Whether an operand that is packed could be read where it is until its dot is done.
bool StaysAsItIs(const Plan& plan, const stage::Pack& pack);

/// The dot that comes right after the stage at `i` and what else is packed for it, or null.
const stage::Dot* DotAfter(const Stages& stages, size_t i);

}  // namespace kiln
