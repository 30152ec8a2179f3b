#pragma once

#include <array>
#include <vector>

#include "generator/interpret/tiles/functions.h"
#include "generator/interpret/tiles/value.h"

/// Elementwise operations on scalars and tiles: the table of functions.h, casts and `where`.
namespace kiln::interpret {

/// Rounds or wraps values in place to what `dtype` holds; with `wide` floats stay as they are.
void RoundAll(DType dtype, bool wide, int64_t count, double* values);
void WrapAll(DType dtype, int64_t count, int64_t* values);

/// An operation on one to three arguments of dtype `from` with a result of dtype `to`. Elements
/// that have no value get the origin `no_value`. Tiles broadcast to `extents`.
Scalar MapScalars(const Meaning& meaning, DType from, DType to, bool wide,
                  const std::array<Scalar, 3>& args, OriginId no_value);
Tile MapTiles(const Meaning& meaning, DType from, DType to, bool wide, const Dims& extents,
              const std::vector<Tile>& args, OriginId no_value);

/// `false & x` is false even if x is undefined, as on any machine: makes the elements of a result
/// defined whose defined arguments decide it. `decides`: DecidingBool of the operation.
Scalar Decided(Scalar result, int64_t decides, const std::array<Scalar, 3>& args, size_t count);
void Decide(Tile& result, int64_t decides, const std::vector<Tile>& args);

/// Per element: the mask's origin where it is undefined, else the chosen side's value and origin.
Tile WhereTiles(const Dims& extents, const Tile& mask, const Tile& yes, const Tile& no);

/// The result is compact.
Tile CastTile(const Tile& tile, DType from, DType to, bool wide);
Scalar CastScalar(const Scalar& value, DType from, DType to, bool wide);
Tile BitcastTile(const Tile& tile, DType from, DType to);
Scalar BitcastScalar(const Scalar& value, DType from, DType to);

}  // namespace kiln::interpret
