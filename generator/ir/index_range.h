#pragma once

#include <functional>

#include "generator/ir/kernel.h"

/// How far the values of a call may take index arithmetic.
namespace kiln {

/// The least and the greatest value; more than 64 bits hold, so that leaving those shows.
struct IndexRange {
  __int128 low = 0, high = 0;
};

/// What is known of a name of the body, its type apart.
using RangeOfLocal = std::function<IndexRange(LocalId)>;

/// The values that an integer, or those of a tile, may have, from its text and dtypes alone: what
/// is read may be any number of its type, and no dimension has more than 2^31 elements.
IndexRange RangeOf(const Node& node, const Kernel& kernel, const RangeOfLocal& of_local);

/// Whether values that only a call knows may take this operation, an index, out of 64 bits.
bool MayOverflow(const Node& node, const Kernel& kernel, const RangeOfLocal& of_local);

/// Every index.
IndexRange AnyIndex();

}  // namespace kiln
