#pragma once

#include "tests/random/make/maker.h"

namespace kiln::soak {

/// The draft with something changed that no result may depend on: how deep pipelines are, the order
/// of parallel axes, what axes are called, the size of a block that is only walked. Which of them,
/// its number decides, or the focus. It knows what it comes from, and is judged by what that
/// computes.
Draft Varied(const Draft& draft, uint64_t number, const Focus& focus);

}  // namespace kiln::soak
