#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// What the tiles of dots read and write at their end, so that they can ask for it as they begin: a
/// tile takes longer than memory does, and the rows of a tile are too far apart for the hardware to
/// see them coming. Scratch is left out, since it is in a cache.
void FindPrefetches(Plan& plan);

}  // namespace kiln
