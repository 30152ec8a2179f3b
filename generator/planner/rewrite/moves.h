#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel with values that only move elements (`let t = x.T`), with products that are added to
/// sums (`let d = dot(a, b)`, `acc += d`), and with weights that are dequantised for a product
/// where the one statement stands that reads them, so that a name costs nothing. Null: there are
/// none.
std::shared_ptr<const Kernel> WithMovesInPlace(const Kernel& kernel);

}  // namespace kiln
