#pragma once

#include <string_view>

#include "generator/plan/element.h"

/// How each operation of the body is spelt, by its row in ir/operations.def.
namespace kiln::render {

/// The function for vectors (Highway's own with `hn::`) whose lanes are of this dtype; empty: not
/// an operation of values.
std::string_view VectorFunction(Op op, DType dtype);

/// That of a function whose result is rounded to `to` next: it may have a form that is faster and
/// exact enough for that. Empty: none.
std::string_view FunctionForRounding(Op op, DType to);

/// Infix for scalars, with C++'s precedence; else a function.
struct ScalarSpelling {
  std::string_view function;
  std::string_view infix;
  int precedence = 0;
};
ScalarSpelling SpellScalar(Op op, DType dtype);

/// The runtime's reduction over lanes: "SumLanes".
std::string_view LaneReduction(Op op);
/// What the runtime's loop with several reductions calls it: "SumOf".
std::string_view FoldOfLanes(Op op);
/// The runtime's function along a line: "SortLine", or of lines side by side: "SortLines".
std::string LineFunction(Op op, bool side_by_side);

constexpr int kTernaryPrecedence = 1;
constexpr int kUnaryPrecedence = 20;
constexpr int kCallPrecedence = 30;

}  // namespace kiln::render
