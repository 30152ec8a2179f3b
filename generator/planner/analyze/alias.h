#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Marks the inputs whose memory an output takes over and that Direct has to copy all the same,
/// because a step may read them after it has begun to write.
void CopyAliasedInputs(Plan& plan);

}  // namespace kiln
