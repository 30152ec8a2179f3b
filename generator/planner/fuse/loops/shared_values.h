#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A value that the body of a loop names, outside of its nests: all elements of a turn share it.
bool IsSharedValue(const Plan& plan, const Stage& stage);

/// Moves such values in front of the nests; false, and nothing moves: a nest may store what one
/// behind it reads.
bool MoveSharedFirst(const Plan& plan, Stages& stages);

}  // namespace kiln
