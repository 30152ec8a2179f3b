#pragma once

#include <cstdint>

#include "generator/ir/evaluate.h"

namespace kiln {

/// The integer or bool operation of `node` in 64 bits, on the values of its arguments; `out` has
/// wrapped around where `overflow` is set. A fault: there is no value, or it is not one of these.
EvalFault UnaryInteger(const Node& node, int64_t a, int64_t& out, bool& overflow);
EvalFault BinaryInteger(const Node& node, int64_t a, int64_t b, int64_t& out, bool& overflow);

}  // namespace kiln
