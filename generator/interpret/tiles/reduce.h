#pragma once

#include <vector>

#include "generator/interpret/tiles/value.h"
#include "generator/ir/kernel.h"

/// Operations that combine many elements into one. Floats accumulate in double and round once. An
/// undefined element makes every result it takes part in undefined.
namespace kiln::interpret {

/// What a combining operation needs besides its arguments.
struct Combining {
  Op op = Op::kSum;
  DType dtype = DType::kF32;  // of the result
  bool wide = false;
  Span span;
  Origins* origins = nullptr;
};

/// Sum, product, largest, smallest, mean, any, all, argmax, argmin over `axes`, in a compact tile.
/// NaN is the largest and the smallest of all; positions are the first of equals.
Tile ReduceTile(const Combining& how, const Tile& tile, const std::vector<int>& axes, bool keep);

/// Running sums, products, extremes along one axis.
Tile CumulateTile(const Combining& how, const Tile& tile, int axis);

/// [batch…, m, k] x [batch…, k, n].
Tile DotTiles(const Combining& how, const Tile& a, const Tile& b);

}  // namespace kiln::interpret
