#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// What is worth a prefetch before it is read or written.
///
/// What the tiles of dots read and write at their end, so that they can prefetch it as they begin:
/// a tile takes longer than memory does, and the rows of a tile are too far apart for the hardware
/// to see them coming. Scratch is left out, since it is in a cache.
///
/// The next row of an input, where a row is worked on in several passes: memory would rest while
/// the later ones work in the caches.
///
/// Later lanes of inputs, where one pass makes of them what goes past the caches: the hardware does
/// not see beyond a page.
void FindPrefetches(Plan& plan);

}  // namespace kiln
