#pragma once

#include "generator/bind/bind.h"

namespace kiln {

/// [tpu]: what a real TPU's compiler refuses although the language allows it: block shapes whose
/// last two dimensions are neither multiples of the native tile nor the array's own, dtypes and
/// operations that it does not lower. With a binding, run-time extents are known too.
void CheckTpuRules(const Kernel& kernel, const Binding* binding, Diagnostics& diagnostics);

}  // namespace kiln
