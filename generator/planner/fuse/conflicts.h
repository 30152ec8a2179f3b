#pragma once

#include <vector>

#include "generator/plan/plan.h"

namespace kiln {

/// Whether two places have no element in common in whatever iterations: in some dimension one ends
/// before the other begins, or the elements of one are between the strides of the other.
bool AreApart(const Plan& plan, const Place& a, const Place& b);

/// What two lists of statements have to do with each other in memory.
struct Conflicts {
  bool any = false;   // one side writes what the other one reads or writes
  bool legal = true;  // and all of that in the same iteration
};

/// `loops` are those that both are in, or that are to become the same.
Conflicts ConflictsOf(const Plan& plan, const Stages& first, const Stages& second,
                      const std::vector<LoopId>& loops = {});

/// Whether a stage uses a value to which the other one, or a stage within it, gives a name.
bool UsesNamesOf(const Stage& user, const Stage& of);

/// Whether two stages may change places.
bool Independent(const Plan& plan, const Stage& a, const Stage& b);

/// Whether vectors take an element of each of many rows, side by side in the next turn of the loop
/// around them, which may go on with the elements of these rows first.
bool RunsAcross(const Plan& plan, const stage::Loop& row);

/// Nests and elements: nothing that fails, waits or jumps.
bool MayBePassed(const Stage& stage);

}  // namespace kiln
