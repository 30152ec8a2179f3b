#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/check/grid/common.h"

/// One memory cut into cells, so that every block of every window on it is a box of whole cells.
/// When all windows have blocks of one size a cell is a block; otherwise dimensions are cut where
/// some block begins or ends.
namespace kiln {

/// A box of elements or of cells: [low, high) by dimension.
struct Box {
  std::vector<int64_t> low, high;
  bool empty() const;
};
Box Intersect(const Box& a, const Box& b);
/// How many there are in it (saturating).
int64_t CountOf(const Box& box);

/// One operand's blocks on the memory.
struct CellWindow {
  int ref = -1;
  std::vector<DimSizes> sizes;
  std::vector<int> index, extent;  // registers of the joint program, or -1
  bool single = true;              // every block is exactly one cell
};

class Cells {
 public:
  /// Nullopt when the windows do not fit one memory, or with `too_many` cells. Decides `single` of
  /// each window.
  static std::optional<Cells> Make(GridContext& context, std::vector<CellWindow>& windows,
                                   bool& too_many);

  int64_t count() const { return count_; }
  /// The cell of a block of a `single` window.
  int64_t CellOf(const CellWindow& window, const IndexProgram& program, int lane) const;
  /// The cells of a block.
  Box CellsOf(const CellWindow& window, const IndexProgram& program, int lane) const;
  /// Calls `touch(cell)` for each cell of a box with `begin` <= cell < `end`.
  template <typename Touch>
  void ForEach(const Box& box, int64_t begin, int64_t end, Touch touch) const;
  Box ElementsOf(int64_t cell) const;

 private:
  struct Dimension {
    int64_t extent = 0;
    int64_t block = 0;          // > 0: cells of this many elements; else `cuts`
    std::vector<int64_t> cuts;  // count + 1 borders
    int64_t count = 0;
    int64_t stride = 1;
  };
  static std::optional<Dimension> Cut(GridContext& context, const std::vector<CellWindow>& windows,
                                      size_t d);
  static int64_t FirstCell(const Dimension& dimension, int64_t element);

  std::vector<Dimension> dimensions_;
  int64_t count_ = 1;
};

template <typename Touch>
void Cells::ForEach(const Box& box, int64_t begin, int64_t end, Touch touch) const {
  if (box.empty()) return;
  std::vector<int64_t> at = box.low;
  const size_t rank = at.size();
  while (true) {
    int64_t cell = 0;
    for (size_t d = 0; d < rank; ++d) cell += at[d] * dimensions_[d].stride;
    const int64_t run = rank > 0 ? box.high[rank - 1] - box.low[rank - 1] : 1;
    for (int64_t i = cell < begin ? begin - cell : 0; i < run && cell + i < end; ++i) {
      touch(cell + i);
    }
    size_t d = rank > 0 ? rank - 1 : 0;  // the last dimension is the run itself
    while (d > 0 && ++at[d - 1] == box.high[d - 1]) {
      at[d - 1] = box.low[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

/// "rows 8..9, columns 0..127"; "[0..3, 8..9, 0..127]" beyond two dimensions.
std::string ElementsText(const Box& elements);
/// The elements of the array that an operand's block covers at a grid point.
Box ElementsAt(const std::vector<DimSizes>& sizes, const BlockIndex& block);

}  // namespace kiln
