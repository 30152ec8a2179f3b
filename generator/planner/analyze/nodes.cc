#include "generator/planner/analyze/nodes.h"

#include <algorithm>

namespace kiln {

bool HasAxis(const Node& node, size_t d) {
  return std::count(node.axes.begin(), node.axes.end(), static_cast<int>(d)) > 0;
}

bool RegroupsDimensions(const Node& reshape) {
  const auto beyond_one = [](const Shape& shape) {
    Shape rest;
    for (const Size& s : shape)
      if (!s.IsOne()) rest.push_back(s);
    return rest;
  };
  return beyond_one(reshape.args[0]->shape) != beyond_one(reshape.shape);
}

bool IsWholeRange(const Subscript& s, const Size& extent) {
  return s.range && s.stride == 1 && s.start && s.start->op == Op::kConst &&
         s.start->int_value == 0 && s.size == extent;
}

bool IsZero(const NodePtr& e) {
  return e && e->op == Op::kConst && e->int_value == 0 && e->float_value == 0;
}

DotOperand OperandOfDot(const Node& node) {
  DotOperand operand{&node, false};
  const size_t rank = node.shape.size();
  if (node.op != Op::kTranspose) return operand;
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (node.axes[d] != static_cast<int>(d)) return operand;
  }
  if (node.axes[rank - 1] != static_cast<int>(rank) - 2) return operand;
  return {node.args[0].get(), true};
}

DType DotElement(DType a, DType b) {
  if (a == DType::kF64 || b == DType::kF64) return DType::kF64;
  if (IsFloat(a) || IsFloat(b)) {
    const bool pairs = Holds(DType::kBF16, a) && Holds(DType::kBF16, b);
    return pairs ? DType::kBF16 : DType::kF32;
  }
  return a == DType::kI8 && b == DType::kI8 ? DType::kI8 : DType::kI32;
}

}  // namespace kiln
