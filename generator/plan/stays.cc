#include "generator/plan/stays.h"

namespace kiln {

std::vector<int> StayAxes(const Kernel& kernel, int ref) {
  const Ref& r = kernel.refs[static_cast<size_t>(ref)];
  std::vector<bool> plain(kernel.axes.size()), used(kernel.axes.size());
  const auto mark = [&](const Node& node, const auto& self) -> void {
    if (AxisOf(node) >= 0) used[static_cast<size_t>(node.index)] = true;
    for (const NodePtr& arg : node.args) self(*arg, self);
    for (const Subscript& s : node.subscripts) self(*s.start, self);
  };
  for (const BlockDim& dim : r.block) {
    if (!dim.index) continue;
    if (dim.index->op == Op::kAxis) plain[static_cast<size_t>(dim.index->index)] = true;
    mark(*dim.index, mark);
    if (dim.extent) mark(*dim.extent, mark);
  }
  // A parallel axis always ends a stay; so does an axis that is a block index by itself.
  size_t fixed = kernel.axes.size();
  while (fixed > 0 && !used[fixed - 1] && !kernel.axes[fixed - 1].parallel) --fixed;
  for (size_t a = 0; a < fixed; ++a) {
    if (!kernel.axes[a].parallel && !plain[a]) return {-1};  // not to be told from the text
  }
  std::vector<int> axes;
  for (size_t a = fixed; a < kernel.axes.size(); ++a) axes.push_back(static_cast<int>(a));
  return axes;
}

bool StayIs(const Kernel& kernel, int ref, const std::vector<int>& axes) {
  return StayAxes(kernel, ref) == axes;
}

}  // namespace kiln
