#pragma once

#include <cstdint>
#include <vector>

#include "generator/bind/bind.h"

namespace kiln {

/// What something takes of a core's VMEM (in native tiles) or SMEM (in words).
struct MemoryUser {
  int ref = -1;
  std::vector<int64_t> shape;    // of one buffer
  std::vector<bool> adjustable;  // an extent that the spec chose, not the array
  int64_t copies = 1;            // buffers
  int64_t bytes = 0;             // of all of them; saturates
};

/// Everything that is in the memory, as far as the sizes are known.
std::vector<MemoryUser> MemoryUsers(const Binding& binding, Memory memory);

}  // namespace kiln
