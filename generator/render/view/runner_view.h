#pragma once

#include "generator/plan/plan.h"
#include "generator/render/template/template.h"

namespace kiln::render {

/// What the template of a kernel's runner names: the kernel's arguments and sizes, as tables.
Fields MakeRunnerView(const Plan& plan);

}  // namespace kiln::render
