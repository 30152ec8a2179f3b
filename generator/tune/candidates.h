#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generator/bind/bind.h"

namespace kiln {

/// A param that is the size of a block, and sizes to try: rising, the present one among them.
struct TunedParam {
  std::string name;
  std::vector<int64_t> values;
  bool own = false;  // Direct takes sizes of its own in its place
};

/// The params that blocks mention, in the spec's order, but for those in `fixed`. Their values are
/// powers of two that are multiples of what vectors and a TPU's tiles like, up to the arrays'
/// extents; or those in `given`. `own_axes` are those of which Direct chooses the blocks.
std::vector<TunedParam> TunedParams(const Spec& spec, const Binding& binding,
                                    const std::vector<std::string>& fixed,
                                    const std::map<std::string, std::vector<int64_t>>& given,
                                    const std::vector<std::string>& own_axes);

}  // namespace kiln
