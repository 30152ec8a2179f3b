#include "generator/ir/typing.h"

#include <algorithm>
#include <cmath>

namespace kiln {
namespace {

/// Index arithmetic on constants; nullopt where the value does not exist (overflow, x // 0), which
/// leaves the operation in place for the evaluator to report.
std::optional<int64_t> FoldInt(Op op, int64_t a, int64_t b) {
  if (IsComparison(op)) return Compares(op, a, b);
  int64_t r = 0;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case Op::kSub:
      return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case Op::kMul:
      return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case Op::kFloorDiv:
    case Op::kMod:
    case Op::kCeilDiv:
    case Op::kQuot:
    case Op::kRem: {
      if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
      const int64_t quotient = a / b;
      const int64_t remainder = a % b;
      const bool inexact = remainder != 0;
      const bool negative = (remainder < 0) != (b < 0);
      if (op == Op::kRem) return remainder;
      if (op == Op::kQuot) return quotient;
      if (op == Op::kMod) return inexact && negative ? remainder + b : remainder;
      if (op == Op::kCeilDiv) return inexact && !negative ? quotient + 1 : quotient;
      return inexact && negative ? quotient - 1 : quotient;
    }
    case Op::kPow: {
      if (b < 0) return std::nullopt;
      r = 1;
      for (int64_t i = 0; i < b && r != 0 && !(r == 1 && a == 1); ++i) {
        if (i > 64 && a != -1) return a == 0 ? std::optional<int64_t>(0) : std::nullopt;
        if (a == -1) return b % 2 == 0 ? 1 : -1;
        if (__builtin_mul_overflow(r, a, &r)) return std::nullopt;
      }
      return r;
    }
    case Op::kShl:
      if (b < 0 || b > 62 || a > (INT64_MAX >> b) || a < (INT64_MIN >> b)) return std::nullopt;
      return a * (int64_t{1} << b);
    case Op::kShr:
      return b < 0 ? std::nullopt : std::optional(a >> std::min<int64_t>(b, 63));
    case Op::kBitAnd:
      return a & b;
    case Op::kBitOr:
      return a | b;
    case Op::kBitXor:
      return a ^ b;
    case Op::kMax:
      return std::max(a, b);
    case Op::kMin:
      return std::min(a, b);
    default:
      return std::nullopt;
  }
}

std::optional<double> FoldFloat(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      return a / b;
    case Op::kPow:
      return std::pow(a, b);
    default:
      return std::nullopt;
  }
}

bool AllConst(const Node& node) {
  return std::all_of(node.args.begin(), node.args.end(),
                     [](const NodePtr& a) { return IsConst(a) && a->shape.empty(); });
}

NodePtr Done(const Node& node, int64_t value) {
  return MakeInt(value, node.dtype, node.span, node.literal);
}

NodePtr FoldUnary(const Node& node) {
  const Node& a = *node.args[0];
  if (node.op == Op::kNot) return MakeBool(a.int_value == 0, node.span);
  if (node.op == Op::kNeg && IsFloat(node.dtype)) {
    return MakeFloat(-a.float_value, node.dtype, node.span);
  }
  if (node.op == Op::kNeg && a.int_value != INT64_MIN) return Done(node, -a.int_value);
  if (node.op == Op::kBitNot) {
    return Done(node, node.dtype == DType::kBool ? a.int_value == 0 : ~a.int_value);
  }
  if (IsFloat(node.dtype)) {
    return node.op == Op::kAbs ? MakeFloat(std::fabs(a.float_value), node.dtype, node.span)
                               : nullptr;
  }
  if (node.op == Op::kAbs && a.int_value != INT64_MIN) return Done(node, std::abs(a.int_value));
  if (node.op == Op::kSign) return Done(node, (a.int_value > 0) - (a.int_value < 0));
  return nullptr;
}

NodePtr FoldBinary(const Node& node) {
  const Node& a = *node.args[0];
  const Node& b = *node.args[1];
  if (node.op == Op::kAnd) return MakeBool(a.int_value && b.int_value, node.span);
  if (node.op == Op::kOr) return MakeBool(a.int_value || b.int_value, node.span);
  if (IsFloat(a.dtype)) {
    if (node.dtype == DType::kBool) {
      return IsComparison(node.op)
                 ? MakeBool(Compares(node.op, a.float_value, b.float_value), node.span)
                 : nullptr;
    }
    const auto r = FoldFloat(node.op, a.float_value, b.float_value);
    return r ? MakeFloat(*r, node.dtype, node.span) : nullptr;
  }
  const auto r = FoldInt(node.op, a.int_value, b.int_value);
  return r ? Done(node, *r) : nullptr;
}

bool Foldable(DType dtype) {
  return IsWeak(dtype) || dtype == DType::kIndex || dtype == DType::kBool;
}

bool Chooses(Op op) { return op == Op::kWhere || op == Op::kIf; }

/// A finite constant beyond the largest value of `dtype` is a mistake; `inf` is written `inf`.
NodePtr CoerceFloat(double value, DType dtype, Span span, std::string& why) {
  const double rounded = RoundTo(value, dtype);
  if (std::isfinite(value) && !std::isfinite(rounded)) {
    why = "the number does not fit " + std::string(Name(dtype));
    return nullptr;
  }
  return MakeFloat(rounded, dtype, span);
}

