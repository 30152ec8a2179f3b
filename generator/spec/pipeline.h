#pragma once

#include "generator/spec/spec.h"

namespace kiln {

/// The spec with its `pipeline` written out: its axes behind the grid's own, its windows at the
/// operands. Specs without one are returned as they are.
Spec ApplyPipeline(const Spec& spec, Diagnostics& diagnostics);

}  // namespace kiln
