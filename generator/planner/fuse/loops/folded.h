#pragma once

#include <cstdint>
#include <optional>

#include "generator/plan/plan.h"

namespace kiln {

/// The constant that integer arithmetic, a comparison or a cast of constants comes to, and what a
/// constant condition chooses; null: it stays as it is.
ElementPtr Folded(const Element& e);

/// The constant that an element is, if it is an integer or a bool.
std::optional<int64_t> IntegerOf(const ElementPtr& e);

}  // namespace kiln
