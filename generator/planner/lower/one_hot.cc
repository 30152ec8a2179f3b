#include <algorithm>

#include "generator/ir/tile_node.h"
#include "generator/plan/walk.h"
#include "generator/planner/lower/lowering.h"
#include "generator/planner/rewrite/reads.h"

/// Sums of what is 0 everywhere but in one place, which an element chooses: histograms, and rows
/// that are added up by segments. What is added to all other places would change nothing.
namespace kiln {
namespace {

/// The loop whose iteration an index is, in a type that has all of it; none: it is something else.
LoopId CoordinateOf(const Element& e) {
  const bool has_all = e.dtype == DType::kIndex || e.dtype == DType::kI32 || e.dtype == DType::kU32;
  const auto* cast = AsOp(e, Op::kCast);
  const auto* iteration = As<element::Iteration>(cast ? *cast->args[0] : e);
  return has_all && iteration ? iteration->loop : LoopId();
}

bool Has(const std::vector<LoopId>& loops, LoopId loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

/// Whether the text says something like that: all else need not be looked at as elements.
bool MayBeOneHot(const Node& arg) {
  return arg.op == Op::kWhere || arg.op == Op::kEq ||
         (arg.op == Op::kCast && MayBeOneHot(*arg.args[0]));
}

/// Whether the value leaves any other as it is.
bool IsSame(const Element& value, const ElementPtr& identity) {
  const auto *a = As<element::Constant>(value), *b = As<element::Constant>(identity);
  return a && b &&
         (IsFloat(value.dtype) ? a->float_value == b->float_value : a->int_value == b->int_value);
}

}  // namespace

void Lowering::KeepOneHot(LocalId let, const NodePtr& value) {
  const bool may_be_part = MayBeOneHot(*value) || value->op == Op::kIota;
  const auto is_constant = [this](RefId ref) { return IsConstantInput(ref); };
  if (may_be_part && StaysAsItIs(*value, kernel_, is_constant)) one_hots_[let] = value;
}

/// A value with what names stand for that lets gave to the like. A sum's argument, the condition in
/// it and the places that it compares may have one each; more would only make the value long.
NodePtr Lowering::WithoutNames(const NodePtr& node, int names) const {
  if (node->op == Op::kLocal) {
    const auto found = one_hots_.find(LocalId(node->index));
    const bool goes = names > 0 && found != one_hots_.end();
    return goes ? WithoutNames(found->second, names - 1) : node;
  }
  Node without = *node;
  for (NodePtr& arg : without.args) arg = WithoutNames(arg, names);
  return without.args == node->args ? node : Share(std::move(without));
}

/// `fold` of where(index == place, value, identity), `place` being a position in the result.
std::optional<Lowering::OneHot> Lowering::OneHotOf(const Node& node, const Loops& kept,
                                                   const ElementPtr& value) const {
  const auto* where = AsOp(*value, Op::kWhere);
  const auto* cast = AsOp(*value, Op::kCast);  // 1 there, 0 elsewhere
  const FoldOp fold = AsFold(node.op);
  const bool counts = cast && cast->args[0]->dtype == DType::kBool &&
                      (fold == FoldOp::kSum || fold == FoldOp::kMean);
  if (!counts && !(where && IsSame(*where->args[2], Identity(fold, node.dtype))))
    return std::nullopt;
  const auto* equal = AsOp(counts ? *cast->args[0] : *where->args[0], Op::kEq);
  if (!equal) return std::nullopt;
  for (const size_t side : {0, 1}) {
    OneHot found;
    found.place = CoordinateOf(*equal->args[side]);
    found.index = equal->args[1 - side];
    found.value = counts ? ConstantOf(node.dtype, 1, 1) : where->args[1];
    if (Has(kept, found.place) && !DependsOn(*found.index, found.place) &&
        !DependsOn(*found.value, found.place))
      return found;
  }
  return std::nullopt;
}

/// for what an index depends on { if it is a place { for the rest { place = f(place, value) } } };
/// whether that is done, and takes less time than all places would.
bool Lowering::EmitOneHot(const Target& target, const Node& node, const Loops& all,
                          const Loops& kept, const Point& point, const Point& left) {
  constexpr int64_t kMostPlaces = 32;  // that vectors look at in less time
  const NodePtr arg = WithoutNames(node.args[0], 3);
  if (!MayBeOneHot(*arg)) return false;
  made_.push_back(arg);
  const std::optional<OneHot> found = OneHotOf(node, kept, CastTo(Value(*arg, point), node.dtype));
  if (!found) return false;
  const Space places = spaces_.spaces()[plan_[found->place].space];
  if (places.clipped) return false;
  Loops outer, inner;
  for (const LoopId loop : all) {
    if (loop == found->place) continue;
    (DependsOn(*found->index, loop) ? outer : inner).push_back(loop);
  }
  const bool few = places.extent.Constant().value_or(kMostPlaces + 1) <= kMostPlaces;
  const bool by_lanes = !inner.empty() && inner.back() == all.back() && Has(kept, inner.back());
  if (outer.empty() || (inner.empty() ? few : !by_lanes)) return false;

  Loops first_loops;
  Point first = left, chosen = left;
  for (Coordinate& c : first)
    if (c.loop) first_loops.push_back(c.loop = NewLoop(plan_[c.loop].space));
  const stage::Store begin{PlaceAt(target, first), Identity(AsFold(node.op), node.dtype), nullptr};
  Emit(Nest(first_loops, {Of(begin)}, true));

  const VariableId at = NewVariable("place", DType::kIndex, false);
  for (Coordinate& c : chosen)
    if (c.loop == found->place) c = {{}, Variable(at), {}};
  const Place place = PlaceAt(target, chosen);
  const ElementPtr folded =
      MakeOp(Folding(AsFold(node.op)), node.dtype, {LoadOf(place, node.dtype), found->value});
  const auto is = [](Op op, ElementPtr x, ElementPtr y) {
    return MakeOp(op, DType::kBool, {std::move(x), std::move(y)});
  };
  const ElementPtr in_range = is(Op::kAnd, is(Op::kGe, Variable(at), IndexConstant(0)),
                                 is(Op::kLt, Variable(at), Scalar(*places.extent.ToNode())));
  const Stage store = Of(stage::Store{place, folded, nullptr});
  stage::If add{in_range, {inner.empty() ? store : Nest(inner, {store}, true)}, {}};
  Emit(Nest(outer, {Of(stage::Define{at, CastTo(found->index, DType::kIndex)}), Of(std::move(add))},
            false));
  return true;
}

}  // namespace kiln
