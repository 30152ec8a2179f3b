#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Lanes that are short rows, of which all elements are stored, store them side by side at once.
void StoreShortRows(Plan& plan);

}  // namespace kiln
