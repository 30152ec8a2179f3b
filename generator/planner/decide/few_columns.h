#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Finds each A that few columns of B, such as a vector, may multiply where it is, and the space of
/// those. How many they are only a call may know, and so Direct decides.
void FindFewColumns(Plan& plan);

}  // namespace kiln
