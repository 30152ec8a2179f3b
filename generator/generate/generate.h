#pragma once

#include "generator/render/render.h"

namespace kiln {

/// Kernel to C++ by way of its plans. False after an error, which is among the diagnostics.
bool Generate(const Kernel& kernel, const SpecName& spec, Diagnostics& diagnostics, Generated* out);

}  // namespace kiln
