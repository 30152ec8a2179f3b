#include "generator/elaborate/elaborate.h"
#include "generator/ir/tile_node.h"

/// Functions along one axis that look at its order: scans, sorts, the largest, reversal,
/// repetition.
namespace kiln {

/// The axis of a call, which a tile of one dimension need not name.
std::optional<int> Elaborator::AxisOfCall(const Expr& expr, const Operation& f, const NodePtr& x) {
  const int rank = static_cast<int>(x->shape.size());
  const bool given =
      static_cast<int>(expr.args.size()) == f.most && f.most > f.args && f.call != CallRule::kTopK;
  const Expr* axis = given ? expr.args.back().get() : KeywordValue(expr, "axis");
  if (axis) return ElaborateAxis(*axis, rank, "the value");
  if (rank == 1) return 0;
  Error("syntax", expr.span, "`" + expr.name + "` needs an axis",
        "write " + std::string(f.signature));
  return std::nullopt;
}

NodePtr Elaborator::CallScan(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
  if (!x) return nullptr;
  const bool selects = f.op == Op::kCummax || f.op == Op::kCummin;
  if (!selects || x->dtype == DType::kBool) x = Promote(x);
  const auto axis = AxisOfCall(expr, f, x);
  if (!axis) return nullptr;
  Node node = TileNode(f.op, x->dtype, x->shape, expr.span, {x});
  node.axes = {*axis};
  return Share(std::move(node));
}

NodePtr Elaborator::CallSort(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
  if (!x) return nullptr;
  const auto axis = AxisOfCall(expr, f, x);
  if (!axis) return nullptr;
  bool descending = false;
  if (const Expr* given = KeywordValue(expr, "descending")) {
    const auto value = ElaborateStaticCondition(*given);
    if (!value) return nullptr;
    descending = *value;
  }
  const DType dtype = f.result == ResultType::kI32 ? DType::kI32 : x->dtype;
  Node node = TileNode(f.op, dtype, x->shape, expr.span, {x});
  node.axes = {*axis};
  node.descending = descending;
  return Share(std::move(node));
}

/// The positions alone: DefineResults names both of what a call gives.
NodePtr Elaborator::CallTopK(const Expr& expr, const Operation& f, const Setting& setting) {
  if (!setting.results) {
    return Error("type", expr.span, "`top_k` gives two values, the largest and their positions",
                 "name both: let values, ids = " + std::string(f.signature));
  }
  Setting inside = setting;
  inside.results = false;
  NodePtr x = Decide(Elaborate(*expr.args[0], inside));
  const auto k = ElaborateSize(*expr.args[1]);
  if (!x || !k) return nullptr;
  const auto axis = AxisOfCall(expr, f, x);
  if (!axis) return nullptr;
  const Size& extent = x->shape[static_cast<size_t>(*axis)];
  if (!RequireAtLeast(extent, *k, expr.args[1]->span,
                      "`top_k` takes " + k->ToString() + " of " + extent.ToString() +
                          " elements along axis " + std::to_string(*axis))) {
    return nullptr;
  }
  Shape shape = x->shape;
  shape[static_cast<size_t>(*axis)] = *k;
  Node node = TileNode(f.op, DType::kI32, std::move(shape), expr.span, {x});
  node.axes = {*axis};
  return Share(std::move(node));
}

NodePtr Elaborator::CallFlip(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
  if (!x) return nullptr;
  const int rank = static_cast<int>(x->shape.size());
  const Expr* axis = expr.args.size() > 1 ? expr.args[1].get() : KeywordValue(expr, "axis");
  if (!axis && rank != 1) {
    return Error("syntax", expr.span, "`flip` needs an axis, or a list of axes",
                 "write " + std::string(f.signature));
  }
  auto axes = axis ? ElaborateAxes(*axis, rank, "the value") : std::vector<int>{0};
  if (!axes) return nullptr;
  if (axes->empty()) return x;
  Node node = TileNode(f.op, x->dtype, x->shape, expr.span, {x});
  node.axes = *std::move(axes);
  return Share(std::move(node));
}

/// A dimension of its own for the repetitions, which then becomes one with that before it.
NodePtr Elaborator::CallRepeat(const Expr& expr, const Operation& f, const Setting& setting) {
  NodePtr x = Decide(Elaborate(*expr.args[0], setting));
  const auto times = ElaborateSize(*expr.args[1]);
  if (!x || !times) return nullptr;
  if (const auto count = times->Constant(); count && *count < 0) {
    return Error("shape", expr.args[1]->span,
                 "`repeat` of each element " + std::to_string(*count) + " times");
  }
  const auto axis = AxisOfCall(expr, f, x);
  if (!axis) return nullptr;
  const auto after = *axis + 1;
  Shape apart = x->shape, repeated, joined = x->shape;
  apart.insert(apart.begin() + after, Size(1));
  repeated = apart;
  repeated[static_cast<size_t>(after)] = *times;
  joined[static_cast<size_t>(*axis)] = joined[static_cast<size_t>(*axis)] * *times;
  const DType dtype = x->dtype;
  x = Share(TileNode(Op::kReshape, dtype, std::move(apart), expr.span, {x}));
  x = Share(TileNode(Op::kBroadcast, dtype, std::move(repeated), expr.span, {x}));
  return Share(TileNode(Op::kReshape, dtype, std::move(joined), expr.span, {x}));
}

/// `let values, ids = top_k(…)`: the positions first, and the values are those that are there.
void Elaborator::DefineResults(const Stmt& stmt, Actions& out) {
  const Expr& call = *stmt.value;
  const Operation* f = FindFunction(call.name);
  const size_t names = stmt.others.size() + 1;
  const bool two = f && f->call == CallRule::kTopK;
  NodePtr ids;
  if ((two && names == 2) || (!f && !DTypeNamed(call.name))) {  // no function: an error of its own
    Setting setting = kBodySetting;
    setting.results = true;
    ids = Elaborate(call, setting);
  } else {
    Error("syntax", call.span,
          std::to_string(names) + " names for " + (two ? "two values" : "one value"),
          two ? "write let values, ids = " + std::string(f->signature)
              : "write a value for each, `a, b`, or under a condition `(a, b) if c else (d, e)`");
  }
  if (ids) ids = LookedUpOnce(stmt, ids, out);
  Stmt named = stmt;
  for (const Naming& other : stmt.others) {
    named.name = other.name;
    DefineLocal(named, ids, out);
  }
  DefineLocal(stmt, ids ? ValuesAt(out.back()) : nullptr, out);
}

/// What is computed gets a name, as both values are made of it.
NodePtr Elaborator::LookedUpOnce(const Stmt& stmt, const NodePtr& ids, Actions& out) {
  const NodePtr& x = ids->args[0];
  if (x->op == Op::kRead || x->op == Op::kLocal) return ids;
  Node local = TileNode(Op::kLocal, x->dtype, x->shape, x->span, {});
  local.index = static_cast<int>(kernel_.locals.size());
  kernel_.locals.push_back(
      {stmt.name.name + "_of", stmt.name.span, x->dtype, x->shape, Local::Kind::kLet});
  out.push_back({stmt.span, action::Define{local.index, x}});
  Node node = *ids;
  node.args = {Share(std::move(local))};
  return Share(std::move(node));
}

/// What is in the places that a statement has just named.
NodePtr Elaborator::ValuesAt(const Action& places) {
  const auto& define = *As<action::Define>(places);
  const NodePtr &ids = define.value, &x = ids->args[0];
  Node local = TileNode(Op::kLocal, ids->dtype, ids->shape, ids->span, {});
  local.index = define.local;
  Node node = TileNode(Op::kTakeAlong, x->dtype, ids->shape, ids->span, {x, Share(local)});
  node.axes = ids->axes;
  return Share(std::move(node));
}

}  // namespace kiln
