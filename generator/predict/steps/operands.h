#pragma once

#include <vector>

#include "generator/bind/bind.h"
#include "generator/predict/steps/timeline.h"

namespace kiln {

/// Everything that has memory of a core, and arrays in HBM of which the body copies parts. Refs
/// whose extents are not known are left out.
std::vector<TimelineOperand> TimelineOperands(const Binding& binding);

/// The operand that is a ref, or -1.
int32_t OperandOf(const std::vector<TimelineOperand>& operands, int ref);

/// Bytes that are in use in VMEM or in SMEM.
int64_t MemoryBytes(const std::vector<TimelineOperand>& operands, bool in_smem);

}  // namespace kiln
