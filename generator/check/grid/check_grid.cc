#include "generator/check/grid/check_grid.h"

#include <algorithm>

#include "generator/check/grid/rules.h"

namespace kiln {
namespace {

bool IsBlocked(const Ref& ref) { return ref.role == Role::kInput || ref.role == Role::kOutput; }

bool GridIsEmpty(const Binding& binding) {
  return std::any_of(binding.steps.begin(), binding.steps.end(), [](int64_t n) { return n == 0; });
}

/// The rules that need the number of steps, in the order in which one diagnostic explains another.
void CheckSteps(GridContext& context, const std::vector<MemoryGroup>& groups) {
  const int refs = int(context.kernel.refs.size());
  const bool empty = GridIsEmpty(context.binding);
  for (int ref = 0; ref < refs && !empty; ++ref) {
    context.progress.NextPhase();
    if (IsBlocked(context.ref(ref))) CheckMapRange(context, ref);
  }
  for (const MemoryGroup& group : groups) {
    context.progress.NextPhase();
    CheckVisits(context, group);
  }
  if (empty) return;
  context.progress.NextPhase();
  for (int ref = 0; ref < refs; ++ref) CheckStoresRun(context, ref);
  CheckEpilogueStays(context);
  context.progress.NextPhase();
  CheckBody(context);
}

}  // namespace

bool CheckGrid(const Binding& binding, const GridCheckOptions& options, Diagnostics& diagnostics) {
  const Kernel& kernel = *binding.kernel;
  const std::vector<MemoryGroup> groups = MemoryGroups(kernel);
  GridContext context(binding, options, diagnostics,
                      int(kernel.refs.size()) + int(groups.size()) + 2);
  CheckTiers(context);
  const bool known = binding.steps.size() == kernel.axes.size() &&
                     std::all_of(binding.steps.begin(), binding.steps.end(),
                                 [](int64_t steps) { return steps >= 0; });
  if (known) CheckSteps(context, groups);
  context.progress.Finish();
  return context.complete();
}

}  // namespace kiln
