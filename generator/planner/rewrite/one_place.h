#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel in which masks that hold at one position of a dimension alone (`iota([8, 128], 0) ==
/// i`) are subscripts: `sum(where(mask, x, 0), axis=0)` reads `x[i:i+1]`, and what
/// `x = where(mask, row, x)` stores, it stores to `x[i:i+1]`. Pallas kernels take
/// rows out of values, and set them, that way. Null: there are none.
std::shared_ptr<const Kernel> WithOnePlaceOfMasks(const Kernel& kernel);

}  // namespace kiln
