#pragma once

#include <optional>
#include <string>

#include "generator/bind/bind.h"

namespace kiln {

/// How far two right answers may be apart, because sums are taken in another order and roundings
/// fall elsewhere.
struct Tolerance {
  double relative =
      0;  // of each element (of powers of two, the larger): the last rounding of either
  double magnitude = 0;  // of the largest element: what sums and intermediate roundings carry
  double absolute = 0;   // of integers
};

/// For one output of the kernel at these sizes, from what the body does: the roundings along its
/// longest chain of operations, and the types it passes through. Integers and bools are exact,
/// unless the kernel makes integers of floats.
Tolerance ToleranceOf(const Binding& binding, const Ref& output);

struct Difference {
  int64_t elements = 0;     // that are further apart than allowed
  double worst = 0;         // the distance that takes most of what is allowed, or too much
  double allowed = 0;       // at the worst element
  std::string where;        // "[3, 7]"
  std::string description;  // a sentence; empty: all within the tolerance
};

/// Element by element. NaN equals NaN, an infinity itself; `want` may be of a wider float type.
Difference Compare(const Array& got, const Array& want, const Tolerance& tolerance);

}  // namespace kiln
