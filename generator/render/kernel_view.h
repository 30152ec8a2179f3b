#pragma once

#include <string>
#include <string_view>

#include "generator/plan/plan.h"
#include "generator/render/template.h"

namespace kiln::render {

/// Everything that the templates of a kernel's header and source name.
Fields MakeView(const Plan& plan, std::string_view spec_file);

}  // namespace kiln::render
