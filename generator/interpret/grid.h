#pragma once

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

/// 0 … count-1 in an order that the seed decides.
std::vector<int64_t> ShuffledOrder(int64_t count, uint64_t seed);

}  // namespace kiln::interpret
