#include <algorithm>

#include "generator/elaborate/elaborate.h"
#include "generator/ir/tile_node.h"

/// Functions over tiles: reductions, dot, position.
namespace kiln {
namespace {

std::optional<DType> DotType(DType a, DType b) {
  const DotKind kind = RowOf(a).dots;
  if (kind != RowOf(b).dots) return std::nullopt;
  switch (kind) {
    case DotKind::kNone:
      return std::nullopt;
    case DotKind::kFloats:
      return DType::kF32;
    case DotKind::kIntegers:
      return DType::kI32;
    case DotKind::kDoubles:
      return DType::kF64;
  }
  __builtin_unreachable();
}

/// "bf16/f16/f32", in the order of their rows.
std::string DotTypes(DotKind kind) {
  std::string names;
  for (const DType dtype : ArrayTypes()) {
    if (RowOf(dtype).dots == kind) names += (names.empty() ? "" : "/") + std::string(Name(dtype));
  }
  return names;
}

/// The largest of bools says whether there is any, the smallest whether it is all.
Op LogicalOf(Op op) {
  if (op == Op::kReduceMax) return Op::kAny;
  return op == Op::kReduceMin ? Op::kAll : op;
}

}  // namespace

NodePtr Elaborator::CallReduce(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
  if (!x) return nullptr;
  const std::string name = expr.name;
  const bool logical = f.op == Op::kAny || f.op == Op::kAll;
  const bool position = ClassOf(f.op) == OpClass::kLocation;
  const bool selects = f.op == Op::kReduceMax || f.op == Op::kReduceMin || position;
  if (logical && x->dtype != DType::kBool) {
    return Error("type", x->span, "`" + name + "` needs bools, not " + std::string(Name(x->dtype)),
                 "compare: " + name + "(" + Spelling(*x) + " != 0)");
  }
  if (f.op == Op::kMean && !IsFloat(x->dtype)) {
    return Error("type", x->span, "`mean` needs floats, not " + std::string(Name(x->dtype)),
                 "write mean(f32(" + Spelling(*x) + "))");
  }
  if (!logical && !selects) x = Promote(x);
  const int rank = static_cast<int>(x->shape.size());
  std::vector<int> axes;
  if (const Expr* axis = KeywordValue(expr, "axis")) {
    const auto given = ElaborateAxes(*axis, rank, "the value");
    if (!given) return nullptr;
    axes = *given;
    std::sort(axes.begin(), axes.end());
  } else {
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  }
  bool keep = false;
  if (const Expr* k = KeywordValue(expr, "keep")) {
    const auto value = ElaborateStaticCondition(*k);
    if (!value) return nullptr;
    keep = *value;
  }
  if (axes.empty() && !position) return x;
  const bool flat = position && rank != 1 && !KeywordValue(expr, "axis");
  if (position && axes.size() != 1 && !flat) {
    return Error("shape", expr.span,
                 "`" + name + "` works along one axis, or along all without axis=",
                 "write " + name + "(x, axis=0)");
  }
  Shape shape;
  for (int d = 0; d < rank; ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!reduced)
      shape.push_back(x->shape[static_cast<size_t>(d)]);
    else if (keep)
      shape.push_back(1);
  }
  if (flat) {  // a position among all elements is one in the flattened tile, as in numpy
    x = Share(TileNode(Op::kReshape, x->dtype, {Product(x->shape)}, expr.span, {x}));
    Node node = TileNode(f.op, DType::kI32, {}, expr.span, {x});
    node.axes = {0};
    x = Share(std::move(node));
    return Share(TileNode(Op::kReshape, DType::kI32, std::move(shape), expr.span, {x}));
  }
  const Op op = x->dtype == DType::kBool ? LogicalOf(f.op) : f.op;
  Node node = TileNode(op, position ? DType::kI32 : x->dtype, std::move(shape), expr.span, {x});
  node.axes = std::move(axes);
  node.keep = keep;
  return Share(std::move(node));
}

