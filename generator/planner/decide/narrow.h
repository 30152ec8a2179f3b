#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// A value of floats that only dots of bf16 read, as their A, is kept as bf16: it is rounded where
/// it is computed, and not read, rounded and stored again.
void NarrowValues(Plan& plan);

}  // namespace kiln
