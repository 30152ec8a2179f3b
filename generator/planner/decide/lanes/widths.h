#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// What loops by vectors take at a time. One element of 64 bits makes all of a pass's lanes as
/// wide. Where bf16 are most of what a pass loads and stores, and all of it are neighbours, it
/// takes the even lanes of a line and then its odd ones (runtime/kiln/simd/even_odd-inl.h).
void FindVectors(Plan& plan);

}  // namespace kiln
