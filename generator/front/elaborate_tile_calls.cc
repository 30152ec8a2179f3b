#include <algorithm>
#include <set>

#include "generator/front/elaborate.h"

/// Functions over tiles: shapes, reductions, dot, position.
namespace kiln {
namespace {

Node TileNode(Op op, DType dtype, Shape shape, Span span, std::vector<NodePtr> args) {
  Node node;
  node.op = op;
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.span = span;
  node.args = std::move(args);
  return node;
}

NodePtr Share(Node node) { return std::make_shared<const Node>(std::move(node)); }

Size Product(const Shape& shape) {
  Size product = 1;
  for (const Size& size : shape) product = product * size;
  return product;
}

bool DotFloat(DType d) { return d == DType::kBF16 || d == DType::kF16 || d == DType::kF32; }
bool DotInteger(DType d) { return d == DType::kI8 || d == DType::kU8 || d == DType::kI32; }

std::optional<DType> DotType(DType a, DType b) {
  if (DotFloat(a) && DotFloat(b)) return DType::kF32;
  if (DotInteger(a) && DotInteger(b)) return DType::kI32;
  if (a == DType::kF64 && b == DType::kF64) return DType::kF64;
  return std::nullopt;
}

}  // namespace

std::optional<int> Elaborator::ElaborateAxis(const Expr& expr, int rank, const char* what) {
  const auto axis = ElaborateStaticInt(expr, "an axis");
  if (!axis) return std::nullopt;
  if (*axis < -rank || *axis >= rank) {
    Error(
        "shape", expr.span,
        "axis " + std::to_string(*axis) + " of " + what + ", which has rank " +
            std::to_string(rank),
        rank > 0 ? "axes are 0 to " + std::to_string(rank - 1) + ", or negative from the end" : "");
    return std::nullopt;
  }
  return static_cast<int>(*axis < 0 ? *axis + rank : *axis);
}

std::optional<std::vector<int>> Elaborator::ElaborateAxes(const Expr& expr, int rank,
                                                          const char* what) {
  std::vector<int> axes;
  const auto add = [&](const Expr& e) {
    const auto axis = ElaborateAxis(e, rank, what);
    if (!axis) return false;
    if (std::find(axes.begin(), axes.end(), *axis) != axes.end()) {
      Error("shape", e.span, "axis " + std::to_string(*axis) + " appears twice");
      return false;
    }
    axes.push_back(*axis);
    return true;
  };
  if (expr.kind != Expr::Kind::kList) {
    if (!add(expr)) return std::nullopt;
    return axes;
  }
  for (const ExprPtr& e : expr.args) {
    if (!add(*e)) return std::nullopt;
  }
  return axes;
}

std::optional<Shape> Elaborator::ElaborateShape(const Expr& expr) {
  if (expr.kind != Expr::Kind::kList) {
    Error("syntax", expr.span, "a shape is a list", "write [" + ToString(expr) + "]");
    return std::nullopt;
  }
  Shape shape;
  bool ok = true;
  for (const ExprPtr& e : expr.args) {
    const auto size = ElaborateSize(*e);
    ok = ok && size.has_value();
    shape.push_back(size.value_or(1));
  }
  if (!ok) return std::nullopt;
  return shape;
}

NodePtr Elaborator::CallIota(const Expr& expr, const FunctionEntry& f, const Place&) {
  auto shape = ElaborateShape(*expr.args[0]);
  if (!shape) return nullptr;
  const Expr* axis_expr = expr.args.size() > 1 ? expr.args[1].get() : KeywordValue(expr, "axis");
  if (!axis_expr && shape->size() != 1) {
    return Error("syntax", expr.span, "`iota` needs the axis it counts along",
                 "write " + std::string(f.signature));
  }
  int axis = 0;
  if (axis_expr) {
    const auto given = ElaborateAxis(*axis_expr, static_cast<int>(shape->size()), "the shape");
    if (!given) return nullptr;
    axis = *given;
  }
  Node node = TileNode(f.op, DType::kI32, *shape, expr.span, {});
  node.axes = {axis};
  return Share(std::move(node));
}

NodePtr Elaborator::CallBroadcast(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr x = Decide(Elaborate(*expr.args[0], place));
  auto shape = ElaborateShape(*expr.args[1]);
  if (!x || !shape) return nullptr;
  auto common = Broadcast(x->shape, *shape, "`broadcast`", expr.span);
  if (!common) return nullptr;
  if (common->size() != shape->size()) {
    return Error("shape", expr.span,
                 "`broadcast` cannot lower the rank of " + kiln::ToString(x->shape));
  }
  for (size_t d = 0; d < shape->size(); ++d) {
    if (!RequireEqual(
            (*common)[d], (*shape)[d], expr.span,
            "`broadcast` of " + kiln::ToString(x->shape) + " to " + kiln::ToString(*shape))) {
      return nullptr;
    }
  }
  return Share(TileNode(f.op, x->dtype, *shape, expr.span, {x}));
}

NodePtr Elaborator::CallReshape(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr x = Decide(Elaborate(*expr.args[0], place));
  auto shape = ElaborateShape(*expr.args[1]);
  if (!x || !shape) return nullptr;
  const auto count = Product(x->shape).Constant();
  for (Size& size : *shape) {  // one -1 stands for what is left, as in numpy
    if (size.Constant() != -1) continue;
    const auto others = Product(*shape).Constant();
    if (!count || !others || *others == 0 || *count % -*others != 0) {
      return Error("shape", expr.span,
                   "`reshape` cannot work out the extent -1 of " + kiln::ToString(*shape));
    }
    size = Size(*count / -*others);
  }
  if (!RequireEqual(Product(x->shape), Product(*shape), expr.span,
                    "`reshape` of " + kiln::ToString(x->shape) + " to " + kiln::ToString(*shape) +
                        " changes the number of elements")) {
    return nullptr;
  }
  return Share(TileNode(f.op, x->dtype, *shape, expr.span, {x}));
}

NodePtr Elaborator::CallTranspose(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr x = Decide(Elaborate(*expr.args[0], place));
  if (!x) return nullptr;
  const int rank = static_cast<int>(x->shape.size());
  const Expr* order = expr.args.size() > 1 ? expr.args[1].get() : KeywordValue(expr, "axes");
  std::vector<int> axes;
  if (order) {
    auto given = ElaborateAxes(*order, rank, "the value");
    if (!given) return nullptr;
    axes = *given;
  } else {
    for (int d = rank; d-- > 0;) axes.push_back(d);
  }
  if (static_cast<int>(axes.size()) != rank) {
    return Error("shape", expr.span,
                 "`transpose` needs every axis of " + kiln::ToString(x->shape) + " once");
  }
  Shape shape;
  for (int axis : axes) shape.push_back(x->shape[static_cast<size_t>(axis)]);
  Node node = TileNode(f.op, x->dtype, std::move(shape), expr.span, {x});
  node.axes = std::move(axes);
  return Share(std::move(node));
}

NodePtr Elaborator::CallExpand(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr x = Decide(Elaborate(*expr.args[0], place));
  const Expr* axis = expr.args.size() > 1 ? expr.args[1].get() : KeywordValue(expr, "axis");
  if (!x) return nullptr;
  if (!axis) return Error("syntax", expr.span, "`expand` needs an axis", "write expand(x, 0)");
  const int added = axis->kind == Expr::Kind::kList ? static_cast<int>(axis->args.size()) : 1;
  const int rank = static_cast<int>(x->shape.size()) + added;
  const auto axes = ElaborateAxes(*axis, rank, "the result");
  if (!axes) return nullptr;
  Shape shape;
  size_t next = 0;
  for (int d = 0; d < rank; ++d) {
    const bool inserted = std::find(axes->begin(), axes->end(), d) != axes->end();
    shape.push_back(inserted ? Size(1) : x->shape[next++]);
  }
  return Share(TileNode(f.op, x->dtype, std::move(shape), expr.span, {x}));
}

NodePtr Elaborator::CallSqueeze(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr x = Decide(Elaborate(*expr.args[0], place));
  const Expr* axis = expr.args.size() > 1 ? expr.args[1].get() : KeywordValue(expr, "axis");
  if (!x) return nullptr;
  std::vector<int> axes;
  if (axis) {
    const auto given = ElaborateAxes(*axis, static_cast<int>(x->shape.size()), "the value");
    if (!given) return nullptr;
    axes = *given;
  } else {
    for (size_t d = 0; d < x->shape.size(); ++d) {
      if (x->shape[d].IsOne()) axes.push_back(static_cast<int>(d));
    }
  }
  Shape shape;
  for (size_t d = 0; d < x->shape.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), static_cast<int>(d)) == axes.end()) {
      shape.push_back(x->shape[d]);
    } else if (!RequireEqual(x->shape[d], 1, expr.span,
                             "`squeeze` of dimension " + std::to_string(d) + " of " +
                                 kiln::ToString(x->shape) + ", whose extent is not 1")) {
      return nullptr;
    }
  }
  return Share(TileNode(f.op, x->dtype, std::move(shape), expr.span, {x}));
}

