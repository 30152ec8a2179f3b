#include "generator/plan/stays.h"

namespace kiln {

std::optional<Axes> StayAxes(const Kernel& kernel, RefId ref) {
  Table<bool, Axis> plain(kernel.axes.size()), used(kernel.axes.size());
  const auto mark = [&](const Node& node, const auto& self) -> void {
    if (AxisOf(node) >= 0) used[AxisId(node.index)] = true;
    for (const NodePtr& arg : node.args) self(*arg, self);
    for (const Subscript& s : node.subscripts) self(*s.start, self);
  };
  for (const BlockDim& dim : kernel[ref].block) {
    if (!dim.index) continue;
    if (dim.index->op == Op::kAxis) plain[AxisId(dim.index->index)] = true;
    mark(*dim.index, mark);
    if (dim.extent) mark(*dim.extent, mark);
  }
  // A parallel axis always ends a stay; so does an axis that is a block index by itself.
  Axes axes;
  bool fixed = false;
  for (size_t a = kernel.axes.size(); a-- > 0;) {
    const AxisId axis(a);
    fixed = fixed || used[axis] || kernel[axis].parallel;
    if (!fixed) axes.insert(axes.begin(), axis);
    if (fixed && !kernel[axis].parallel && !plain[axis]) return std::nullopt;
  }
  return axes;
}

bool StayIs(const Kernel& kernel, RefId ref, const Axes& axes) {
  return StayAxes(kernel, ref) == axes;
}

}  // namespace kiln
