#pragma once

#include "tests/random/draft.h"

namespace kiln::soak {

/// The draft with something changed that no result may depend on: how deep pipelines are, the order
/// of parallel axes, what axes are called, the size of a block that is only walked. Which of them,
/// its number decides. It knows what it comes from, and is judged by what that computes.
Draft Varied(const Draft& draft, uint64_t number);

}  // namespace kiln::soak