NodePtr Elaborator::CallConcat(const Expr& expr, const FunctionEntry& f, const Place& place) {
  const Expr& list = *expr.args[0];
  if (list.kind != Expr::Kind::kList || list.args.empty()) {
    return Error("syntax", list.span, "`concat` takes a list of values",
                 "write " + std::string(f.signature));
  }
  std::vector<NodePtr> parts;
  for (const ExprPtr& e : list.args) parts.push_back(Elaborate(*e, place));
  if (std::find(parts.begin(), parts.end(), nullptr) != parts.end()) return nullptr;
  const size_t rank = parts[0]->shape.size();
  const Expr* axis_expr = KeywordValue(expr, "axis");
  const auto axis = axis_expr ? ElaborateAxis(*axis_expr, static_cast<int>(rank), "the values")
                              : std::optional<int>(0);
  if (!axis) return nullptr;
  if (rank == 0)
    return Error("shape", expr.span, "`concat` of scalars", "give them an axis: expand(x, 0)");
  Shape shape = parts[0]->shape;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!Unify(parts[0], parts[i], "concat", parts[i]->span)) return nullptr;
    if (parts[i]->shape.size() != rank) {
      return Error("shape", parts[i]->span,
                   "`concat` of values of ranks " + std::to_string(rank) + " and " +
                       std::to_string(parts[i]->shape.size()));
    }
    for (size_t d = 0; d < rank; ++d) {
      if (static_cast<int>(d) == *axis) {
        shape[d] = shape[d] + parts[i]->shape[d];
      } else if (!RequireEqual(shape[d], parts[i]->shape[d], parts[i]->span,
                               "`concat` of shapes " + kiln::ToString(parts[0]->shape) + " and " +
                                   kiln::ToString(parts[i]->shape) +
                                   ", which differ in dimension " + std::to_string(d))) {
        return nullptr;
      }
    }
  }
  const DType dtype = parts[0]->dtype;
  Node node = TileNode(f.op, dtype, std::move(shape), expr.span, std::move(parts));
  node.axes = {*axis};
  return Share(std::move(node));
}

