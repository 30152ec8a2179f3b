#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Rows of lanes that go through turns, one after the other, are computed four at a time: turns of
/// one row wait for each other, and rows share what they read.
void TakeFourRows(Plan& plan);

}  // namespace kiln
