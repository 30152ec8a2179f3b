#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Blocks that lie beyond the edges of their array, such as those of a convolution with a border,
/// are read where they are by rows whose windows are inside of it; Direct copies what the others
/// read, and no more.
void FindEdges(Plan& plan);

}  // namespace kiln
