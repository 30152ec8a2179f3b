#pragma once

#include <string>
#include <vector>

#include "generator/ir/kernel.h"
#include "generator/predict/steps/timeline.h"

namespace kiln {

/// A dimension of the product that a kernel computes, as the blocks of one operand cut it; or an
/// axis that goes along a list, as of a sequence's pages.
struct ProductDim {
  std::string name;  // as the spec has it: "m"
  size_t operand = 0;
  size_t dim = 0;
  int64_t positions = 1;
  int axis = -1;  // of Timeline::axes: no operand has the dimension
};

/// The dimensions of a dense kernel's work in blocks: those of its outputs and of what its dots
/// read. The steps of a dense kernel visit every combination of them, those of a block-sparse one
/// leave some out, and that is true whether its grid is a list of blocks or guarded by conditions.
/// Dimensions that only count the entries of a prefetched list are left out, as the list says
/// where its entries belong; so are batches of an input whose place follows from the others: a head
/// of keys belongs to its heads of queries, a group's weights to its rows, and no kernel would
/// multiply them by other ones. Empty for a kernel without dots.
std::vector<ProductDim> ProductDims(const Kernel& kernel, const Timeline& timeline);

}  // namespace kiln
