#pragma once

#include <cstdint>
#include <vector>

#include "generator/bind/bind.h"

namespace kiln {

/// The part of a grid that one core walks, in lexicographic order.
struct CoreGrid {
  std::vector<int64_t> begin, end;  // by axis

  bool IsEmpty() const;
  int64_t Steps() const;  // saturates
  /// Moves a point of it to the next or the previous one; false, and the point unchanged, when
  /// there is none.
  bool Next(std::vector<int64_t>& at) const;
  bool Previous(std::vector<int64_t>& at) const;
};

/// One for each core, as runtime/kiln/grid/grid.h cuts them for generated kernels. Needs the steps.
std::vector<CoreGrid> CutGrid(const Binding& binding, int64_t cores);

/// A point's number in the whole grid.
int64_t NumberOf(const Binding& binding, const std::vector<int64_t>& at);

}  // namespace kiln
