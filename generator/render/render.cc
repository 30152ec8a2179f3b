#include "generator/render/render.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "generator/front/utf8.h"
#include "generator/plan/plan.h"
#include "generator/render/kernel_view.h"
#include "generator/render/template.h"

namespace kiln {

const std::string& GeneratedName(const Kernel& kernel) {
  return kernel.instance.empty() ? kernel.name : kernel.instance;
}

namespace {

/// The call checks arguments once and hands them to whichever form it chooses.
bool HaveSameArguments(const Kernel& a, const Kernel& b) {
  const auto same = [](const Ref& x, const Ref& y) {
    return x.name == y.name && x.role == y.role && x.dtype == y.dtype && x.view_of == y.view_of &&
           x.array.size() == y.array.size();
  };
  const auto same_dim = [](const Dim& x, const Dim& y) { return x.name == y.name; };
  return std::equal(a.refs.begin(), a.refs.end(), b.refs.begin(), b.refs.end(), same) &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), same_dim);
}

/// The plan of the base, then that of each variant.
bool PlanForms(const Kernel& kernel, Diagnostics& diagnostics,
               std::vector<std::unique_ptr<Plan>>* forms) {
  forms->push_back(MakePlan(kernel, diagnostics));
  for (const Variant& variant : kernel.variants) {
    if (!HaveSameArguments(kernel, *variant.kernel)) {
      diagnostics.Add({Severity::kError,
                       "tier",
                       variant.span,
                       "not supported yet: a variant with other arguments in generated code",
                       "let variants set sizes of blocks; make instances for the rest",
                       {},
                       variant.lock});
      return false;
    }
    forms->push_back(MakePlan(*variant.kernel, diagnostics));
  }
  return std::all_of(forms->begin(), forms->end(),
                     [](const auto& plan) { return plan != nullptr; });
}

}  // namespace

bool Render(const Kernel& kernel, std::string_view spec_file, Diagnostics& diagnostics,
            Generated* out) {
  std::vector<std::unique_ptr<Plan>> forms;
  if (!PlanForms(kernel, diagnostics, &forms)) return false;
  const render::Fields view = render::MakeView(forms, OneLine(spec_file));
  out->header = render::Templates().Render("kernel.h", view);
  out->source = render::Templates().Render("kernel.cc", view);
  return true;
}

}  // namespace kiln
