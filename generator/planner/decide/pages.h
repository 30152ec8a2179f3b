#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Finds scratch that nothing but copies from inputs sets, and nothing but few rows of dots may
/// read: Direct leaves what is copied there in the arrays, a page of which is where it is for as
/// long as the call lasts.
void FindPages(Plan& plan);

}  // namespace kiln
