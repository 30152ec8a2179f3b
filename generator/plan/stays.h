#pragma once

#include <vector>

#include "generator/ir/kernel.h"

namespace kiln {

/// The fastest axes over which an operand's block stays the same.
std::vector<int> StayAxes(const Kernel& kernel, int ref);
/// Whether a stay of `ref` is exactly one walk over `axes`, the fastest ones.
bool StayIs(const Kernel& kernel, int ref, const std::vector<int>& axes);

}  // namespace kiln
