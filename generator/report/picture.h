#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/ir/kernel.h"
#include "generator/predict/steps/timeline.h"
#include "generator/text/integer.h"

namespace kiln {

/// One dimension of a picture: the places of an operand's blocks along a dimension of its array.
struct PictureSide {
  std::string name;  // the dimension's extent: "m"
  size_t operand = 0;
  size_t dim = 0;
  int64_t positions = 1;
  int64_t scale = 1;  // positions that one cell stands for

  int64_t cells() const { return CeilDivide(positions, scale); }
};

/// An array in blocks, or the combinations of two dimensions that no operand has together: what a
/// block-sparse operand would be if it were dense.
struct Picture {
  std::string title;
  int operand = -1;                // -1: a combination
  std::vector<PictureSide> sides;  // major first; none: a single block
  // By cell, row-major:
  std::vector<int64_t> copies;    // of an operand's blocks, in or out; a combination: its steps
  std::vector<int64_t> computed;  // steps that compute something there

  int64_t cells() const;  // saturates
};

/// How much of a dense product the run computes.
struct Coverage {
  int64_t computed = 0;  // combinations of blocks
  int64_t of = 0;
  std::vector<std::string> dims;  // of the product
  int picture = -1;               // the one that shows it all, if there is one
};

struct Pictures {
  std::vector<Picture> pictures;
  bool product = false;              // there are dots: a step without them computes nothing
  std::optional<Coverage> coverage;  // none: no product, or not every step is known
};

/// No picture has more cells than this: each then stands for several blocks.
inline constexpr int64_t kMaxPictureCells = int64_t{1} << 16;

Pictures MakePictures(const Kernel& kernel, const Timeline& timeline);

}  // namespace kiln
