#pragma once

#include "generator/ir/kernel.h"

namespace kiln {

/// Binds small sizes that suit the spec's blocks and constraints and checks the whole grid with
/// them. A kernel that is wrong for sizes its own text allows is wrong: most faulty index maps
/// are found here, before anyone gives a size. False when no such sizes could be tried.
bool CheckSampleSizes(const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
