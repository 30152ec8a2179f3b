#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/bind/bind.h"

namespace kiln {

/// constant + sum of factors[a] * coordinate along axis a.
struct Affine {
  int64_t constant = 0;
  std::vector<int64_t> factors;  // by axis
};

/// The form of an index expression, if it has this one.
std::optional<Affine> AffineOf(const Node& node, const Binding& binding);

}  // namespace kiln
