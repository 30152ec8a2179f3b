#include "generator/render/render.h"

#include "generator/render/print/wrap.h"
#include "generator/render/template/template.h"
#include "generator/render/view/kernel_view.h"
#include "generator/render/view/runner_view.h"
#include "generator/text/utf8.h"

namespace kiln {

Generated Render(const std::vector<std::unique_ptr<Plan>>& plans, const SpecName& spec) {
  const render::Fields view = render::MakeView(plans, spec);
  const auto text = [&](const char* name) {
    return render::WrapLines(render::Templates().Render(name, view));
  };
  return {text("kernel.h"), text("kernel.cc"),
          render::WrapLines(
              render::Templates().Render("runner.cc", render::MakeRunnerView(*plans[0])))};
}

}  // namespace kiln
