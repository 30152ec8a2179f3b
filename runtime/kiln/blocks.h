// How large Direct makes blocks whose size changes no result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kiln/types.h"

namespace kiln {

/// Of an elementwise kernel: as long as may be, since memory and its prefetchers like long rows,
/// but no longer than what a core's L2 holds of a few operands. `inner` elements go with each
/// index.
inline int64_t PassSize(int64_t extent, int64_t inner = 1) {
  constexpr int64_t kElements = int64_t{64} << 10;
  return std::clamp(kElements / std::max(inner, int64_t{1}), int64_t{1},
                    std::max(extent, int64_t{1}));
}

/// Of a dot's columns: no more than a core's share, so that small products have work for all, in
/// whole panels of any vector length.
inline int64_t ShareOf(int64_t extent, int64_t cores, int64_t most) {
  constexpr int64_t kPanel = 64;
  return std::clamp(RoundUp(DivUp(extent, cores), kPanel), kPanel, std::max(most, kPanel));
}

}  // namespace kiln
