#pragma once

#include <filesystem>
#include <string>

#include "generator/native/cache/cache.h"

namespace kiln {

/// What all kernels include, as the compiler has read it: that is half of what compiling a small
/// kernel takes. It is kept in the cache folder as an entry of its own, of a hundred megabytes with
/// GCC, and made along with the second kernel that a toolchain compiles, as it takes longer than
/// one kernel gains. The path of a header to be included first; empty: there is none, as it is
/// being made by another program, cannot be made, or would fill the cache.
std::string FindHeaders(const std::filesystem::path& folder, const Toolchain& tools, double limit,
                        const CompileOptions& options);

/// Removes one with which something does not compile that does without it.
void RemoveHeaders(const std::string& path);

}  // namespace kiln
