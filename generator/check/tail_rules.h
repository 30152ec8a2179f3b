#pragma once

#include "generator/bind/bind.h"

namespace kiln {

/// [tail] Reports sums and dots that run over elements past the edge of an input without `pad`.
/// With a binding the extents of a call decide whether there are any.
void CheckTails(const Kernel& kernel, const Binding* binding, Diagnostics& diagnostics);

}  // namespace kiln
