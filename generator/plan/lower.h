#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/front/kernel.h"
#include "generator/plan/plan.h"
#include "generator/plan/spaces.h"

namespace kiln {

/// Steps through which dots are added up in scratch, or in an output: all steps of `axes`, the
/// fastest ones of the grid; or those for which the block of the output `stay` is the same, which
/// only prefetch arrays know.
struct Reduction {
  int accumulator = -1;  // none: there is no reduction
  std::vector<int> axes;
  int stay = -1;
};

/// What a peeled body knows of its step.
struct Known {
  const Reduction& reduction;
  std::optional<bool> first, last;
};

/// The stages of the body under what is known, each statement by itself: Fuse joins them.
Stages LowerBody(Plan& plan, SpaceAnalysis& spaces, const Known& known, Diagnostics& diagnostics);

/// Whether a stay of `ref` is exactly one walk over `axes`, the fastest ones.
bool StayIs(const Kernel& kernel, int ref, const std::vector<int>& axes);
/// The fastest axes over which an operand's block stays the same.
std::vector<int> StayAxes(const Kernel& kernel, int ref);

/// An index expression or a host condition as an element.
ElementPtr LowerIndex(const Kernel& kernel, const Node& node);

}  // namespace kiln
