#pragma once

#include "generator/interpret/run.h"

/// Statements.
namespace kiln::interpret {

void Execute(Run& run, const std::vector<Action>& actions);

}  // namespace kiln::interpret
