#include <algorithm>

#include "generator/elaborate/elaborate.h"
#include "generator/ir/tile_node.h"

/// Functions that give tiles another shape.
namespace kiln {

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

NodePtr Elaborator::CallIota(const Expr& expr, const Operation& f, const Setting&) {
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

NodePtr Elaborator::CallBroadcast(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
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

NodePtr Elaborator::CallReshape(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
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

NodePtr Elaborator::CallTranspose(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
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

NodePtr Elaborator::CallExpand(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
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

NodePtr Elaborator::CallSqueeze(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
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

NodePtr Elaborator::CallConcat(const Expr& expr, const Operation& f, const Setting& setting) {
  const Expr& list = *expr.args[0];
  if (list.kind != Expr::Kind::kList || list.args.empty()) {
    return Error("syntax", list.span, "`concat` takes a list of values",
                 "write " + std::string(f.signature));
  }
  std::vector<NodePtr> parts;
  for (const ExprPtr& e : list.args) parts.push_back(Elaborate(*e, setting));
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

NodePtr Elaborator::CallRoll(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
  Setting inside = kSubscriptSetting;
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

NodePtr Elaborator::CallTake(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
  NodePtr ids = Decide(Elaborate(*expr.args[1], setting));
  if (!x || !ids) return nullptr;
  if (!IsInteger(ids->dtype)) {
    return Error("type", ids->span, "`take` chooses by integers, not by " + TypeName(ids));
  }
  if (ids->shape.empty()) {
    return Error("shape", ids->span, "`take` chooses by a tile of integers, not by one",
                 "write x[i], or x[:, i] along another axis");
  }
  const Expr* axis_expr = expr.args.size() > 2 ? expr.args[2].get() : KeywordValue(expr, "axis");
  if (!axis_expr && x->shape.size() != 1) {
    return Error("syntax", expr.span, "`take` needs an axis", "write " + std::string(f.signature));
  }
  const auto axis = axis_expr
                        ? ElaborateAxis(*axis_expr, static_cast<int>(x->shape.size()), "the value")
                        : std::optional<int>(0);
  if (!axis) return nullptr;
  Shape shape = x->shape;
  const auto at = shape.erase(shape.begin() + *axis);
  shape.insert(at, ids->shape.begin(), ids->shape.end());
  Node node = TileNode(f.op, x->dtype, std::move(shape), expr.span, {x, ids});
  node.axes = {*axis};
  return Share(std::move(node));
}

}  // namespace kiln
