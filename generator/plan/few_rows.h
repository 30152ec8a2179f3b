#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// To pack a right operand that is used once takes longer than to multiply a few rows with it. How
/// many rows a block has may only be known at run time, and so Direct decides; this finds the
/// operands of which it may, and the space of those rows. Free blocks of what is packed for few rows
/// or columns are small, so that they are still in the L2 when they are needed.
void FindFewRows(Plan& plan);

}  // namespace kiln
