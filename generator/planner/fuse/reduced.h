#pragma once

#include "generator/ir/kernel.h"

namespace kiln {

/// Whether a ref's elements go into a sum, a dot or another reduction, perhaps through locals and
/// scratch. What is undefined in them is then a matter of the rule `tail`.
Table<bool, Ref> ReducedRefs(const Kernel& kernel);

}  // namespace kiln
