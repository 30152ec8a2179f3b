#pragma once

#include "generator/bind/bind.h"

namespace kiln {

/// The semantic rules as far as they can be decided without running; one function a rule.
/// Without a binding, sizes are tried out (CheckSampleSizes); with one, CheckGrid has decided what
/// the grid decides, and extents are known here too.
void CheckStaticRules(const Kernel& kernel, const Binding* binding, Diagnostics& diagnostics);

}  // namespace kiln
