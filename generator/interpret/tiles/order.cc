#include "generator/interpret/tiles/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace kiln::interpret {
namespace {

/// NaN is the largest, and zeros are equal.
bool Less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
bool Less(int64_t a, int64_t b) { return a < b; }

/// top_k alone puts 0 before -0, as XLA's does.
bool LessWithZeros(double a, double b) {
  if (a == 0 && b == 0) return std::signbit(a) && !std::signbit(b);
  return Less(a, b);
}
bool LessWithZeros(int64_t a, int64_t b) { return a < b; }

/// The positions of a line's elements in order; equals keep theirs.
template <typename T>
void OrderLine(const Combining& how, const T* line, int64_t stride, bool descending,
               std::vector<int64_t>& positions) {
  std::iota(positions.begin(), positions.end(), int64_t{0});
  const auto at = [&](int64_t position) { return line[position * stride]; };
  const auto sort = [&](auto before) {
    std::stable_sort(positions.begin(), positions.end(),
                     [&](int64_t a, int64_t b) { return before(at(a), at(b)); });
  };
  if (how.op == Op::kTopPositions)
    sort([](T a, T b) { return LessWithZeros(b, a); });
  else if (descending)
    sort([](T a, T b) { return Less(b, a); });
  else
    sort([](T a, T b) { return Less(a, b); });
}

template <typename T>
void OrderLines(const Combining& how, const Tile& tile, int axis, bool descending, Tile& result) {
  Dims lines = tile.extents;
  lines[axis] = 1;
  const int64_t from = tile.strides[axis], to = result.strides[axis];
  const int64_t length = tile.extents[axis], count = result.extents[axis];
  std::vector<int64_t> positions(static_cast<size_t>(length));
  const auto order = [&](int64_t first, int64_t first_result) {
    const T* line = ValuesOf<T>(tile).get() + first;
    OrderLine(how, line, from, descending, positions);
    OriginId origin = kDefined;
    for (int64_t i = 0; tile.origins && i < length && origin == kDefined; ++i)
      origin = tile.origins[first + i * from];
    if (origin != kDefined) origin = how.origins->Reduced(origin, how.span);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t position = positions[static_cast<size_t>(i)];
      if (how.op == Op::kSort)
        ValuesOf<T>(result)[first_result + i * to] = line[position * from];
      else
        result.ints[first_result + i * to] = position;
      if (tile.origins) result.origins[first_result + i * to] = origin;
    }
  };
  const Walk<2> walk(lines, {tile.strides, result.strides}, {tile.offset, 0});
  walk.ForEachRow([&](const auto& at) {
    for (int64_t i = 0; i < walk.row_size(); ++i)
      order(at[0] + i * walk.row_stride(0), at[1] + i * walk.row_stride(1));
  });
}

}  // namespace

Tile OrderTile(const Combining& how, const Tile& tile, int axis, bool descending, int64_t count) {
  Dims extents = tile.extents;
  extents[axis] = count;
  Tile result = MakeTile(IsFloat(how.dtype), extents);
  if (tile.origins) MakeOrigins(result);
  if (tile.floating)
    OrderLines<double>(how, tile, axis, descending, result);
  else
    OrderLines<int64_t>(how, tile, axis, descending, result);
  DropOrigins(result);
  return result;
}

Tile FlipTile(const Tile& tile, const std::vector<int>& axes) {
  Tile flipped = tile;
  for (const int axis : axes) {
    if (tile.extents[axis] == 0) continue;
    flipped.offset += (tile.extents[axis] - 1) * flipped.strides[axis];
    flipped.strides[axis] = -flipped.strides[axis];
  }
  return flipped;
}

Tile TakeAlongTile(const Tile& tile, const Tile& ids, int axis) {
  Tile result = MakeTile(tile.floating, ids.extents);
  if (tile.origins || ids.origins) MakeOrigins(result);
  Dims line = tile.strides;
  line[axis] = 0;
  const Walk<3> walk(ids.extents, {line, ids.strides, result.strides},
                     {tile.offset, ids.offset, 0});
  walk.ForEachRow([&](const auto& at) {
    for (int64_t i = 0; i < walk.row_size(); ++i) {
      const int64_t id = at[1] + i * walk.row_stride(1), to = at[2] + i * walk.row_stride(2);
      const bool defined = !ids.origins || ids.origins[id] == kDefined;
      const int64_t place = defined ? ids.ints[id] : 0;
      const int64_t from = at[0] + i * walk.row_stride(0) + place * tile.strides[axis];
      if (tile.floating)
        result.floats[to] = tile.floats[from];
      else
        result.ints[to] = tile.ints[from];
      if (!result.origins) continue;
      result.origins[to] = !defined       ? ids.origins[id]
                           : tile.origins ? tile.origins[from]
                                          : kDefined;
    }
  });
  DropOrigins(result);
  return result;
}

}  // namespace kiln::interpret
