#include "generator/render/render.h"

#include "generator/render/template/template.h"
#include "generator/render/view/kernel_view.h"
#include "generator/text/utf8.h"

namespace kiln {

Generated Render(const std::vector<std::unique_ptr<Plan>>& plans, std::string_view spec_file) {
  const render::Fields view = render::MakeView(plans, OneLine(spec_file));
  return {render::Templates().Render("kernel.h", view),
          render::Templates().Render("kernel.cc", view)};
}

}  // namespace kiln
