#pragma once

#include "generator/spec/spec.h"

namespace kiln {

/// The spec with its `vmap` written out: a leading parallel axis, a squeezed dimension on the
/// named operands. Specs without `vmap` are returned as they are.
Spec ApplyVmap(const Spec& spec, Diagnostics& diagnostics);

}  // namespace kiln
