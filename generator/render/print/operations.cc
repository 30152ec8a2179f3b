#include "generator/render/print/operations.h"

namespace kiln::render {

std::string_view VectorFunction(Op op, DType dtype) {
  const CppSpelling& cpp = RowOf(op).cpp;
  if (dtype == DType::kBool && !cpp.vector_of_bools.empty()) return cpp.vector_of_bools;
  if (IsFloat(dtype) && !cpp.vector_of_floats.empty()) return cpp.vector_of_floats;
  return cpp.vector.empty() ? cpp.function : cpp.vector;
}

std::string_view FunctionForRounding(Op op, DType to) {
  return to == DType::kBF16 ? RowOf(op).cpp.for_bf16 : "";
}

ScalarSpelling SpellScalar(Op op, DType dtype) {
  const CppSpelling& cpp = RowOf(op).cpp;
  if (dtype == DType::kBool && !cpp.infix_of_bools.empty())
    return {"", cpp.infix_of_bools, cpp.precedence};
  // Integers of the body wrap; index arithmetic was checked over the whole grid.
  const bool plain = IsFloat(dtype) || dtype == DType::kIndex || cpp.function.empty();
  if (plain && !cpp.infix.empty()) return {"", cpp.infix, cpp.precedence};
  return {cpp.function, "", 0};
}

std::string_view LaneReduction(Op op) { return RowOf(op).lanes; }
std::string_view FoldOfLanes(Op op) { return RowOf(op).lane_fold; }
std::string LineFunction(Op op, bool side_by_side) {
  const std::string_view of_one = RowOf(op).line;
  return std::string(of_one) + (side_by_side && !of_one.empty() ? "s" : "");
}

}  // namespace kiln::render
