#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A step runs one of the bodies: what one of them needs memory for, another may keep there too.
void ShareMemory(Plan& plan);

}  // namespace kiln
