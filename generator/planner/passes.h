#pragma once

#include <span>

#include "generator/plan/plan.h"
#include "generator/planner/analyze/operands.h"
#include "generator/planner/analyze/spaces.h"

namespace kiln {

/// What passes read and change.
struct Planning {
  Plan& plan;
  const Kernel& kernel;
  const Reduction reduction;
  SpaceAnalysis spaces;
  Diagnostics& diagnostics;
};

/// One decision about the generated text.
struct Pass {
  const char* name;
  void (*run)(Planning&);
  const char* does;  // a sentence for people
};

/// In the order in which they run.
std::span<const Pass> Passes();

}  // namespace kiln
