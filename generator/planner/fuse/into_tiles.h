#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A nest over a dot's rows and columns goes on with the sums while they are in registers.
bool MergeIntoDot(const Plan& plan, Stage& dot, const Stage& nest);

/// Whether a nest stores to what the dot at `at` has as its B, which would have to be packed if the
/// tiles did that, while the dot has so few rows that packing takes longer than to keep its sums.
bool ChangesItsB(const Plan& plan, const Stages& stages, size_t at, const Stage& nest);

/// A nest in front of a dot, the last of `before` but for what packs its operands, that makes what
/// only the dot's tiles go on with (a mask, a scale) moves into them, unless the operands come from
/// it.
void SinkIntoDot(const Plan& plan, Stages& before, Stage& dot);

/// A nest in front of a dot that sets or scales what the dot's tiles go on with, and store again,
/// does so in these tiles: nothing passes over all of it before. To be done once no more is fused.
void ScaleInTiles(Plan& plan, Stages& stages);

}  // namespace kiln
