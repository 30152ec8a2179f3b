#pragma once

#include <set>
#include <string>

#include "generator/spec/spec.h"

namespace kiln {

/// The names in an expression, and those that the params among them are computed from.
std::set<std::string> NamesIn(const Spec& spec, const Expr& expr);

/// The params that say how the problem is cut and not what is computed, which are what `tune`,
/// `predict` and `report` may change: a block's size mentions them, and the body at most as an
/// extent, a bound of a loop or a slice, or as what a step of the grid is multiplied by, as in `i *
/// bm`.
std::set<std::string> BlockParams(const Spec& spec);

}  // namespace kiln
