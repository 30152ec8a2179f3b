#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Rows of lanes that go through turns, one after the other, are computed four at a time: turns of
/// one row wait for each other, and rows share what they read. So are rows of lanes that share most
/// of their windows, of which each element is read once for four.
void TakeFourRows(Plan& plan);

}  // namespace kiln
