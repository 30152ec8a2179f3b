#pragma once

#include <optional>

#include "generator/plan/plan.h"

namespace kiln {

/// A B that is computed from elements of few bits: what an input has, each times a scale that it
/// shares with all of its column, or with those in the same run of so many rows.
struct Scaled {
  Place stored;
  ElementPtr scale;  // null: 1
  int64_t run = 0;   // 0: all rows are one
};

/// What a pack computes as that, if a float of its type holds each element that is stored.
std::optional<Scaled> ScaledBy(const Plan& plan, const stage::Pack& pack);

}  // namespace kiln