NodePtr CoerceConst(const Node& node, DType dtype, std::string& why) {
  if (node.dtype == DType::kWeakFloat) {
    if (!IsFloat(dtype)) {
      why = "a float does not become " + std::string(Name(dtype)) + " by itself";
      return nullptr;
    }
    return CoerceFloat(node.float_value, dtype, node.span, why);
  }
  if (IsFloat(dtype)) {
    if (!node.literal) {
      why = "an integer does not become " + std::string(Name(dtype)) + " by itself";
      return nullptr;
    }
    return CoerceFloat(static_cast<double>(node.int_value), dtype, node.span, why);
  }
  if (dtype == DType::kBool) {
    why = "an integer is not a bool";
    return nullptr;
  }
  if (dtype != DType::kIndex && dtype != DType::kWeakInt &&
      (node.int_value < MinOf(dtype) || node.int_value > MaxOf(dtype))) {
    why = std::to_string(node.int_value) + " does not fit " + std::string(Name(dtype));
    return nullptr;
  }
  return MakeInt(node.int_value, dtype, node.span, node.literal);
}

}  // namespace

NodePtr MakeInt(int64_t value, DType dtype, Span span, bool literal) {
  auto node = std::make_shared<Node>();
  node->op = Op::kConst;
  node->dtype = dtype;
  node->int_value = value;
  node->span = span;
  node->literal = literal;
  return node;
}

NodePtr MakeFloat(double value, DType dtype, Span span) {
  auto node = std::make_shared<Node>();
  node->op = Op::kConst;
  node->dtype = dtype;
  node->float_value = value;
  node->span = span;
  node->literal = true;
  return node;
}

NodePtr MakeBool(bool value, Span span) { return MakeInt(value, DType::kBool, span); }

std::optional<bool> ConstBool(const NodePtr& node) {
  if (!IsConst(node) || node->dtype != DType::kBool) return std::nullopt;
  return node->int_value != 0;
}

std::optional<int64_t> ConstInt(const NodePtr& node) {
  if (!IsConst(node) || !IsInteger(node->dtype)) return std::nullopt;
  return node->int_value;
}

NodePtr Fold(Node node) {
  node.literal =
      !node.args.empty() && std::all_of(node.args.begin(), node.args.end(), [](const NodePtr& a) {
        return a->literal || a->dtype == DType::kBool;
      });
  const bool known = !node.args.empty() && node.shape.empty();
  if (known && Chooses(node.op)) {
    if (const auto condition = ConstBool(node.args[0]); condition && Foldable(node.dtype)) {
      return node.args[*condition ? 1 : 2];
    }
  } else if (known && AllConst(node) && Foldable(node.dtype) && Foldable(node.args[0]->dtype)) {
    NodePtr folded;
    if (node.args.size() == 1) folded = FoldUnary(node);
    if (node.args.size() == 2) folded = FoldBinary(node);
    if (node.op == Op::kClamp && !IsFloat(node.dtype)) {
      folded = Done(node, std::min(std::max(node.args[0]->int_value, node.args[1]->int_value),
                                   node.args[2]->int_value));
    }
    if (folded) return folded;
  }
  return std::make_shared<const Node>(std::move(node));
}

NodePtr Coerce(const NodePtr& node, DType dtype, std::string& why) {
  if (!IsWeak(node->dtype)) return node;
  if (node->op == Op::kConst) return CoerceConst(*node, dtype, why);
  if (IsFloat(node->dtype) != IsFloat(dtype) && !(node->literal && IsFloat(dtype))) {
    why = std::string(IsFloat(dtype) ? "an integer" : "a float") + " does not become " +
          std::string(Name(dtype)) + " by itself";
    return nullptr;
  }
  if (dtype == DType::kBool) {
    why = "an integer is not a bool";
    return nullptr;
  }
  // Arithmetic happens in the compute type; only its result is narrowed.
  if (!Chooses(node->op) && !IsWeak(dtype) && dtype != DType::kIndex &&
      ComputeType(dtype) != dtype) {
    const NodePtr wide = Coerce(node, ComputeType(dtype), why);
    return wide ? Cast(wide, dtype, node->span) : nullptr;
  }
  auto copy = std::make_shared<Node>(*node);
  copy->dtype = dtype;
  for (size_t i = Chooses(node->op) ? 1 : 0; i < copy->args.size(); ++i) {
    copy->args[i] = Coerce(copy->args[i], dtype, why);
    if (!copy->args[i]) return nullptr;
  }
  return copy;
}

NodePtr CoerceDefault(const NodePtr& node, std::string& why) {
  return Coerce(node, IsFloat(node->dtype) ? DType::kF32 : DType::kI32, why);
}

NodePtr Cast(const NodePtr& node, DType dtype, Span span) {
  if (node->dtype == dtype) return node;
  if (node->op == Op::kConst && node->shape.empty()) {
    if (IsFloat(dtype)) {
      const double value =
          IsFloat(node->dtype) ? node->float_value : static_cast<double>(node->int_value);
      return MakeFloat(RoundTo(value, dtype), dtype, span);
    }
    const int64_t value = !IsFloat(node->dtype)   ? node->int_value
                          : dtype == DType::kBool ? node->float_value != 0
                                                  : FloatToInt(node->float_value, dtype);
    return MakeInt(dtype == DType::kIndex ? value : Wrap(value, dtype), dtype, span);
  }
  NodePtr strong = node;
  if (IsWeak(node->dtype)) {
    std::string why;
    strong = Coerce(node, IsFloat(node->dtype) ? DType::kF64 : DType::kI64, why);
    if (!strong) return nullptr;
  }
  if (strong->dtype == dtype) return strong;
  Node cast;
  cast.op = Op::kCast;
  cast.dtype = dtype;
  cast.shape = strong->shape;
  cast.span = span;
  cast.args = {strong};
  return std::make_shared<const Node>(std::move(cast));
}

NodePtr Promote(const NodePtr& node) {
  if (IsWeak(node->dtype) || node->dtype == DType::kIndex) return node;
  return Cast(node, ComputeType(node->dtype), node->span);
}

}  // namespace kiln
