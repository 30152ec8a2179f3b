#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Packing an operand that is used once takes longer than multiplying it unpacked. Sizes may only
/// be known at run time, and so Direct decides; this finds the operands of which it may: an A
/// that has k-groups in its rows, a B for few rows, and the space of those. Free blocks
/// of what is packed for few rows or columns are small, so that they are still in the L2 when they
/// are needed.
void FindInPlace(Plan& plan);

}  // namespace kiln
