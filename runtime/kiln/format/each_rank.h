#pragma once

#include "kiln/core/tensor.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {
static_assert(kMaxRank == 8, "KILN_FOR_EACH_RANK has a line for each");
}

/// What `operands.cc` of both machines compiles once for each rank that an operand may have.
#define KILN_FOR_EACH_RANK(INSTANTIATE) \
  INSTANTIATE(0);                       \
  INSTANTIATE(1);                       \
  INSTANTIATE(2);                       \
  INSTANTIATE(3);                       \
  INSTANTIATE(4);                       \
  INSTANTIATE(5);                       \
  INSTANTIATE(6);                       \
  INSTANTIATE(7);                       \
  INSTANTIATE(8)
