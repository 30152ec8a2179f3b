#pragma once

#include "generator/ir/kernel.h"

namespace kiln {

/// [race] and [revisit] Reports the outputs of which the axes in their index maps show, at any
/// size, that parallel steps write one block or that a block is left and visited again.
void CheckIndexMaps(const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
