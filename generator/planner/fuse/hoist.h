#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// What stays the same through a nest gets a name in front of it: elements of prefetch arrays, and
/// whatever divides or calls a function. A nest takes every step, so nothing is read that the spec
/// does not read; what stands under a condition stays there.
void HoistConstants(Plan& plan);

/// The middle of `a <= x < b` gets a name, so that it is computed, and written, once.
void NameMiddles(Plan& plan);

}  // namespace kiln