NodePtr Elaborator::CallRoll(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr x = Decide(Elaborate(*expr.args[0], place));
  Place inside = kSubscriptPlace;
  inside.name = "the shift of roll";
  NodePtr shift = ElaborateIndex(*expr.args[1], inside);
  if (!x || !shift) return nullptr;
  const Expr* axis_expr = KeywordValue(expr, "axis");
  if (!axis_expr && x->shape.size() != 1) {
    return Error("syntax", expr.span, "`roll` needs an axis", "write " + std::string(f.signature));
  }
  const auto axis = axis_expr
                        ? ElaborateAxis(*axis_expr, static_cast<int>(x->shape.size()), "the value")
                        : std::optional<int>(0);
  if (!axis) return nullptr;
  Node node = TileNode(f.op, x->dtype, x->shape, expr.span, {x, shift});
  node.axes = {*axis};
  return Share(std::move(node));
}

NodePtr Elaborator::CallReduce(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr x = Decide(Elaborate(*expr.args[0], place));
  if (!x) return nullptr;
  const std::string name = expr.name;
  const bool logical = f.op == Op::kAny || f.op == Op::kAll;
  const bool position = f.op == Op::kArgmax || f.op == Op::kArgmin;
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
  const bool flat = position && rank != 1 && !KeywordValue(expr, "axis");
  if (position && axes.size() != 1 && !flat) {
    return Error("shape", expr.span, "`" + name + "` works along one axis, or along all without axis=",
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
  Node node = TileNode(f.op, position ? DType::kI32 : x->dtype, std::move(shape), expr.span, {x});
  node.axes = std::move(axes);
  node.keep = keep;
  return Share(std::move(node));
}

NodePtr Elaborator::CallCumsum(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr x = Decide(Elaborate(*expr.args[0], place));
  if (!x) return nullptr;
  x = Promote(x);
  const Expr* axis_expr = KeywordValue(expr, "axis");
  if (!axis_expr && x->shape.size() != 1) {
    return Error("syntax", expr.span, "`cumsum` needs an axis",
                 "write " + std::string(f.signature));
  }
  const auto axis = axis_expr
                        ? ElaborateAxis(*axis_expr, static_cast<int>(x->shape.size()), "the value")
                        : std::optional<int>(0);
  if (!axis) return nullptr;
  Node node = TileNode(f.op, x->dtype, x->shape, expr.span, {x});
  node.axes = {*axis};
  return Share(std::move(node));
}

NodePtr Elaborator::CallDot(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr a = Decide(Elaborate(*expr.args[0], place));
  NodePtr b = Decide(Elaborate(*expr.args[1], place));
  if (!a || !b) return nullptr;
  const std::string shapes = kiln::ToString(a->shape) + " and " + kiln::ToString(b->shape);
  const size_t rank = a->shape.size();
  if (rank < 2 || b->shape.size() != rank) {
    return Error("shape", expr.span, "`dot` needs two matrices of equal rank, not shapes " + shapes,
                 "give a vector an axis: expand(x, 0) is a row, expand(x, 1) a column");
  }
  const auto dtype = DotType(a->dtype, b->dtype);
  if (!dtype) {
    return Error("type", expr.span,
                 "`dot` of " + std::string(Name(a->dtype)) + " and " + std::string(Name(b->dtype)),
                 "operands are bf16/f16/f32, i8/u8/i32, or f64 on both sides; convert one");
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

NodePtr Elaborator::CallInside(const Expr& expr, const FunctionEntry& f, const Place& place) {
  const Symbol* symbol = RefNamed(*expr.args[0]);
  const Ref* ref = symbol ? &kernel_.refs[static_cast<size_t>(symbol->index)] : nullptr;
  if (!ref || (ref->role != Role::kInput && ref->role != Role::kOutput)) {
    if (!symbol && expr.args[0]->kind == Expr::Kind::kName && !Find(expr.args[0]->name)) {
      return ElaborateName(*expr.args[0], place);
    }
    return Error("type", expr.args[0]->span,
                 "`" + expr.name + "` takes an input or output by name");
  }
  Node node = TileNode(f.op, DType::kBool, ref->view, expr.span, {});
  node.index = symbol->index;
  return Share(std::move(node));
}

NodePtr Elaborator::CallAt(const Expr& expr, const FunctionEntry& f, const Place& place) {
  NodePtr inside = CallInside(expr, f, place);
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
