#pragma once

#include <set>

#include "generator/ir/kernel.h"

namespace kiln {

/// Dots that add to the same sums one after the other, with nothing between them: in the turns of a
/// loop whose length is known, or in statements next to each other.
std::set<const Node*> DotsInChains(const Kernel& kernel);

}  // namespace kiln
