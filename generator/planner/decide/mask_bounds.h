#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// The iterations of a loop that a mask admits: those from `low` on and before `high`, as indices
/// within the tile. Null: no bound.
struct MaskBounds {
  ElementPtr low, high;
  bool exact = false;  // it admits all of these
};

/// What a mask demands of the loop at least, in values that stay the same through a reduction.
MaskBounds BoundsOf(const Plan& plan, const ElementPtr& mask, LoopId loop);

}  // namespace kiln
