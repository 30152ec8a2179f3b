#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel with a dimension of its tiles divided where a reshape makes it of a part of one
/// dimension and of others, if nothing but sums over it and what is done to each element looks at
/// it: the groups of channels of `reshape(x, [G, c // G * h * w])`, where x is [c, h, w], are
/// [G, c // G, h, w], whose elements are where they are in x. Null: there is none.
std::shared_ptr<const Kernel> WithDividedDimensions(const Kernel& kernel);

}  // namespace kiln
