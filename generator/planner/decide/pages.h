#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Whether a copy moves elements of an array that nobody writes during the call.
bool IsFromInput(const Plan& plan, const stage::Copy& copy);

/// Finds scratch that nothing but copies from inputs sets, and nothing but few rows of dots may
/// read: Direct leaves what is copied there in the arrays, a page of which is where it is for as
/// long as the call lasts.
void FindPages(Plan& plan);

}  // namespace kiln
