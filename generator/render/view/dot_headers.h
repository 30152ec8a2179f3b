#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace kiln::render {

/// Headers of the runtime that the text of dots needs, all specializations together. A kernel is
/// compiled once for each instruction set, and others would be read each time: a sum of two arrays
/// takes an eighth less without those of dots.
std::vector<std::string> DotHeaders(const std::vector<std::unique_ptr<Plan>>& plans);

}  // namespace kiln::render
