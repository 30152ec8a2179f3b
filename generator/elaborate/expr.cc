#include <algorithm>

#include "generator/elaborate/elaborate.h"

namespace kiln {
namespace {

/// Lets are read again where used, so a chain of doubling lets could explode.
constexpr int kMaxNodes = 200000;

}  // namespace

NodePtr Elaborator::Elaborate(const Expr& expr, const Setting& setting) {
  if (++elaborated_ > kMaxNodes) {
    if (elaborated_ == kMaxNodes + 1) {
      Error("syntax", expr.span, "the spec's expressions grow too large (lets are read where used)",
            "shorten the chain of lets");
    }
    return nullptr;
  }
  NodePtr node = ElaborateConstantExpr(expr, setting);
  return node ? ToIndex(node, setting) : nullptr;
}

NodePtr Elaborator::ElaborateConstantExpr(const Expr& expr, const Setting& setting) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
      return MakeInt(expr.int_value, setting.index ? DType::kIndex : DType::kWeakInt, expr.span,
                     true);
    case Expr::Kind::kFloat:
      return MakeFloat(expr.float_value, DType::kWeakFloat, expr.span);
    case Expr::Kind::kBool:
      return MakeBool(expr.int_value != 0, expr.span);
    case Expr::Kind::kName:
      return ElaborateName(expr, setting);
    case Expr::Kind::kUnary:
      return ElaborateUnary(expr, setting);
    case Expr::Kind::kBinary:
      return expr.name == "and" || expr.name == "or" ? ElaborateLogic(expr, setting)
                                                     : ElaborateBinary(expr, setting);
    case Expr::Kind::kCompare:
      return ElaborateCompare(expr, setting);
    case Expr::Kind::kIf:
      return ElaborateIf(expr, setting);
    case Expr::Kind::kCall:
      return ElaborateCall(expr, setting);
    case Expr::Kind::kSubscript:
      return ElaborateSubscript(expr, setting);
    case Expr::Kind::kAttribute:
      return ElaborateAttribute(expr, setting);
    case Expr::Kind::kSlice:
    case Expr::Kind::kEllipsis:
      return Error("syntax", expr.span, "a slice stands only inside a subscript");
    case Expr::Kind::kList:
      return Error("syntax", expr.span, "a list stands only as an argument of a function",
                   "functions that take lists: iota, broadcast, reshape, transpose, concat, axis=");
  }
  return nullptr;
}

NodePtr Elaborator::ElaborateUnary(const Expr& expr, const Setting& setting) {
  const Expr& argument = *expr.args[0];
  if (expr.name == "not") {
    NodePtr a = ElaborateCondition(argument, setting);
    return a ? Unary(Op::kNot, a, setting, expr.span) : nullptr;
  }
  NodePtr a = Elaborate(argument, setting);
  if (!a) return nullptr;
  if (expr.name == "+") return a->dtype == DType::kBool ? Promote(a) : a;
  if (expr.name == "~") {
    if (IsFloat(a->dtype)) {
      return Error("type", expr.span, "~ needs integers or bools, not " + TypeName(a));
    }
    return Unary(Op::kBitNot, a->dtype == DType::kBool ? a : Promote(a), setting, expr.span);
  }
  return Unary(Op::kNeg, Promote(a), setting, expr.span);
}

NodePtr Elaborator::Unary(Op op, NodePtr a, const Setting&, Span span) {
  Node node;
  node.op = op;
  node.dtype = a->dtype;
  node.shape = a->shape;
  node.span = span;
  node.args = {std::move(a)};
  return Fold(std::move(node));
}

NodePtr Elaborator::ElaborateBinary(const Expr& expr, const Setting& setting) {
  NodePtr a = Elaborate(*expr.args[0], setting);
  NodePtr b = Elaborate(*expr.args[1], setting);
  if (!a || !b) return nullptr;
  return Binary(BinaryOperator(expr.name).value(), a, b, setting, expr.span);
}

