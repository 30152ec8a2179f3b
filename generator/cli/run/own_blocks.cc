#include "generator/cli/run/bench.h"
#include "generator/planner/make_plan.h"

namespace kiln::cli {

std::vector<std::string> AxesOfOwnBlocks(const Kernel& kernel) {
  Diagnostics ignored;
  std::vector<std::string> axes;
  const auto plan = MakePlan(kernel, ignored);
  if (!plan) return axes;
  for (const FreeBlock& block : plan->free_blocks) axes.push_back(kernel[block.axis].name);
  return axes;
}

}  // namespace kiln::cli
