#pragma once

#include <string>

namespace kiln::fuzz {

/// Adds runs, a line each as `./dev fuzz` writes them, to tests/fuzz/record.json, and empties the
/// file, so that none counts twice. Also says there how large each corpus is now, and how many
/// diagnostics are kept as regressions.
void AddToRecord(const std::string& runs);

}  // namespace kiln::fuzz
