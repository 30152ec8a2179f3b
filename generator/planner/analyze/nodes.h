#pragma once

#include "generator/ir/kernel.h"

/// What passes ask of a single node of the body.
namespace kiln {

/// Whether `e` is a constant equal to zero.
bool IsZero(const NodePtr& e);

/// Whether a subscript leaves a dimension as it is.
bool IsWholeRange(const Subscript& subscript, const Size& extent);

/// Whether a fold, or whatever else has axes, is along dimension d.
bool HasAxis(const Node& node, size_t d);

/// Whether a reshape does more than add or remove dimensions of extent 1.
bool RegroupsDimensions(const Node& reshape);

/// The dtype that a dot multiplies operands of these dtypes as.
DType DotElement(DType a, DType b);

/// Strips casts that lose nothing and transposes of the last two axes from a dot's operand.
struct DotOperand {
  const Node* value = nullptr;
  bool transposed = false;
};
DotOperand OperandOfDot(const Node& node);

}  // namespace kiln
