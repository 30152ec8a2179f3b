// Which dimensions of a reshape are which of its argument.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "generator/ir/kernel.h"

namespace kiln {

/// Whether sizes are the same in every call: h // 2 * 2 is h where h is known to be even.
bool AreSame(const Kernel& kernel, const Size& a, const Size& b);

/// What a size is in every call when it is divided by another one; none: it is not known to be a
/// multiple.
std::optional<Size> QuotientOf(const Kernel& kernel, const Size& size, const Size& by);

/// Dimensions of an argument and those of its reshape that have as many elements.
struct Group {
  std::vector<size_t> from, to;
};

/// Pairs of groups, each as small as may be and one of them a single dimension, without extents of
/// 1; empty: there are none.
std::vector<Group> GroupsOf(const Shape& from, const Shape& to);

}  // namespace kiln
