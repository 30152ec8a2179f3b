#pragma once

#include "generator/ir/kernel.h"

namespace kiln {

/// [undefined] and [coverage] Reports outputs and scratch that no step ever defines.
void CheckUndefined(const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
