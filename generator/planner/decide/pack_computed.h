#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// An operand of a dot whose elements a nest computes for nothing but to be packed, such as
/// dequantised weights, is packed as it is computed: its values never are in memory as a whole.
void PackComputed(Plan& plan);

}  // namespace kiln
