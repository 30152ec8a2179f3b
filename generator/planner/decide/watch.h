#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Outputs whose memory others than their own blocks touch, or whose blocks overlap: the emulated
/// machine watches what is written there.
void FindWatched(Plan& plan);

/// The ends of stays that steps use and that axes alone do not say, as an index that is looked
/// up may stay the same from one step to the next: each step compares its block with its
/// neighbour's.
void FindVisits(Plan& plan);

}  // namespace kiln
