#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/ir/kernel.h"
#include "generator/plan/plan.h"
#include "generator/planner/analyze/operands.h"
#include "generator/planner/analyze/spaces.h"

namespace kiln {

/// What a peeled body knows of its step.
struct Known {
  const Reduction& reduction;
  std::optional<bool> first, last;
  const Table<bool, Ref>& stored_again;  // outputs whose stores are for the last step alone
};

/// The stages of the body under what is known, each statement by itself: Fuse joins them.
Stages LowerBody(Plan& plan, SpaceAnalysis& spaces, const Known& known, Diagnostics& diagnostics);

}  // namespace kiln
