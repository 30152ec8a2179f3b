#pragma once

#include <cstdint>

namespace kiln {

/// The size of a core's cache of level 2 or 3; 0: nobody says. Linux knows what a core shares with
/// others; what the C library says may be the sum over all chips.
int64_t CacheBytes(int level);

}  // namespace kiln