NodePtr Elaborator::Binary(Op op, NodePtr a, NodePtr b, const Setting& setting, Span span) {
  const bool bools = a->dtype == DType::kBool && b->dtype == DType::kBool;
  const std::string what = std::string(Name(op));
  if (!(IsBitwise(op) && bools)) {
    a = Promote(a);
    b = Promote(b);
    if (setting.index) {  // a bool counts as 0 or 1 in index arithmetic
      if (a->dtype == DType::kI32) a = Cast(a, DType::kIndex, a->span);
      if (b->dtype == DType::kI32) b = Cast(b, DType::kIndex, b->span);
    }
  }
  if ((IsBitwise(op) || IsShift(op)) && (IsFloat(a->dtype) || IsFloat(b->dtype))) {
    return Error("type", span,
                 "`" + what + "` needs integers, not " + TypeName(IsFloat(a->dtype) ? a : b),
                 "bitcast(i32, x) reads the bits of a float");
  }
  if (!Unify(a, b, what.c_str(), span)) return nullptr;
  if (op == Op::kDiv && !IsFloat(a->dtype)) {
    return Error("type", span, "`/` on integers; the quotient would not be an integer",
                 "write // to floor, or convert: f32(a) / f32(b)");
  }
  if (setting.index && (op == Op::kFloorDiv || op == Op::kMod) && ConstInt(b) == 0) {
    return Error("index-range", span, "division by zero");
  }
  auto shape = Broadcast(a->shape, b->shape, "`" + what + "`", span);
  if (!shape) return nullptr;
  Node node;
  node.op = op;
  node.dtype = RowOf(op).result == ResultType::kBool ? DType::kBool : a->dtype;
  node.shape = *shape;
  node.span = span;
  node.args = {a, b};
  if (IsComparison(op)) {  // compare in a decided type, but fold constants exactly first
    NodePtr folded = Fold(node);
    if (IsConst(folded)) return folded;
    node.args = {Decide(a), Decide(b)};
    if (!node.args[0] || !node.args[1]) return nullptr;
    return std::make_shared<const Node>(std::move(node));
  }
  return Fold(std::move(node));
}

NodePtr Elaborator::ElaborateLogic(const Expr& expr, const Setting& setting) {
  const bool conjunction = expr.name == "and";
  NodePtr a = ElaborateCondition(*expr.args[0], setting);
  if (!a) return nullptr;
  if (const auto known = ConstBool(a)) {  // the other side may not even make sense
    if (*known != conjunction) return a;
    return ElaborateCondition(*expr.args[1], setting);
  }
  NodePtr b = ElaborateCondition(*expr.args[1], setting);
  if (!b) return nullptr;
  if (const auto known = ConstBool(b)) return *known == conjunction ? a : b;
  Node node;
  node.op = conjunction ? Op::kAnd : Op::kOr;
  node.dtype = DType::kBool;
  node.span = expr.span;
  node.args = {a, b};
  return std::make_shared<const Node>(std::move(node));
}

NodePtr Elaborator::ElaborateCondition(const Expr& expr, const Setting& setting) {
  NodePtr node = Elaborate(expr, setting);
  if (!node) return nullptr;
  if (node->dtype != DType::kBool) {
    return Error("type", expr.span, "a condition must be a bool, not " + TypeName(node),
                 "compare it: " + Spelling(*node) + " != 0");
  }
  if (!node->shape.empty()) {
    return Error("type", expr.span,
                 "a condition must be a scalar, not a tile of shape " + kiln::ToString(node->shape),
                 "reduce it with any(…) or all(…); for tiles use & | ~ and where");
  }
  return node;
}

NodePtr Elaborator::ElaborateIndex(const Expr& expr, const Setting& setting) {
  NodePtr node = Elaborate(expr, setting);
  if (node && node->dtype == DType::kBool && node->shape.empty()) {
    return Cast(node, DType::kIndex, node->span);
  }
  return node ? IndexScalar(node, expr, setting) : nullptr;
}

NodePtr Elaborator::ElaborateCount(const Expr& expr, const Setting& setting) {
  NodePtr node = Elaborate(expr, setting);
  return node ? IndexScalar(node, expr, setting) : nullptr;
}

NodePtr Elaborator::IndexScalar(const NodePtr& node, const Expr& expr, const Setting& setting) {
  if (!node->shape.empty()) {
    return Error("type", expr.span,
                 std::string(setting.name) + " needs a scalar, not a tile of shape " +
                     kiln::ToString(node->shape));
  }
  if (node->dtype != DType::kIndex) {
    return Error("type", expr.span,
                 std::string(setting.name) + " needs an integer, not " + TypeName(node),
                 IsFloat(node->dtype) ? "convert it: i32(…)" : "");
  }
  return node;
}

std::optional<Size> Elaborator::ElaborateSize(const Expr& expr) {
  NodePtr node = ElaborateCount(expr, kSizeSetting);
  if (!node) return std::nullopt;
  return SizeOf(node, kernel_);
}

std::optional<int64_t> Elaborator::ElaborateStaticInt(const Expr& expr, const char* what) {
  Setting setting = kParamSetting;
  setting.name = what;
  setting.index = true;
  NodePtr node = ElaborateCount(expr, setting);
  if (!node) return std::nullopt;
  if (const auto value = ConstInt(node)) return value;
  Error("type", expr.span, std::string(what) + " must be known at generation time");
  return std::nullopt;
}

