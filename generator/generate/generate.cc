#include "generator/generate/generate.h"

#include "generator/planner/make_plan.h"

namespace kiln {

bool Generate(const Kernel& kernel, std::string_view spec_file, Diagnostics& diagnostics,
              Generated* out) {
  const auto plans = MakePlans(kernel, diagnostics);
  if (plans.empty()) return false;
  *out = Render(plans, spec_file);
  return true;
}

}  // namespace kiln
