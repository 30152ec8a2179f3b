#include "generator/planner/fuse/loops/folded.h"

#include <vector>

#include "generator/ir/integer_operations.h"
#include "generator/ir/operations.h"

namespace kiln {
namespace {

/// Whether the integers of a type hold a value, which then does not wrap around.
bool Holds(DType dtype, int64_t value) {
  if (dtype == DType::kBool) return value == 0 || value == 1;
  if (dtype == DType::kIndex || dtype == DType::kI64) return true;
  const int64_t values = int64_t{1} << RowOf(dtype).bits;
  const int64_t least = IsUnsigned(dtype) ? 0 : -values / 2;
  return value >= least && value < least + values;
}

/// A cast of what has the same value in any type of as many bits.
ElementPtr Cast(DType to, int64_t value) {
  const int64_t most = RowOf(to).bits < 16 ? 8 : 128;
  if (to == DType::kBool || value < 0 || value > most - 1) return nullptr;
  return ConstantOf(to, value, static_cast<double>(value));
}

ElementPtr Binary(const Element& e, Op op, int64_t a, int64_t b) {
  if (IsComparison(op)) return ConstantOf(DType::kBool, Compares(op, a, b), 0);
  Node node;
  node.op = op;
  node.dtype = e.dtype;
  int64_t value = 0;
  bool overflow = false;
  const bool known = BinaryInteger(node, a, b, value, overflow) == EvalFault::kNone;
  return known && !overflow && Holds(e.dtype, value) ? ConstantOf(e.dtype, value, 0) : nullptr;
}

}  // namespace

std::optional<int64_t> IntegerOf(const ElementPtr& e) {
  const auto* constant = As<element::Constant>(e);
  return constant && !IsFloat(e->dtype) ? std::optional(constant->int_value) : std::nullopt;
}

ElementPtr Folded(const Element& e) {
  const auto* operation = As<element::Operation>(e);
  if (!operation || operation->args.empty()) return nullptr;
  const std::vector<ElementPtr>& args = operation->args;
  const std::optional<int64_t> first = IntegerOf(args[0]);
  if (!first) return nullptr;
  if (operation->op == Op::kWhere || operation->op == Op::kIf) return args[*first ? 1 : 2];
  if (operation->op == Op::kAnd) return *first ? args[1] : args[0];
  if (operation->op == Op::kOr) return *first ? args[0] : args[1];
  if (operation->op == Op::kCast) return Cast(e.dtype, *first);
  const std::optional<int64_t> second = args.size() == 2 ? IntegerOf(args[1]) : std::nullopt;
  return second && !IsFloat(e.dtype) ? Binary(e, operation->op, *first, *second) : nullptr;
}

}  // namespace kiln
