#include <limits>
#include <optional>
#include <utility>

#include "generator/planner/lower/lowering.h"

/// Powers of small constants, which take less than others.
namespace kiln {
namespace {

std::optional<double> ExponentOf(const Node& node) {
  if (node.op != Op::kPow || node.args[1]->op != Op::kConst) return std::nullopt;
  const Node& exponent = *node.args[1];
  return IsFloat(exponent.dtype) ? exponent.float_value : static_cast<double>(exponent.int_value);
}

/// Whether a power may be rounded more than once, as its tolerance is that of its type.
bool MayRoundTwice(const Node& node) {
  return node.dtype == DType::kF32 || node.dtype == DType::kF64;
}

/// x ** 0.5, or 1 over that: of -0 what it is of 0, and of -inf what it is of infinity, where roots
/// are something else.
ElementPtr Root(DType dtype, bool reciprocal, const ElementPtr& x) {
  const auto constant = [&](double value) { return ConstantOf(dtype, 0, value); };
  const double inf = std::numeric_limits<double>::infinity();
  const ElementPtr root = MakeOp(reciprocal ? Op::kRsqrt : Op::kSqrt, dtype,
                                 {MakeOp(Op::kAdd, dtype, {x, constant(0)})});
  const ElementPtr is_infinite = MakeOp(Op::kEq, DType::kBool, {x, constant(-inf)});
  return MakeOp(Op::kWhere, dtype, {is_infinite, constant(reciprocal ? 0 : inf), root});
}

}  // namespace

int FactorsOf(const Node& node) {
  const double exponent = ExponentOf(node).value_or(0);
  const bool is_small = exponent == 2 || (MayRoundTwice(node) && (exponent == 3 || exponent == 4));
  return is_small ? static_cast<int>(exponent) : 0;
}

ElementPtr PowerOf(const Node& node, std::vector<ElementPtr> args, int line) {
  const double exponent = ExponentOf(node).value_or(0);
  const bool is_root = MayRoundTwice(node) && (exponent == 0.5 || exponent == -0.5);
  if (is_root) return Root(node.dtype, exponent < 0, args[0]);
  const int factors = FactorsOf(node);
  if (factors == 0) return MakeOp(Op::kPow, node.dtype, std::move(args), line);
  const ElementPtr& x = args[0];
  const ElementPtr square = MakeOp(Op::kMul, node.dtype, {x, x}, line);
  return factors == 2 ? square
                      : MakeOp(Op::kMul, node.dtype, {square, factors == 3 ? x : square}, line);
}

}  // namespace kiln
