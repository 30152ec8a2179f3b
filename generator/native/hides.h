#pragma once

#include "generator/ir/kernel.h"

namespace kiln {

/// Whether undefined values may decide what a kernel computes without a NaN that shows it: integers
/// and bools, floats that are compared, converted or located, and conditions on any of them.
bool HidesUndefined(const Kernel& kernel);

/// Whether the kernel makes floats of any bits: a NaN may then be what its own data say.
bool BitcastsToFloat(const Kernel& kernel);

/// Whether it has dots of bf16, which some machines multiply by instructions that keep no NaN.
bool MultipliesBf16(const Kernel& kernel);

}  // namespace kiln
