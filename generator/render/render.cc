#include "generator/render/render.h"

namespace kiln {

const std::string& GeneratedName(const Kernel& kernel) {
  return kernel.instance.empty() ? kernel.name : kernel.instance;
}

bool Render(const Kernel& kernel, std::string_view, Diagnostics& diagnostics, Generated*) {
  const Span span = kernel.body.empty() ? Span{} : kernel.body.front().span;
  diagnostics.Error("generate", span, "not supported yet: generating kernels");
  return false;
}

}  // namespace kiln
