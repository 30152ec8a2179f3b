#include "generator/bind/bind.h"

#include <limits>

#include "generator/bind/binder.h"

namespace kiln {

int64_t Binding::StepCount() const {
  if (!kernel || steps.size() != kernel->axes.size()) return -1;
  int64_t count = 1;
  bool overflow = false;
  for (const int64_t n : steps) {
    if (n == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(count, n, &count);
  }
  return overflow ? std::numeric_limits<int64_t>::max() : count;
}

std::optional<Binding> Bind(const Kernel& kernel, const Inputs& inputs, bool partial,
                            Diagnostics& diagnostics) {
  Binder binder(kernel, inputs, partial, diagnostics);
  binder.BindArguments();
  binder.RunPrepare();
  binder.BindSizes();
  if (binder.useless()) return std::nullopt;
  return binder.Take();
}

int ChooseVariant(const Kernel& kernel, const Inputs& inputs) {
  Diagnostics ignored;  // Bind reports them, for the variant that is chosen
  Binder binder(kernel, inputs, true, ignored);
  binder.BindArguments();
  for (size_t i = 0; i < kernel.variants.size(); ++i) {
    const NodePtr& when = kernel.variants[i].when;
    if (!when) return static_cast<int>(i);
    const EvalResult holds = Evaluate(*when, binder.binding(), nullptr);
    if (holds.fault == EvalFault::kNone && holds.value != 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace kiln
