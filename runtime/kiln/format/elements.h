// What the library has to know of elements whose type it does not: their size, what undefined ones
// hold, and how to find those.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kiln/core/poison.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI::internal {

struct ElementType {
  size_t bits;
  bool marks_undefined;  // whether an element's bits show that it is undefined
  Poison64 poison[3];    // by Hole
  /// The first of `count` elements side by side that is undefined, or null.
  const void* (*find_poison)(const void* data, int64_t count);
  /// Of an element that is undefined.
  Hole (*hole_of)(const void* element);

  const Poison64& poison_of(Hole hole) const { return poison[static_cast<int>(hole)]; }
};

/// By Dtype.
const ElementType& ElementTypeOf(Dtype dtype);

template <typename T>
const ElementType& ElementTypeOf() {
  return ElementTypeOf(kDtypeOf<T>);
}

}  // namespace kiln::inline KILN_ABI::internal
