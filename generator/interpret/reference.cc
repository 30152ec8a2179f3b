#include "generator/interpret/reference.h"

#include "generator/interpret/interpret.h"

namespace kiln {
namespace {

InterpretOptions Exactly() {
  InterpretOptions options;
  options.wide = true;
  return options;
}

}  // namespace

ReferenceRun::ReferenceRun(const Binding& binding, const Inputs& inputs, Diagnostics& diagnostics)
    : inputs_(inputs) {
  const Kernel& kernel = *binding.kernel;
  // An output that was given only gave its shape, and its type is another here.
  for (const Ref& ref : kernel.refs) {
    if (ref.role == Role::kOutput) inputs_.arrays.erase(ref.name);
  }
  for (size_t d = 0; d < kernel.dims.size(); ++d) {
    if (binding.dims[d] && !kernel.dims[d].fixed)
      inputs_.dims[kernel.dims[d].name] = *binding.dims[d];
  }
  binding_ = Bind(*kernel.reference, inputs_, /*partial=*/false, diagnostics);
}

Demand ReferenceRun::Needs() const {
  return binding_ ? InterpretDemand(*binding_, Exactly()) : Demand{};
}

std::map<std::string, Array> ReferenceRun::Run(Diagnostics& diagnostics) const {
  if (!binding_ || diagnostics.HasErrors()) return {};
  auto outputs = Interpret(*binding_, inputs_.arrays, Exactly(), diagnostics).outputs;
  std::erase_if(outputs, [&](const auto& output) {
    const Actions& body = binding_->kernel->body;
    return std::none_of(body.begin(), body.end(), [&](const Action& action) {
      const auto& store = std::get<action::Store>(action.what);
      return (*binding_->kernel)[RefId(store.ref)].name == output.first;
    });
  });
  return outputs;
}

}  // namespace kiln
