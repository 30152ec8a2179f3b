#pragma once

#include <string>

#include "generator/bind/bind.h"

namespace kiln::soak {

/// A kernel with the sizes of a call as a Python function, "def spec_17(a):", which takes arrays by
/// name and returns the outputs by name: a `pallas_call` that JAX interprets, and by hand what
/// Pallas has no word for. Throws CannotSay.
std::string WritePallas(const Binding& binding, const std::string& function);

}  // namespace kiln::soak
