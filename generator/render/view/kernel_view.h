#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/render/render.h"
#include "generator/render/template/template.h"

namespace kiln::render {

/// Everything that the templates of a kernel's header and source name. `specializations`: the plan
/// of the base, then that of each variant.
Fields MakeView(const std::vector<std::unique_ptr<Plan>>& specializations, const SpecName& spec);

}  // namespace kiln::render
