#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Where the sums of dots go: past the caches, as FindStreams has it; or into rows of a block that
/// tiles work on where they are.
void FindSums(Plan& plan);

/// What passes may write past the caches: an output that no statement reads, if they do nothing but
/// write it.
void FindStreams(Plan& plan);

}  // namespace kiln
