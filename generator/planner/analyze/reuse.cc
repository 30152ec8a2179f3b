#include "generator/planner/analyze/reuse.h"

#include <algorithm>
#include <utility>

namespace kiln {
namespace {

void UsedAxes(const Node& node, AxisFlags& used) {
  if (AxisOf(node) >= 0) used[AxisId(node.index)] = true;
  for (const NodePtr& arg : node.args) UsedAxes(*arg, used);
  for (const Subscript& s : node.subscripts) UsedAxes(*s.start, used);
}

/// Whether an axis moves the blocks that steps of others walk over: it is in the index itself, not
/// only in subscripts of prefetch arrays, in conditions, or in what bounds a walk from one side.
bool Moves(const Node& node, AxisId axis, const AxisFlags& walks) {
  if (AxisId(AxisOf(node)) == axis) return true;
  const auto walked = [&](const NodePtr& arg) {
    AxisFlags used(walks.size());
    UsedAxes(*arg, used);
    const auto ids = walks.ids();
    return std::any_of(ids.begin(), ids.end(), [&](AxisId a) { return walks[a] && used[a]; });
  };
  const bool clamps = (node.op == Op::kMin || node.op == Op::kMax) &&
                      std::any_of(node.args.begin(), node.args.end(), walked);
  for (size_t k = node.op == Op::kWhere ? 1 : 0; k < node.args.size(); ++k) {
    if (clamps && !walked(node.args[k])) continue;
    if (Moves(*node.args[k], axis, walks)) return true;
  }
  return false;
}

}  // namespace

AxisFlags AxesOfIndex(const Kernel& kernel, const Ref& ref) {
  AxisFlags used(kernel.axes.size());
  for (const BlockDim& dim : ref.block) {
    if (dim.index) UsedAxes(*dim.index, used);
    if (dim.extent) UsedAxes(*dim.extent, used);
  }
  return used;
}

std::vector<Reuse> FindReuse(const Kernel& kernel, const Ref& ref) {
  const AxisFlags used = AxesOfIndex(kernel, ref);
  std::vector<Reuse> all;
  for (const AxisId axis : used.ids()) {
    Reuse reuse{{axis}, {}};
    AxisFlags walks(used.size());
    for (const AxisId inner : used.ids()) {
      walks[inner] = inner > axis && used[inner];
      if (walks[inner]) reuse.window.push_back(inner);
    }
    const bool moves = std::any_of(ref.block.begin(), ref.block.end(), [&](const BlockDim& dim) {
      return dim.index && Moves(*dim.index, axis, walks);
    });
    if (moves || reuse.window.empty()) continue;
    if (!all.empty() && all.back().window == reuse.window)
      all.back().axes.push_back(axis);
    else
      all.push_back(std::move(reuse));
  }
  return all;
}

Axes FindStays(const Kernel& kernel, const Ref& ref) {
  const AxisFlags used = AxesOfIndex(kernel, ref);
  Axes stays;
  for (const AxisId axis : used.ids()) {
    stays.push_back(axis);
    if (used[axis]) stays.clear();
  }
  return stays;
}

}  // namespace kiln