NodePtr Elaborator::CallDot(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr a = Decide(Elaborate(*expr.args[0], setting));
  NodePtr b = Decide(Elaborate(*expr.args[1], setting));
  if (!a || !b) return nullptr;
  const std::string shapes = kiln::ToString(a->shape) + " and " + kiln::ToString(b->shape);
  const size_t rank = a->shape.size();
  if (rank < 2 || b->shape.size() != rank) {
    return Error("shape", expr.span, "`dot` needs two matrices of equal rank, not shapes " + shapes,
                 "give a vector an axis: expand(x, 0) is a row, expand(x, 1) a column");
  }
  const auto dtype = DotType(a->dtype, b->dtype);
  if (!dtype) {
    const std::string what =
        "`dot` of " + std::string(Name(a->dtype)) + " and " + std::string(Name(b->dtype));
    if (IsPacked(a->dtype) || IsPacked(b->dtype)) {
      const NodePtr& packed = IsPacked(a->dtype) ? a : b;
      const bool floats = IsFloat(a->dtype) || IsFloat(b->dtype);
      return Error("type", expr.span, what, CastHint(packed, floats ? DType::kBF16 : DType::kI8));
    }
    return Error("type", expr.span, what,
                 "operands are " + DotTypes(DotKind::kFloats) + ", " +
                     DotTypes(DotKind::kIntegers) + ", or f64 on both sides; convert one");
  }
  for (size_t d = 0; d + 2 < rank; ++d) {
    if (!RequireEqual(
            a->shape[d], b->shape[d], expr.span,
            "`dot` of shapes " + shapes + ": batch dimension " + std::to_string(d) + " differs")) {
      return nullptr;
    }
  }
  const Size& inner_a = a->shape[rank - 1];
  const Size& inner_b = b->shape[rank - 2];
  if (inner_a != inner_b) {
    std::string hint;
    if (inner_a == b->shape[rank - 1])
      hint = "transpose the right operand: dot(a, b.T)";
    else if (a->shape[rank - 2] == inner_b)
      hint = "transpose the left operand: dot(a.T, b)";
    const std::string message = "`dot` of shapes " + shapes + ": " + inner_a.ToString() +
                                " columns on the left, " + inner_b.ToString() +
                                " rows on the right";
    if ((inner_a - inner_b).Constant()) return Error("shape", expr.span, message, hint);
    Oblige(inner_a, inner_b, "shape", expr.span, message);
  }
  Shape shape = a->shape;
  shape[rank - 1] = b->shape[rank - 1];
  return Share(TileNode(f.op, *dtype, std::move(shape), expr.span, {a, b}));
}

NodePtr Elaborator::CallInside(const Expr& expr, const Operation& f, const Setting& setting) {
  const Symbol* symbol = RefNamed(*expr.args[0]);
  const Ref* ref = symbol ? &kernel_[RefId(symbol->index)] : nullptr;
  if (!ref || (ref->role != Role::kInput && ref->role != Role::kOutput)) {
    if (!symbol && expr.args[0]->kind == Expr::Kind::kName && !Find(expr.args[0]->name)) {
      return ElaborateName(*expr.args[0], setting);
    }
    return Error("type", expr.args[0]->span,
                 "`" + expr.name + "` takes an input or output by name");
  }
  Node node = TileNode(f.op, DType::kBool, ref->view, expr.span, {});
  node.index = symbol->index;
  return Share(std::move(node));
}

NodePtr Elaborator::CallAt(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr inside = CallInside(expr, f, setting);
  if (!inside) return nullptr;
  const Expr* axis_expr = expr.args.size() > 1 ? expr.args[1].get() : KeywordValue(expr, "axis");
  if (!axis_expr && inside->shape.size() != 1) {
    return Error("syntax", expr.span, "`at` needs an axis", "write " + std::string(f.signature));
  }
  const auto axis =
      axis_expr ? ElaborateAxis(*axis_expr, static_cast<int>(inside->shape.size()), "the block")
                : std::optional<int>(0);
  if (!axis) return nullptr;
  auto node = std::make_shared<Node>(*inside);
  node->dtype = DType::kI32;
  node->axes = {*axis};
  return node;
}

}  // namespace kiln
