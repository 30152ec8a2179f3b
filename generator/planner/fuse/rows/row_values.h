#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Functions of what rows have one of, such as the exponential that rescales a row's sums, are
/// computed for a vector of rows at a time, in a loop between those over rows. One by one each of
/// them costs as much as a vector.
void ComputeRowValues(Plan& plan, Stages& stages);

/// Gives functions of a row's values within a pass over it names in front of the pass.
void NameFunctionsOfRows(Plan& plan, Stages& body);

}  // namespace kiln
