#include "generator/render/view/kernel_names.h"

#include "generator/plan/walk.h"

namespace kiln::render {

KernelNames NamesOf(const Plan& plan) {
  const Kernel& kernel = *plan.kernel;
  KernelNames names;
  names.scope.New(kernel.name);  // the function, which an argument of this name would hide
  for (const Ref& ref : kernel.refs) names.buffers.push_back(names.scope.New(ref.name));
  for (const Param& param : kernel.params) names.params.push_back(names.scope.New(param.name));
  for (const Dim& dim : kernel.dims) names.dims.push_back(names.scope.New(dim.name));
  for (const Axis& axis : kernel.axes) names.axes.push_back(names.scope.New(axis.name));
  for (const Buffer& buffer : plan.buffers) {
    if (!buffer.ref || buffer.found) names.buffers.push_back(names.scope.New(buffer.name));
  }
  for (size_t p = 0; p < plan.panels.size(); ++p)
    names.panels.push_back(names.scope.Numbered("panels"));
  names.lives.resize(plan.panels.size());
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* pack = As<stage::Pack>(stage);
      if (!pack || !pack->live || pack->live != pack->panels) return;
      std::string& live = names.lives[pack->live];
      if (live.empty()) live = names.scope.Numbered("live");
    });
  }
  return names;
}

}  // namespace kiln::render
