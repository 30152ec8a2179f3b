#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace kiln::render {

/// The spec's own view of a kernel, for the head of its source: the grid, and a line for each
/// operand, in columns.
std::vector<std::string> BannerLines(const Plan& plan);

}  // namespace kiln::render
