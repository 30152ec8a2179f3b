#pragma once

#include "generator/ir/kernel.h"
#include "generator/text/diagnostic.h"

namespace kiln {

/// [tpu]: what statements do with memory that a real TPU's compiler refuses. SMEM has single
/// elements, for reads and for stores; VMEM takes no single element. It
/// warns of masks other than of 32 bits.
void CheckTpuMemoryRules(const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
