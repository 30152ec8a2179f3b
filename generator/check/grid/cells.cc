#include "generator/check/grid/cells.h"

#include <algorithm>

namespace kiln {
namespace {

// Borders are sorted and made unique whenever this many have gathered.
constexpr size_t kGather = size_t{1} << 20;
// More are not held.
constexpr size_t kMaxCuts = size_t{1} << 24;

bool HasOneSize(BlockDim::Kind kind) {
  return kind == BlockDim::Kind::kBlocked || kind == BlockDim::Kind::kSqueezed;
}

/// The size of all blocks along `d`, of the windows that are not whole there; 0 when there is none.
int64_t CommonBlock(const std::vector<CellWindow>& windows, size_t d) {
  int64_t block = 0;
  bool whole = true;
  for (const CellWindow& window : windows) {
    const DimSizes& dim = window.sizes[d];
    if (dim.kind == BlockDim::Kind::kAll) continue;
    if (!HasOneSize(dim.kind) || dim.size <= 0 || (!whole && dim.size != block)) return 0;
    block = dim.size;
    whole = false;
  }
  return whole ? std::max<int64_t>(1, windows[0].sizes[d].extent) : block;
}

void SortUnique(std::vector<int64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Adds where blocks of one window begin and end along one dimension; false for too many.
bool AddCuts(GridContext& context, const BlockDim& block, const DimSizes& dim,
             std::vector<int64_t>& cuts) {
  ProgramBuilder builder(context.binding);
  const int index = builder.Add(*block.index);
  const int extent = block.extent ? builder.Add(*block.extent) : -1;
  IndexProgram program = builder.Finish();
  const auto space = GridSpace::Make(context.binding, program.axis_use(), GridSpace::Unused::kOnce);
  if (!space) return false;
  size_t limit = 2 * cuts.size() + kGather;
  Sweep sweep(context.binding, program, *space, &context.progress);
  while (sweep.Next()) {
    for (int lane = 0; lane < sweep.count(); ++lane) {
      const int64_t length = extent >= 0 ? program.Lanes(extent)[lane] : 0;
      const auto [low, high] = dim.Elements(program.Lanes(index)[lane], length);
      cuts.push_back(low);
      cuts.push_back(high);
    }
    if (cuts.size() < limit) continue;
    SortUnique(cuts);
    if (cuts.size() > kMaxCuts) return false;
    limit = 2 * cuts.size() + kGather;
  }
  return true;
}

}  // namespace

bool Box::empty() const {
  for (size_t d = 0; d < low.size(); ++d) {
    if (low[d] >= high[d]) return true;
  }
  return false;
}

Box Intersect(const Box& a, const Box& b) {
  Box out = a;
  for (size_t d = 0; d < a.low.size(); ++d) {
    out.low[d] = std::max(a.low[d], b.low[d]);
    out.high[d] = std::min(a.high[d], b.high[d]);
  }
  return out;
}

int64_t CountOf(const Box& box) {
  long long count = 1;
  for (size_t d = 0; d < box.low.size(); ++d) {
    if (box.low[d] >= box.high[d]) return 0;
    if (__builtin_mul_overflow(count, box.high[d] - box.low[d], &count)) return INT64_MAX;
  }
  return count;
}

std::optional<Cells::Dimension> Cells::Cut(GridContext& context,
                                           const std::vector<CellWindow>& windows, size_t d) {
  Dimension out;
  out.extent = windows[0].sizes[d].extent;
  out.block = CommonBlock(windows, d);
  if (out.block > 0) {
    out.count = out.extent / out.block + (out.extent % out.block != 0);
    return out;
  }
  out.cuts = {0, out.extent};
  for (const CellWindow& window : windows) {
    if (window.sizes[d].kind == BlockDim::Kind::kAll) continue;
    const BlockDim& block = context.ref(window.ref).block[d];
    if (!AddCuts(context, block, window.sizes[d], out.cuts)) return std::nullopt;
  }
  SortUnique(out.cuts);
  out.count = int64_t(out.cuts.size()) - 1;
  return out;
}

std::optional<Cells> Cells::Make(GridContext& context, std::vector<CellWindow>& windows,
                                 bool& too_many) {
  Cells cells;
  const size_t rank = windows[0].sizes.size();
  for (size_t d = 0; d < rank; ++d) {
    for (const CellWindow& window : windows) {
      if (window.sizes.size() != rank) return std::nullopt;
      if (window.sizes[d].extent != windows[0].sizes[d].extent) return std::nullopt;
    }
    auto cut = Cut(context, windows, d);
    too_many = !cut;
    if (!cut) return std::nullopt;
    cells.dimensions_.push_back(std::move(*cut));
  }
  for (size_t d = rank; d-- > 0;) {
    Dimension& dimension = cells.dimensions_[d];
    dimension.stride = cells.count_;
    long long product = 0;
    too_many = __builtin_mul_overflow(cells.count_, dimension.count, &product);
    if (too_many) return std::nullopt;
    cells.count_ = product;
  }
  for (CellWindow& window : windows) {
    for (size_t d = 0; d < rank; ++d) {
      const Dimension& dimension = cells.dimensions_[d];
      const bool whole = window.sizes[d].kind == BlockDim::Kind::kAll;
      window.single = window.single && dimension.block > 0 && (!whole || dimension.count == 1);
    }
  }
  return cells;
}

int64_t Cells::CellOf(const CellWindow& window, const IndexProgram& program, int lane) const {
  int64_t cell = 0;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    if (window.index[d] >= 0) cell += program.Lanes(window.index[d])[lane] * dimensions_[d].stride;
  }
  return cell;
}

int64_t Cells::FirstCell(const Dimension& dimension, int64_t element) {
  if (dimension.block > 0) {
    return element / dimension.block + (element % dimension.block != 0);
  }
  return std::lower_bound(dimension.cuts.begin(), dimension.cuts.end(), element) -
         dimension.cuts.begin();
}

Box Cells::CellsOf(const CellWindow& window, const IndexProgram& program, int lane) const {
  Box box;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    const int64_t index = window.index[d] >= 0 ? program.Lanes(window.index[d])[lane] : 0;
    const int64_t extent = window.extent[d] >= 0 ? program.Lanes(window.extent[d])[lane] : 0;
    const auto [low, high] = window.sizes[d].Elements(index, extent);
    box.low.push_back(FirstCell(dimensions_[d], low));
    box.high.push_back(FirstCell(dimensions_[d], high));
  }
  return box;
}