std::optional<bool> Elaborator::ElaborateStaticCondition(const Expr& expr) {
  Setting setting = kParamSetting;
  setting.name = "a generation-time condition";
  NodePtr node = ElaborateCondition(expr, setting);
  if (!node) return std::nullopt;
  if (const auto value = ConstBool(node)) return value;
  Error("type", expr.span, "the condition must be known at generation time",
        "it may use params and dtypes only");
  return std::nullopt;
}

NodePtr Elaborator::ElaborateConstant(const Expr& expr, DType dtype, const char* what) {
  Setting setting = kParamSetting;
  setting.name = what;
  NodePtr node = Elaborate(expr, setting);
  if (!node) return nullptr;
  NodePtr value = node;
  std::string why;
  if (value->op == Op::kConst && IsWeak(value->dtype)) value = Coerce(value, dtype, why);
  if (!value) {
    const bool converts = why.find("fit") == std::string::npos;
    return Error("type", expr.span, std::string(what) + ": " + why,
                 converts ? CastHint(node, dtype) : "");
  }
  if (value->op != Op::kConst || value->dtype != dtype) {
    return Error("type", expr.span,
                 std::string(what) + " must be a constant of type " + std::string(Name(dtype)));
  }
  return value;
}

/// `T == bf16`: dtypes compare at generation time.
NodePtr Elaborator::CompareDTypes(const Expr& expr, bool& handled) {
  const auto dtype_of = [&](const Expr& e) -> std::optional<DType> {
    if (e.kind != Expr::Kind::kName) return std::nullopt;
    return DTypeNamed(e.name);
  };
  const auto left = dtype_of(*expr.args[0]);
  const auto right = dtype_of(*expr.args[1]);
  handled = left.has_value() || right.has_value();
  if (!handled) return nullptr;
  if (!left || !right || (expr.ops[0] != "==" && expr.ops[0] != "!=")) {
    return Error("type", expr.span, "dtypes compare with == and != to other dtypes only");
  }
  return MakeBool((*left == *right) == (expr.ops[0] == "=="), expr.span);
}

NodePtr Elaborator::ElaborateCompare(const Expr& expr, const Setting& setting) {
  if (expr.ops.size() == 1) {
    bool handled = false;
    NodePtr node = CompareDTypes(expr, handled);
    if (handled) return node;
  }
  NodePtr result;
  NodePtr left = Elaborate(*expr.args[0], setting);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    NodePtr right = Elaborate(*expr.args[i + 1], setting);
    if (!left || !right) return nullptr;
    NodePtr link = Binary(BinaryOperator(expr.ops[i]).value(), left, right, setting, expr.span);
    if (!link) return nullptr;
    result = result ? Binary(Op::kBitAnd, result, link, setting, expr.span) : link;
    if (!result) return nullptr;
    left = right;
  }
  return result;
}

NodePtr Elaborator::ElaborateIf(const Expr& expr, const Setting& setting) {
  NodePtr condition = ElaborateCondition(*expr.args[1], setting);
  if (!condition) return nullptr;
  if (const auto known = ConstBool(condition)) {
    return Elaborate(*expr.args[*known ? 0 : 2], setting);
  }
  NodePtr a = Elaborate(*expr.args[0], setting);
  NodePtr b = Elaborate(*expr.args[2], setting);
  if (!a || !b) return nullptr;
  return Select(condition, a, b, Op::kIf, setting, expr.span);
}

NodePtr Elaborator::ElaborateAttribute(const Expr& expr, const Setting& setting) {
  NodePtr x = Elaborate(*expr.args[0], setting);
  if (!x) return nullptr;
  const size_t rank = x->shape.size();
  if (expr.name != "T" && expr.name != "mT") {
    return Error("name", expr.name_span, "`." + expr.name + "` is not an attribute",
                 "there are .T (rank 2) and .mT (the last two axes)");
  }
  if (expr.name == "T" ? rank != 2 : rank < 2) {
    return Error("shape", expr.span,
                 "`." + expr.name + "` needs " + (expr.name == "T" ? "rank 2" : "rank 2 or more") +
                     ", not shape " + kiln::ToString(x->shape),
                 expr.name == "T" && rank > 2 ? "write .mT, or transpose(x, [..])" : "");
  }
  Node node;
  node.op = Op::kTranspose;
  node.dtype = x->dtype;
  node.shape = x->shape;
  std::swap(node.shape[rank - 1], node.shape[rank - 2]);
  for (size_t d = 0; d < rank; ++d) node.axes.push_back(static_cast<int>(d));
  std::swap(node.axes[rank - 1], node.axes[rank - 2]);
  node.span = expr.span;
  node.args = {x};
  return std::make_shared<const Node>(std::move(node));
}

}  // namespace kiln
