#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Nests whose vectors take an element of each of many rows, side by side in the next turn of the
/// loop around them, take as many turns inside as there are lanes: each line of memory is then read
/// once, not again and again by turns between which all others are read, and what lanes read so is
/// a square that is transposed in registers.
void TurnAcross(Plan& plan);

}  // namespace kiln
