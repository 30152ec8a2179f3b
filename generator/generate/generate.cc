#include "generator/generate/generate.h"

#include "generator/planner/make_plan.h"

namespace kiln {

bool Generate(const Kernel& kernel, const SpecName& spec, Diagnostics& diagnostics,
              Generated* out) {
  const auto plans = MakePlans(kernel, diagnostics);
  if (plans.empty()) return false;
  *out = Render(plans, spec);
  return true;
}

}  // namespace kiln
