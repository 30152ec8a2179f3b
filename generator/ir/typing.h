#pragma once

#include <memory>
#include <optional>
#include <string>

#include "generator/ir/kernel.h"

/// The dtype of two operands: weak literals, compute types, folding of constants. Pure functions on
/// nodes.
namespace kiln {

NodePtr MakeInt(int64_t value, DType dtype, Span span, bool literal = false);
NodePtr MakeFloat(double value, DType dtype, Span span);
NodePtr MakeBool(bool value, Span span);

inline bool IsConst(const NodePtr& node) { return node && node->op == Op::kConst; }
/// The value of a constant bool.
std::optional<bool> ConstBool(const NodePtr& node);
/// The value of a constant integer.
std::optional<int64_t> ConstInt(const NodePtr& node);

/// The node, or the constant it is worth when its arguments are constants. Folds weak and index
/// arithmetic and bools only: strong types keep their operations for the engines to perform.
NodePtr Fold(Node node);

/// Weak `node` as `dtype`, all the way down; strong nodes are returned as they are.
/// On failure null, with the reason in `why` ("300 does not fit i8").
NodePtr Coerce(const NodePtr& node, DType dtype, std::string& why);

/// What a weak node becomes when nothing decides: i32 or f32.
NodePtr CoerceDefault(const NodePtr& node, std::string& why);

/// A cast node, folded when the argument is a constant. Weak arguments are read as 64-bit
/// integers or f64, so that `f32(n)` is exact for every n a float can hold.
NodePtr Cast(const NodePtr& node, DType dtype, Span span);

/// Inserts the widening to ComputeType; weak and wide types stay.
NodePtr Promote(const NodePtr& node);

}  // namespace kiln
