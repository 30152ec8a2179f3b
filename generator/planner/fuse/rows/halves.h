#pragma once

#include <optional>

#include "generator/plan/plan.h"

namespace kiln {

/// So many elements of what both halves read are still in the L2 when the second one comes.
constexpr int64_t kMostInBothHalves = 64 << 10;

/// Whether a loop holds rows' values and passes over rows alone: nothing that one turn hands to the
/// next, and no panels, of which there is one set for all turns.
bool IsOfRows(const stage::Loop& loop);

/// Whether its body may be cut in front of statement `cut`: what both halves need can be left in
/// memory, and no turn of the second one has to come before a later turn of the first.
bool MayCut(const Plan& plan, const stage::Loop& loop, size_t cut);

/// Cuts it there: the loop keeps the first half, and the second is another loop over the same rows.
Stage CutOff(Plan& plan, stage::Loop& loop, size_t cut, Span span);

}  // namespace kiln
