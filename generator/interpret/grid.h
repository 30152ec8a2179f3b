#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/interpret/run.h"

namespace kiln::interpret {

/// Makes `step` the current one.
void SetStep(Run& run, int64_t step);
std::vector<int64_t> PointOf(const Run& run, int64_t step);

/// "(i=1, j=0)", and " at grid point (i=1, j=0)" of the current step; empty without axes.
std::string PointText(const Run& run, int64_t step);
std::string AtPoint(const Run& run);

/// The parallel coordinates in the order of their visits: 0, 1, … or shuffled by a seed.
std::vector<int64_t> ParallelOrder(int64_t count, std::optional<uint64_t> shuffle);

}  // namespace kiln::interpret
