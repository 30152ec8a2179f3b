#pragma once

#include <cstdint>

#include "generator/interpret/tiles/origin.h"
#include "generator/ir/kernel.h"

namespace kiln::interpret {

/// What an elementwise operation means, as loops over arrays. Arguments that the operation does
/// not have are null.
struct Meaning {
  using FloatLoop = void (*)(int64_t n, const double* const* args, double* to);
  using IntLoop = void (*)(int64_t n, const int64_t* const* args, int64_t* to);
  using TestLoop = void (*)(int64_t n, const double* const* args, int64_t* to);

  FloatLoop floats = nullptr;  // floats to a float
  IntLoop ints = nullptr;      // integers or bools to an integer or bool
  TestLoop tests = nullptr;    // floats to a bool
  /// The second arguments for which integers have no value; null: none.
  bool (*no_value)(int64_t) = nullptr;
  Origin::Kind why = Origin::Kind::kDivision;
};

/// The bool that decides an operation of bools alone, whatever the other arguments are, undefined
/// ones included; null: none does.
const int64_t* DecidingBool(Op op);

/// The entry of an elementwise operation on arguments of a dtype; null for all other operations.
const Meaning* MeaningOf(Op op, DType argument);

/// Whether an operation of 64-bit index arithmetic overflows.
bool Overflows(Op op, int64_t a, int64_t b);

}  // namespace kiln::interpret
