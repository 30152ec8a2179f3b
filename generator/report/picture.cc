#include "generator/report/picture.h"

#include <algorithm>

#include "generator/report/blocks.h"
#include "generator/report/product.h"

namespace kiln {
namespace {

/// Combinations beyond this are not counted.
constexpr int64_t kMaxCombinations = int64_t{1} << 28;

void LimitCells(Picture& picture) {
  while (picture.cells() > kMaxPictureCells) {
    const auto longest = std::max_element(
        picture.sides.begin(), picture.sides.end(),
        [](const PictureSide& a, const PictureSide& b) { return a.cells() < b.cells(); });
    longest->scale *= 2;
  }
  picture.copies.resize(static_cast<size_t>(picture.cells()));
  picture.computed.resize(static_cast<size_t>(picture.cells()));
}

Picture PictureOf(const Kernel& kernel, const Timeline& timeline, size_t operand) {
  const TimelineOperand& of = timeline.operands[operand];
  Picture picture;
  picture.title = of.name;
  picture.operand = static_cast<int>(operand);
  for (size_t d = 0; d < of.dims.size(); ++d) {
    if (of.dims[d].positions <= 1) continue;
    const bool named = of.ref >= 0 && d < kernel[RefId(of.ref)].array.size();
    picture.sides.push_back(
        {named ? kernel[RefId(of.ref)].array[d].ToString() : "", operand, d, of.dims[d].positions});
  }
  LimitCells(picture);
  return picture;
}

PictureSide SideOf(const ProductDim& dim) {
  return {dim.name, dim.operand, dim.dim, dim.positions};
}

bool InOneOperand(const std::vector<Picture>& pictures, const ProductDim& a, const ProductDim& b) {
  return std::any_of(pictures.begin(), pictures.end(), [&](const Picture& picture) {
    const auto has = [&](const ProductDim& dim) {
      return std::any_of(picture.sides.begin(), picture.sides.end(),
                         [&](const PictureSide& side) { return side.name == dim.name; });
    };
    return has(a) && has(b);
  });
}

void AddCombinations(const std::vector<ProductDim>& dims, std::vector<Picture>& pictures) {
  const std::vector<Picture> operands = pictures;
  for (size_t a = 0; a < dims.size(); ++a) {
    for (size_t b = a + 1; b < dims.size(); ++b) {
      const bool drawn = dims[a].axis < 0 && dims[b].axis < 0;
      if (!drawn || InOneOperand(operands, dims[a], dims[b])) continue;
      Picture picture;
      picture.title = dims[a].name + " × " + dims[b].name;
      picture.sides = {SideOf(dims[a]), SideOf(dims[b])};
      LimitCells(picture);
      pictures.push_back(std::move(picture));
    }
  }
}

/// The places of the blocks in the core's memory.
class Places {
 public:
  Places(const Timeline& timeline, const BlocksInPlace& blocks)
      : timeline_(timeline), blocks_(blocks) {}

  /// -1: no block is in place.
  int64_t Along(size_t operand, size_t dim) const {
    const int64_t block = blocks_.At(operand);
    return block < 0 ? -1 : Along(operand, dim, block);
  }
  int64_t Along(size_t operand, size_t dim, int64_t block) const {
    const auto& dims = timeline_.operands[operand].dims;
    for (size_t d = dims.size() - 1; d > dim; --d) block /= dims[d].positions;
    return block % dims[dim].positions;
  }
  int64_t CellOf(const Picture& picture) const {
    int64_t cell = 0;
    for (const PictureSide& side : picture.sides) {
      const int64_t at = Along(side.operand, side.dim);
      if (at < 0) return -1;
      cell = cell * side.cells() + at / side.scale;
    }
    const bool there = !picture.sides.empty() || picture.operand < 0 ||
                       blocks_.At(static_cast<size_t>(picture.operand)) >= 0;
    return there ? cell : -1;
  }
  int64_t CellOf(const Picture& picture, int64_t block) const {
    int64_t cell = 0;
    for (const PictureSide& side : picture.sides)
      cell = cell * side.cells() + Along(side.operand, side.dim, block) / side.scale;
    return cell;
  }

 private:
  const Timeline& timeline_;
  const BlocksInPlace& blocks_;
};

/// Every combination of blocks that some step computes.
class Combinations {
 public:
  explicit Combinations(const std::vector<ProductDim>& dims) : dims_(dims) {
    for (const ProductDim& dim : dims) {
      if (count_ > kMaxCombinations / dim.positions) return;
      count_ *= dim.positions;
    }
    if (!dims.empty()) seen_.resize(static_cast<size_t>(count_));
  }

