#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel whose body sees neighbouring dimensions of operands, and of values made of them, as
/// one, where it sees them in no other way: with `dot(reshape(x, [h * w, c]), f)` and
/// `y = reshape(sums, [h, w, o])` the blocks of x and y are matrices, as if the array were one, so
/// that register tiles read and write them where they are. Null: there are none.
std::shared_ptr<const Kernel> WithJoinedDimensions(const Kernel& kernel);

}  // namespace kiln
