#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/data/array.h"
#include "generator/ir/kernel.h"

namespace kiln {

/// What index expressions may look at: of a call all of it, of a kernel alone its fixed dimensions.
struct Environment {
  const Kernel* kernel = nullptr;
  std::vector<std::optional<int64_t>> dims;  // by Kernel::dims; none: not known
  std::vector<int64_t> steps;                // by axis; empty unless all are known
  std::vector<const Array*> host;            // by ref: prefetch, scalar, argument values, or null
};

/// Why an index expression has no value.
enum class EvalFault { kNone, kUnknown, kOverflow, kDivideByZero, kHostRange };

struct EvalResult {
  int64_t value = 0;
  EvalFault fault = EvalFault::kNone;
  Span span;           // of the subexpression at fault
  int ref = -1;        // kHostRange: the prefetch array
  int64_t at = 0;      // kHostRange: the offending subscript …
  int64_t extent = 0;  // … and its limit
  int dimension = 0;   // … along this dimension
};

/// Evaluates an index (or body integer/bool) scalar over dims, steps, host values and the given
/// axis coordinates (may be null when no axis can occur). Anything else is kUnknown.
EvalResult Evaluate(const Node& node, const Environment& environment, const int64_t* axes);
std::optional<int64_t> Evaluate(const Size& size, const Environment& environment);

}  // namespace kiln
