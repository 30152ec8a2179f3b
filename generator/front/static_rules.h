#pragma once

#include "generator/front/kernel.h"

namespace kiln {

/// The semantic rules as far as the spec alone decides them; one function a rule.
void CheckStaticRules(const Kernel& kernel, Diagnostics& diagnostics);

}  // namespace kiln
