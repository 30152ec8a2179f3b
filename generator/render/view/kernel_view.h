#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/render/template/template.h"

namespace kiln::render {

/// Everything that the templates of a kernel's header and source name. `specializations`: the plan
/// of the base, then that of each variant.
Fields MakeView(const std::vector<std::unique_ptr<Plan>>& specializations,
                std::string_view spec_file);

}  // namespace kiln::render
