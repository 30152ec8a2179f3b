// [race] and [revisit]: which axes the index maps of outputs use, where no grid can be tried out.
#include "generator/check/index_map_rules.h"

#include <algorithm>
#include <set>

namespace kiln {
namespace {

struct MapUse {
  std::set<int> axes;
  bool host = false;
};

void Collect(const Node& node, MapUse& use) {
  if (AxisOf(node) >= 0) use.axes.insert(node.index);
  if (node.op == Op::kRead) use.host = true;
  for (const NodePtr& arg : node.args) Collect(*arg, use);
  for (const Subscript& s : node.subscripts) Collect(*s.start, use);
}

MapUse UseOf(const Ref& ref) {
  MapUse use;
  for (const BlockDim& dim : ref.block) {
    Collect(*dim.index, use);
    if (dim.extent) Collect(*dim.extent, use);
  }
  return use;
}

bool SurelyOneStep(const Axis& axis) {
  return axis.steps->op == Op::kConst && axis.steps->int_value <= 1;
}

/// The axis stands alone in the map, so that different steps surely mean different blocks.
bool Plain(const Ref& ref, int axis) {
  return std::any_of(ref.block.begin(), ref.block.end(), [&](const BlockDim& dim) {
    return dim.index->op == Op::kAxis && dim.index->index == axis;
  });
}

void CheckRace(const Kernel& kernel, const Ref& ref, const MapUse& use, Diagnostics& diagnostics) {
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const Axis& axis = kernel.axes[a];
    if (!axis.parallel || SurelyOneStep(axis) || use.axes.count(static_cast<int>(a))) continue;
    diagnostics.Error("race", MapSpan(ref),
                      "every step of the parallel axis `" + axis.name +
                          "` writes the same block of `" + ref.name + "`",
                      "use `" + axis.name + "` in its index, or make the axis arbitrary");
    return;
  }
}

void CheckRevisit(const Kernel& kernel, const Ref& ref, const MapUse& use,
                  Diagnostics& diagnostics) {
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    const Axis& axis = kernel.axes[a];
    if (axis.parallel || SurelyOneStep(axis) || use.axes.count(static_cast<int>(a))) continue;
    if (axis.outside && ref.in_pipeline) {
      diagnostics.Error("revisit", MapSpan(ref),
                        "the pipeline of every step of `" + axis.name +
                            "` visits the same blocks of `" + ref.name +
                            "`; what it wrote is lost when the next one comes back to them",
                        "use `" + axis.name + "` in its index, or give `" + axis.name +
                            "` to the grid of the pipeline");
      return;
    }
    for (size_t b = a + 1; b < kernel.axes.size(); ++b) {
      const Axis& faster = kernel.axes[b];
      if (SurelyOneStep(faster) || !Plain(ref, static_cast<int>(b))) continue;
      diagnostics.Error(
          "revisit", MapSpan(ref),
          "blocks of `" + ref.name + "` are left and visited again: its index does not use `" +
              axis.name + "`, and `" + faster.name + "`, which it uses, runs faster",
          "make `" + axis.name +
              "` the last (minor) axis of the grid; what a block held is lost when it is left");
      return;
    }
  }
}

}  // namespace

void CheckIndexMaps(const Kernel& kernel, Diagnostics& diagnostics) {
  for (const Ref& ref : kernel.refs) {
    if (ref.role != Role::kOutput || !IsPipelined(ref)) continue;
    const MapUse use = UseOf(ref);
    if (use.host) continue;  // decided when the prefetched values are known
    CheckRace(kernel, ref, use, diagnostics);
    CheckRevisit(kernel, ref, use, diagnostics);
  }
}

}  // namespace kiln
