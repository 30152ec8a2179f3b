#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// What a pass over a row leaves in memory of its own, from where another pass copies it, is stored
/// there at once: a loop's state, as `let next = …; y = sum(next, axis=1); state = next` has it.
void StoreWhereCopied(Plan& plan, Stages& stages);

}  // namespace kiln
