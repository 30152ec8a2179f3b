#pragma once

#include <optional>
#include <vector>

#include "generator/ir/kernel.h"

namespace kiln {

using Axes = std::vector<AxisId>;

/// The fastest axes over which an operand's block stays the same. Nullopt where the text does not
/// say, as with an index that is looked up.
std::optional<Axes> StayAxes(const Kernel& kernel, RefId ref);
/// Whether a stay of `ref` is exactly one walk over `axes`, the fastest ones.
bool StayIs(const Kernel& kernel, RefId ref, const Axes& axes);

}  // namespace kiln