  bool counted() const { return !seen_.empty(); }
  int64_t count() const { return count_; }
  int64_t computed() const { return computed_; }

  /// `point`: the coordinates of the step.
  void Add(const Places& places, const std::vector<int64_t>& point) {
    int64_t at = 0;
    for (const ProductDim& dim : dims_) {
      const int64_t along =
          dim.axis >= 0 ? point[static_cast<size_t>(dim.axis)] : places.Along(dim.operand, dim.dim);
      if (along < 0) return;
      at = at * dim.positions + along;
    }
    if (seen_[static_cast<size_t>(at)]) return;
    seen_[static_cast<size_t>(at)] = true;
    ++computed_;
  }

 private:
  const std::vector<ProductDim>& dims_;
  int64_t count_ = 1;
  int64_t computed_ = 0;
  std::vector<bool> seen_;
};

void CountCopies(const TimelineCore& core, const TimelineStep& step, const Places& places,
                 std::vector<Picture>& pictures) {
  for (int64_t c = step.first_copy; c < step.first_copy + step.copies; ++c) {
    const BlockCopy& copy = core.copies[static_cast<size_t>(c)];
    for (Picture& picture : pictures) {
      if (picture.operand != copy.operand) continue;
      ++picture.copies[static_cast<size_t>(places.CellOf(picture, copy.block))];
    }
  }
}

/// A step without a dot in a kernel with one only clears, or finishes: nothing of the product.
bool Computes(const StepWork& work, bool has_product) {
  return has_product ? work.flops > 0 : !work.skipped;
}

/// The smallest picture in which the share of cells that are computed is that of the whole.
int PictureOfCoverage(const Coverage& coverage, const std::vector<Picture>& pictures) {
  int best = -1;
  for (size_t p = 0; p < pictures.size(); ++p) {
    const Picture& picture = pictures[p];
    const bool product =
        std::all_of(picture.sides.begin(), picture.sides.end(), [&](const PictureSide& side) {
          const auto& dims = coverage.dims;
          return side.scale == 1 && std::find(dims.begin(), dims.end(), side.name) != dims.end();
        });
    if (!product || picture.sides.empty()) continue;
    const int64_t cells = picture.cells();
    const int64_t computed =
        cells - std::count(picture.computed.begin(), picture.computed.end(), 0);
    const bool complete = computed * (coverage.of / cells) == coverage.computed;
    if (complete && (best < 0 || cells < pictures[static_cast<size_t>(best)].cells()))
      best = static_cast<int>(p);
  }
  return best;
}

}  // namespace

int64_t Picture::cells() const {
  int64_t count = 1;
  for (const PictureSide& side : sides) count = SaturatingMultiply(count, side.cells());
  return count;
}

Pictures MakePictures(const Kernel& kernel, const Timeline& timeline) {
  Pictures made;
  for (size_t o = 0; o < timeline.operands.size(); ++o) {
    const auto kind = timeline.operands[o].kind;
    if (kind == TimelineOperand::Kind::kInput || kind == TimelineOperand::Kind::kOutput)
      made.pictures.push_back(PictureOf(kernel, timeline, o));
  }
  const std::vector<ProductDim> dims = ProductDims(kernel, timeline);
  AddCombinations(dims, made.pictures);
  Combinations combinations(dims);
  made.product = !dims.empty();

  bool complete = true;
  for (const TimelineCore& core : timeline.cores) {
    complete &= core.detailed;
    BlocksInPlace blocks(timeline, core);
    const Places places(timeline, blocks);
    for (const TimelineStep& step : core.steps) {
      blocks.Advance();
      CountCopies(core, step, places, made.pictures);
      if (!Computes(timeline.works[static_cast<size_t>(step.work)], made.product)) continue;
      if (combinations.counted()) combinations.Add(places, timeline.PointOf(step.point));
      for (Picture& picture : made.pictures) {
        const int64_t cell = places.CellOf(picture);
        if (cell < 0) continue;
        ++picture.computed[static_cast<size_t>(cell)];
        if (picture.operand < 0) ++picture.copies[static_cast<size_t>(cell)];
      }
    }
  }
  if (complete && combinations.counted()) {
    Coverage coverage{combinations.computed(), combinations.count(), {}, -1};
    for (const ProductDim& dim : dims) coverage.dims.push_back(dim.name);
    coverage.picture = PictureOfCoverage(coverage, made.pictures);
    made.coverage = std::move(coverage);
  }
  return made;
}

}  // namespace kiln
