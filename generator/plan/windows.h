#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "generator/plan/element.h"

/// Parts of arrays that statements name as a whole.
namespace kiln {

/// What a manual copy moves: so many elements of a buffer, or of an array in HBM, from `begin` on.
struct CopyWindow {
  struct Dimension {
    Size size;
    bool point = false;
    ElementPtr count = nullptr;  // of which only the step knows how many, `size` being the most

    friend bool operator==(const Dimension&, const Dimension&) = default;
  };
  Place begin;
  std::vector<Dimension> dimensions;
};

struct SemaphoreSlot {
  RefId ref;
  std::vector<ElementPtr> at;  // one a dimension of the semaphores
};

/// What iteration i of a loop sees of a block along one axis of its view: elements from
/// i * step + first to i * step + last.
struct EdgeWindow {
  size_t axis = 0;
  LoopId loop;
  int64_t step = 1, first = 0, last = 0;
  LoopId until = {};  // the last of two iterations that are taken together, if `loop` is the first
  int64_t together = 4;  // along: so many iterations are, or one
};

}  // namespace kiln
