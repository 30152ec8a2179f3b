#pragma once

#include <cmath>

#include "generator/data/dtype.h"

/// What random arrays and the facts about values need to know of a float type.
namespace kiln::soak {

/// Bits of its significand.
inline int PrecisionOf(DType dtype) { return RowOf(dtype).mantissa + 1; }

/// The greatest number that is finite.
inline double LargestFinite(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  if (row.powers) return GreatestFloat(dtype);
  const int bias = (1 << (row.exponent - 1)) - 1;
  // Without infinities the greatest exponent has numbers, too, and one NaN above them.
  return row.infinite ? std::ldexp(2 - std::ldexp(1, -row.mantissa), bias)
                      : std::ldexp(2 - std::ldexp(1, 1 - row.mantissa), bias + 1);
}

/// The smallest subnormal.
inline double SmallestPositive(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  if (row.powers) return LeastFloat(dtype);
  return std::ldexp(1, 2 - (1 << (row.exponent - 1)) - row.mantissa);
}

}  // namespace kiln::soak
