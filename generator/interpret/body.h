#pragma once

#include "generator/interpret/run.h"

/// Statements.
namespace kiln::interpret {

void Execute(Run& run, const Actions& actions);

}  // namespace kiln::interpret
