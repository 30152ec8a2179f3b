#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan/plan.h"

namespace kiln {

/// The text of one generated kernel: NAME.h and NAME.cc.
struct Generated {
  std::string header;
  std::string source;
};

/// Plans to C++: that of the kernel, then those of its variants. `spec_file` is how comments call
/// the spec: its file name without folders, so that the text does not depend on where it is
/// generated.
Generated Render(const std::vector<std::unique_ptr<Plan>>& plans, std::string_view spec_file);

}  // namespace kiln
