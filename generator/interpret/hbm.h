#pragma once

#include <map>
#include <string>

#include "generator/interpret/run.h"

/// Arrays in HBM: their elements, and who visited them.
namespace kiln::interpret {

void PrepareArrays(Run& run, const std::map<std::string, Array>& arrays);

/// Copies a window of an array between HBM and a compact tile in which it has the given strides
/// and offset. Origins come along. Loading leaves a tile without origins when all is defined.
struct Transfer {
  Dims extents;
  Dims array_strides, tile_strides;
  int64_t array_offset = 0, tile_offset = 0;
};
void Load(const HbmArray& array, const Transfer& transfer, Tile& tile);
void Store(HbmArray& array, const Transfer& transfer, const Tile& tile);

/// A visit to elements of an array: a stay of a block of them, or a manual copy.
struct Visit {
  int ref = -1;
  Dims start, size;   // in the array
  bool copy = false;  // a manual copy: it may come again
  Span span = {};     // of a manual copy
};
/// Records an output's visit at the current step; reports [race] and [revisit].
void MarkWrite(Run& run, const Visit& visit);
/// Records the visit of an input whose memory an output takes over; reports [race], and [alias]
/// when the elements are copied in after an output visited them.
void MarkRead(Run& run, const Visit& visit, bool copied_in);

}  // namespace kiln::interpret
