#pragma once

#include <string>

#include "tests/random/batch_run.h"

namespace kiln::soak {

/// Writes the spec of a failure, its arrays and the command that shows it; returns the folder.
std::string Keep(const Draft& draft, const Result& result, const std::string& folder);

}  // namespace kiln::soak
