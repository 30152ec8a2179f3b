#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel whose body sees neighbouring dimensions of refs, and of values made of them, as one,
/// where it sees them in no other way: with `dot(reshape(x, [h * w, c]), f)` and
/// `y = reshape(sums, [h, w, o])` the blocks of x and y are matrices, as if their arrays were, so
/// that register tiles read and write them where they are. So it is with groups of channels, whose
/// lanes stay those of all channels: `sum(reshape(x, [h * w, 32, c // 32]), axis=[0, 2])` is that
/// of sums of channels. Null: there are none.
std::shared_ptr<const Kernel> WithJoinedDimensions(const Kernel& kernel);

}  // namespace kiln
