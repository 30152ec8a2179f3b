#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel in which what takes a product, a reduction, a scan or a sort has a name where
/// statements of one list compute it more than once, and is computed there alone. Null: there is
/// none.
std::shared_ptr<const Kernel> WithRepeatedValuesNamed(const Kernel& kernel);

}  // namespace kiln
