#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A block of an input that a body keeps as f32, such as `let v = f32(x)` of an image of bf16 over
/// which several nests go, is widened again where they read it: half of the bytes come from the
/// caches, and none have to go there. Rows, which stay in the L1, are widened once.
void WidenWhereRead(Plan& plan, Stages& stages);

}  // namespace kiln