Box Cells::ElementsOf(int64_t cell) const {
  Box box;
  for (const Dimension& dimension : dimensions_) {
    const int64_t at = cell / dimension.stride % dimension.count;
    if (dimension.block > 0) {
      box.low.push_back(at * dimension.block);
      box.high.push_back(std::min(dimension.extent, (at + 1) * dimension.block));
    } else {
      box.low.push_back(dimension.cuts[size_t(at)]);
      box.high.push_back(dimension.cuts[size_t(at) + 1]);
    }
  }
  return box;
}

std::string ElementsText(const Box& elements) {
  const size_t rank = elements.low.size();
  std::string out;
  for (size_t d = 0; d < rank; ++d) {
    if (d > 0) out += ", ";
    const bool one = elements.high[d] - 1 <= elements.low[d];
    if (rank <= 2) {
      std::string word = ElementsWord(rank, d);
      if (one) word.pop_back();  // "row", "column", "element"
      out += word + " ";
    }
    out += std::to_string(elements.low[d]);
    if (!one) out += ".." + std::to_string(elements.high[d] - 1);
  }
  if (rank == 0) return "its one element";
  return rank > 2 ? "elements [" + out + "]" : out;
}

Box ElementsAt(const std::vector<DimSizes>& sizes, const BlockIndex& block) {
  Box box;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto [low, high] = sizes[d].Elements(block.index[d], block.extent[d]);
    box.low.push_back(low);
    box.high.push_back(high);
  }
  return box;
}

}  // namespace kiln
