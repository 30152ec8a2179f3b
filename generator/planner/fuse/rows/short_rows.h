#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Rows of fewer elements than a vector has lanes, such as points and pixels, leave most of it
/// empty: there lanes are rows, and the elements of a row are written out, one after the other. So
/// are those of pixels that become an image of each colour, whose lanes are rows already.
void TurnShortRows(Plan& plan, Stages& stages);

}  // namespace kiln
