#pragma once

#include "generator/ir/kernel.h"

namespace kiln {

/// [shape] Warns of shapes that fit at some sizes only, unless `require` says that it is these.
void CheckShapes(const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
