#pragma once

#include "generator/ir/kernel.h"

namespace kiln {

/// The spec whose one step computes, of whole arrays, what the expressions of `reference` say.
/// `kernel` is what `spec` means; its references are filled in, and faults of them reported.
Spec ReferenceSpecOf(const Spec& spec, Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
