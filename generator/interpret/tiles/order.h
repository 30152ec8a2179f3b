#pragma once

#include "generator/interpret/tiles/reduce.h"

/// Operations that put the elements along an axis in order, or reverse them. An undefined element
/// makes every result along its line undefined: nobody knows before which of them it comes.
namespace kiln::interpret {

/// sort, argsort and the positions of top_k: `count` of the elements along the axis, or all of
/// them.
Tile OrderTile(const Combining& how, const Tile& tile, int axis, bool descending, int64_t count);

/// A view.
Tile FlipTile(const Tile& tile, const std::vector<int>& axes);

/// Each of `ids` is the place along the axis of an element of its line; an undefined one gives an
/// undefined element.
Tile TakeAlongTile(const Tile& tile, const Tile& ids, int axis);

}  // namespace kiln::interpret
