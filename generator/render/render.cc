#include "generator/render/render.h"

#include "generator/plan/plan.h"
#include "generator/render/kernel_view.h"
#include "generator/render/template.h"

namespace kiln {

const std::string& GeneratedName(const Kernel& kernel) {
  return kernel.instance.empty() ? kernel.name : kernel.instance;
}

bool Render(const Kernel& kernel, std::string_view spec_file, Diagnostics& diagnostics,
            Generated* out) {
  const std::unique_ptr<Plan> plan = MakePlan(kernel, diagnostics);
  if (!plan) return false;
  const render::Fields view = render::MakeView(*plan, spec_file);
  out->header = render::Templates().Render("kernel.h", view);
  out->source = render::Templates().Render("kernel.cc", view);
  return true;
}

}  // namespace kiln
