#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Loops of a constant, small number of turns, each of which goes on with the same elements as the
/// one before, are written out where their turns then become one nest.
void UnrollLoops(Plan& plan, Stages& stages);

}  // namespace kiln
