#pragma once

#include <limits>
#include <vector>

#include "generator/interpret/tiles/value.h"
#include "tests/catch.h"

/// Tiles from and to lists, for tests of the tile operations.
namespace kiln::testing {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline interpret::Tile TileOf(const interpret::Dims& extents, const std::vector<double>& values) {
  interpret::Tile tile = interpret::MakeTile(true, extents);
  REQUIRE(tile.cells == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tile.floats.get());
  return tile;
}

inline interpret::Tile TileOf(const interpret::Dims& extents, const std::vector<int64_t>& values) {
  interpret::Tile tile = interpret::MakeTile(false, extents);
  REQUIRE(tile.cells == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tile.ints.get());
  return tile;
}

/// Elements that are not 0 in `origins` are undefined.
inline interpret::Tile Undefine(interpret::Tile tile,
                                const std::vector<interpret::OriginId>& origins) {
  interpret::MakeOrigins(tile);
  std::copy(origins.begin(), origins.end(), tile.origins.get());
  return tile;
}

inline std::vector<double> FloatsOf(const interpret::Tile& tile) {
  const interpret::Tile compact = interpret::Compact(tile);
  return {compact.floats.get(), compact.floats.get() + compact.cells};
}

inline std::vector<int64_t> IntsOf(const interpret::Tile& tile) {
  const interpret::Tile compact = interpret::Compact(tile);
  return {compact.ints.get(), compact.ints.get() + compact.cells};
}

/// Empty: all defined.
inline std::vector<interpret::OriginId> OriginsOf(const interpret::Tile& tile) {
  const interpret::Tile compact = interpret::Compact(tile);
  if (!compact.origins) return {};
  return {compact.origins.get(), compact.origins.get() + compact.cells};
}

}  // namespace kiln::testing
