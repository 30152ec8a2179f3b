#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A nest that adds up rows moves behind the last nest before it that walks over the same rows and
/// has to do with the same elements, so that both become one: the elements are then read once, and
/// those that a row makes need no memory but a row's.
void BringSumsToRows(const Plan& plan, Stages& stages);

}  // namespace kiln
