#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// The kernel with neighbouring dimensions of tiles as one where no statement tells them apart
/// (Neighbours), so that lanes run through all of them: an image of a channel, [c, h, w], is a row
/// of [c, h * w] to a kernel that scales channels, or has their mean. Null: there are none in the
/// block of an operand.
std::shared_ptr<const Kernel> WithNeighboursAsOne(const Kernel& kernel);

}  // namespace kiln
