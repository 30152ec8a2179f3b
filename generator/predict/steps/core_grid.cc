#include "generator/predict/steps/core_grid.h"

#include <algorithm>

#include "generator/planner/analyze/operands.h"
#include "generator/planner/make_plan.h"

namespace kiln {
namespace {

/// The axis that cores share out, or none.
AxisId CutAxis(const Binding& binding, int64_t cores) {
  if (cores == 1) return {};
  const Kernel& kernel = *binding.kernel;
  const std::shared_ptr<const Kernel> rewritten = RewrittenForPlan(kernel);
  const Kernel& planned = rewritten ? *rewritten : kernel;
  const Axes order = CutOrder(planned, PlanOperands(planned));
  if (order.empty()) return {};
  const auto steps = [&](AxisId axis) { return binding.steps[axis.position()]; };
  for (const AxisId axis : order) {
    if (steps(axis) >= cores) return axis;
  }
  return *std::max_element(order.begin(), order.end(),
                           [&](AxisId a, AxisId b) { return steps(a) < steps(b); });
}

}  // namespace

bool CoreGrid::IsEmpty() const {
  for (size_t a = 0; a < begin.size(); ++a) {
    if (begin[a] >= end[a]) return true;
  }
  return false;
}

int64_t CoreGrid::Steps() const {
  if (IsEmpty()) return 0;
  long long product = 1;
  for (size_t a = 0; a < begin.size(); ++a) {
    if (__builtin_mul_overflow(product, end[a] - begin[a], &product)) return INT64_MAX;
  }
  return product;
}

bool CoreGrid::Next(std::vector<int64_t>& at) const {
  size_t a = at.size();
  while (a > 0 && at[a - 1] + 1 == end[a - 1]) --a;
  if (a == 0) return false;
  ++at[a - 1];
  std::copy(begin.begin() + static_cast<ptrdiff_t>(a), begin.end(),
            at.begin() + static_cast<ptrdiff_t>(a));
  return true;
}

bool CoreGrid::Previous(std::vector<int64_t>& at) const {
  size_t a = at.size();
  while (a > 0 && at[a - 1] == begin[a - 1]) --a;
  if (a == 0) return false;
  --at[a - 1];
  for (; a < at.size(); ++a) at[a] = end[a] - 1;
  return true;
}

std::vector<CoreGrid> CutGrid(const Binding& binding, int64_t cores) {
  const AxisId axis = CutAxis(binding, cores);
  std::vector<CoreGrid> grids;
  for (int64_t core = 0; core < cores; ++core) {
    CoreGrid grid{std::vector<int64_t>(binding.steps.size()), binding.steps};
    if (axis) {
      const size_t a = axis.position();
      const int64_t each = binding.steps[a] / cores;
      const int64_t rest = binding.steps[a] % cores;
      grid.begin[a] = each * core + std::min(rest, core);
      grid.end[a] = grid.begin[a] + each + (core < rest ? 1 : 0);
    } else if (core > 0) {
      break;
    }
    grids.push_back(std::move(grid));
  }
  return grids;
}

int64_t NumberOf(const Binding& binding, const std::vector<int64_t>& at) {
  int64_t number = 0;
  for (size_t a = 0; a < at.size(); ++a) number = number * binding.steps[a] + at[a];
  return number;
}

}  // namespace kiln
