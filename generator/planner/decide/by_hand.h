#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Scratch that nothing but copies from inputs sets, and of which each statement reads one part:
/// Direct may read that where it is in the array. Scratch that a statement sets, and nothing but a
/// copy to an output right behind it reads: Direct may set it in the array. Checks of what the
/// statements touch find those places.
void SeeCopiesWhereTheyAre(Plan& plan);

}  // namespace kiln
