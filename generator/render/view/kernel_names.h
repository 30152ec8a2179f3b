#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/render/print/cpp.h"

namespace kiln::render {

/// What a kernel's things are called in its text: as in the spec where that is free.
struct KernelNames {
  Scope scope;
  std::vector<std::string> buffers;  // by buffer; operands first, as refs
  std::vector<std::string> panels;
  std::vector<std::string> lives;  // the depth that is packed, by the panels of A
  std::vector<std::string> axes;
  std::vector<std::string> dims;
};

KernelNames NamesOf(const Plan& plan);

}  // namespace kiln::render
