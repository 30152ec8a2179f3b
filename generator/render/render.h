#pragma once

#include <string>
#include <string_view>

#include "generator/front/kernel.h"

namespace kiln {

/// The text of one generated kernel: NAME.h and NAME.cc.
struct Generated {
  std::string header;
  std::string source;
};

/// The name of a kernel in C++, in C and of its files: that of the instance, if it is one.
const std::string& GeneratedName(const Kernel& kernel);

/// Kernel to C++. `spec_file` is how comments call the spec: its file name without folders, so that
/// the text does not depend on where it is generated. False when something was reported.
bool Render(const Kernel& kernel, std::string_view spec_file, Diagnostics& diagnostics,
            Generated* out);

}  // namespace kiln
