#include <algorithm>
#include <limits>

#include "generator/plan/walk.h"
#include "generator/planner/lower/lowering.h"

namespace kiln {
namespace {

/// What the text calls a reduced value.
const char* HintOf(FoldOp fold) {
  switch (fold) {
    case FoldOp::kSum:
    case FoldOp::kMean:
      return "total";
    case FoldOp::kProd:
      return "product";
    case FoldOp::kReduceMax:
      return "largest";
    case FoldOp::kReduceMin:
      return "smallest";
    case FoldOp::kAny:
      return "any_of";
    case FoldOp::kAll:
      return "all_of";
  }
  __builtin_unreachable();
}

/// Whether a reduction leaves no such dimension of its argument.
bool Goes(const Node& node, size_t dimension) {
  return std::count(node.axes.begin(), node.axes.end(), dimension) > 0;
}

}  // namespace

/// What leaves the other argument as it is.
ElementPtr Lowering::Identity(FoldOp fold, DType dtype) {
  switch (fold) {
    case FoldOp::kSum:
    case FoldOp::kMean:
    case FoldOp::kAny:
      return ConstantOf(dtype, 0, 0);
    case FoldOp::kProd:
      return ConstantOf(dtype, 1, 1);
    case FoldOp::kReduceMax:
      return ConstantOf(dtype, MinOf(dtype), LeastFloat(dtype));
    case FoldOp::kReduceMin:
      return ConstantOf(dtype, MaxOf(dtype), GreatestFloat(dtype));
    case FoldOp::kAll:
      return ConstantOf(dtype, 1, 0);
  }
  __builtin_unreachable();
}

/// The axes of a reduction's argument, those that go and those that stay, as loops; and the point
/// of the result.
void Lowering::EmitReduce(const Target& target, const Node& node) {
  const Undivided undivided(&dividing_);
  const Node& arg = *node.args[0];
  Loops all, kept, reduced;
  const Point point = LoopsOver(spaces_.SpacesOf(arg), &all);
  Point left;
  for (size_t d = 0; d < point.size(); ++d) {
    const bool gone = Goes(node, d);
    if (point[d].loop) (gone ? reduced : kept).push_back(point[d].loop);
    if (!gone)
      left.push_back(point[d]);
    else if (node.keep)
      left.push_back({});
  }
  if (reduced.empty()) {
    // Every extent is 1: the value itself, but that sums and means begin with 0, to which -0 adds
    // nothing.
    ElementPtr value = CastTo(Value(arg, point), node.dtype);
    if ((node.op == Op::kSum || node.op == Op::kMean) && IsFloat(node.dtype))
      value = MakeOp(Op::kAdd, node.dtype, {Identity(FoldOp::kSum, node.dtype), value});
    return Emit(Nest(kept, {Of(stage::Store{PlaceAt(target, left), value, nullptr})}, true));
  }
  if (EmitOneHot(target, node, all, kept, point, left)) return;
  const bool lanes_go = all.back() == reduced.back();
  if (IsSmallWindow(node) && (!lanes_go || IsSideBySide(node, kept, point)))
    return EmitFold(target, node, kept, point, left);
  if (lanes_go) return EmitLaneReduce(target, node, kept, reduced, point, left);
  EmitRowReduce(target, node, kept, reduced, point, left);
}

/// The last axis goes: a scalar for each point that stays.
void Lowering::EmitLaneReduce(const Target& target, const Node& node, const Loops& kept,
                              const Loops& reduced, const Point& point, const Point& left) {
  const LoopId lanes = reduced.back();
  ElementPtr value = Value(*node.args[0], point);
  if (!LanesFit(*value, lanes)) value = Materialised(*node.args[0], point);
  const bool located = ClassOf(node.op) == OpClass::kLocation;
  Fold fold{span_, {}, node.op, located ? value : CastTo(value, node.dtype)};
  const auto pass = [&] { return Of(stage::Reduce{lanes, {fold}, {}, {}}); };
  Stages inner;
  const std::string_view hint = located ? "place" : HintOf(AsFold(node.op));
  const VariableId result = NewVariable(std::string(hint), node.dtype, reduced.size() > 1);
  if (reduced.size() > 1) {
    inner.push_back(Of(stage::Define{result, Identity(AsFold(node.op), node.dtype)}));
    fold.variable = NewVariable("row", node.dtype, false);
    const ElementPtr sum =
        MakeOp(Folding(AsFold(node.op)), node.dtype, {Variable(result), Variable(fold.variable)});
    inner.push_back(Nest({reduced.begin(), reduced.end() - 1},
                         {pass(), Of(stage::Assign{result, sum})}, false));
    // Nest keeps one stage only where there are no loops; here there is one at least.
  } else {
    fold.variable = result;
    inner.push_back(pass());
  }
  inner.push_back(Of(stage::Store{PlaceAt(target, left), Variable(result), nullptr}));
  EmitWithin(kept, std::move(inner));
}

/// Whether each result is made of a few elements of an input, such as those that pooling takes
/// together.
bool Lowering::IsSmallWindow(const Node& node) const {
  constexpr int64_t kMost = 16;
  const Node* arg = node.args[0].get();
  Size count = 1;
  for (const size_t axis : node.axes) count = count * arg->shape[axis];
  while (arg->op == Op::kCast) arg = arg->args[0].get();
  return count.Constant().value_or(kMost + 1) <= kMost && ReadsConstantInput(*arg);
}

/// Whether the windows of neighbouring results lie side by side in memory, as those of a pooling
/// along rows do, so that lanes may be results.
bool Lowering::IsSideBySide(const Node& node, const Loops& kept, const Point& point) {
  constexpr int64_t kMostApart = 8;  // elements: vectors of lines have several results each
  if (kept.empty()) return false;
  Point first = point;
  for (size_t d = 0; d < first.size(); ++d) {
    if (Goes(node, d)) first[d] = {};
  }
  const ElementPtr value = Value(*node.args[0], first);
  bool beside = LanesFit(*value, kept.back());
  ForEachElement(value, [&](const Element& e) {
    const Place* const place = LoadedBy(e);
    if (!place) return;
    const Coordinate& last = place->at.back();
    beside = beside && last.loop == kept.back() && 1 < last.stride && last.stride <= kMostApart;
  });
  return beside;
}

/// All elements in one expression.
void Lowering::EmitFold(const Target& target, const Node& node, const Loops& kept,
                        const Point& point, const Point& left) {
  const Node& arg = *node.args[0];
  const FoldOp fold = AsFold(node.op);
  int64_t count = 1;
  for (const size_t axis : node.axes) count *= *arg.shape[axis].Constant();
  // A sum of nothing but -0 is 0, so it begins with that.
  const bool adds = fold == FoldOp::kSum || fold == FoldOp::kMean;
  ElementPtr all = adds ? Identity(fold, node.dtype) : nullptr;
  for (int64_t k = 0; k < count; ++k) {
    Point at = point;
    int64_t rest = k;
    for (size_t d = at.size(); d-- > 0;) {
      if (!Goes(node, d)) continue;
      const int64_t extent = *arg.shape[d].Constant(), i = rest % extent;
      rest /= extent;
      at[d] = {{}, i == 0 ? nullptr : IndexConstant(i), {}};
    }
    const ElementPtr value = CastTo(Value(arg, at), node.dtype);
    all = all ? MakeOp(Folding(fold), node.dtype, {all, value}) : value;
  }
  Emit(Nest(kept, {Of(stage::Store{PlaceAt(target, left), all, nullptr})}, true));
}

/// The last axis stays: rows are folded into a row, in the order in which memory holds them.
void Lowering::EmitRowReduce(const Target& target, const Node& node, const Loops& kept,
                             const Loops& reduced, const Point& point, const Point& left) {
  Loops first_loops;
  Point first = left;
  for (Coordinate& c : first) {
    if (c.loop) first_loops.push_back(c.loop = NewLoop(plan_[c.loop].space));
  }
  const stage::Store begin{PlaceAt(target, first), Identity(AsFold(node.op), node.dtype), nullptr};
  const ElementPtr value = CastTo(Value(*node.args[0], point), node.dtype);
  Emit(Nest(first_loops, {Of(begin)}, true));

  const Place place = PlaceAt(target, left);
  const ElementPtr sum =
      MakeOp(Folding(AsFold(node.op)), node.dtype, {LoadOf(place, node.dtype), value});
  Loops order(kept.begin(), kept.end() - 1);
  order.insert(order.end(), reduced.begin(), reduced.end());
  order.push_back(kept.back());
  Emit(Nest(order, {Of(stage::Store{place, sum, nullptr})}, true));
}

/// Whether `value` comes before the best so far, at `place`: the first one always does; then a
/// larger one, or the first NaN.
ElementPtr Lowering::IsBetter(const Node& node, const ElementPtr& value, const ElementPtr& best,
                              const ElementPtr& place) {
  const auto is = [](Op op, ElementPtr x, ElementPtr y) {
    return MakeOp(op, DType::kBool, {std::move(x), std::move(y)});
  };
  ElementPtr better = is(node.op == Op::kArgmax ? Op::kGt : Op::kLt, value, best);
  if (IsFloat(value->dtype)) {
    const ElementPtr first_nan = is(Op::kAnd, is(Op::kNe, value, value), is(Op::kEq, best, best));
    better = is(Op::kOr, better, first_nan);
  }
  return is(Op::kOr, is(Op::kLt, place, ConstantOf(DType::kI32, 0, 0)), better);
}

/// Positions of the largest or smallest along axes.
void Lowering::EmitArg(const Target& target, const Node& node) {
  const Node& arg = *node.args[0];
  Loops all, kept, walked;
  const Point point = LoopsOver(spaces_.SpacesOf(arg), &all);
  Point left;
  for (size_t d = 0; d < point.size(); ++d) {
    const bool gone = Goes(node, d);
    if (point[d].loop) (gone ? walked : kept).push_back(point[d].loop);
    if (!gone)
      left.push_back(point[d]);
    else if (node.keep)
      left.push_back({});
  }
  const bool has_lanes = walked.size() == 1 && arg.dtype != DType::kBool;
  constexpr int64_t kFewest = 16;  // what fewer elements have in their lanes is put together slowly
  const bool few = has_lanes && spaces_.spaces()[plan_[walked[0]].space].extent.Constant().value_or(
                                    kFewest) < kFewest;
  if (has_lanes && !few && all.back() == walked.back())
    return EmitLaneReduce(target, node, kept, walked, point, left);
  if (has_lanes && all.back() != walked.back())
    return EmitRowArg(target, node, kept, walked[0], point, left);
  EmitScalarArg(target, node, kept, walked, point, left);
}

/// Rows are looked at one after the other, all their lanes at once.
void Lowering::EmitRowArg(const Target& target, const Node& node, const Loops& kept, LoopId walked,
                          const Point& point, const Point& left) {
  const Node& arg = *node.args[0];
  Shape shape;
  Spaces spaces;
  for (size_t d = 0; d < arg.shape.size(); ++d) {
    if (Goes(node, d) && !node.keep) continue;
    shape.push_back(Goes(node, d) ? Size(1) : arg.shape[d]);
    spaces.push_back(Goes(node, d) ? SpaceId() : spaces_.SpacesOf(arg)[d]);
  }
  const BufferId found = NewTemp("best", arg.dtype, shape, spaces);
  const auto best_at = [&](const Point& at) { return PlaceAt(WholeOf(found, at.size()), at); };
  Loops first_loops;
  Point first = left;
  for (Coordinate& c : first) {
    if (c.loop) first_loops.push_back(c.loop = NewLoop(plan_[c.loop].space));
  }
  const stage::Store no_value{best_at(first), ConstantOf(arg.dtype, 0, 0), nullptr},
      no_place{PlaceAt(target, first), ConstantOf(DType::kI32, -1, 0), nullptr};
  Emit(Nest(first_loops, {Of(no_value), Of(no_place)}, true));

  const Place best = best_at(left), place = PlaceAt(target, left);
  const VariableId value = NewVariable("value", arg.dtype, false),
                   better = NewVariable("better", DType::kBool, false);
  Coordinate along;
  along.loop = walked;
  const ElementPtr here = CastTo(CoordinateValue(along, DType::kIndex), DType::kI32);
  const ElementPtr is_better =
      IsBetter(node, Variable(value), LoadOf(best, arg.dtype), LoadOf(place, DType::kI32));
  const auto taken = [&](const Place& to, const ElementPtr& e) {
    const ElementPtr before = LoadOf(to, e->dtype);
    return Of(
        stage::Store{to, MakeOp(Op::kWhere, e->dtype, {Variable(better), e, before}), nullptr});
  };
  Loops order(kept.begin(), kept.end() - 1);
  order.push_back(walked);
  order.push_back(kept.back());
  Emit(Nest(order,
            {Of(stage::Define{value, Value(arg, point)}), Of(stage::Define{better, is_better}),
             taken(best, Variable(value)), taken(place, here)},
            true));
}

/// One element after the other.
void Lowering::EmitScalarArg(const Target& target, const Node& node, const Loops& kept,
                             const Loops& walked, const Point& point, const Point& left) {
  const Node& arg = *node.args[0];
  ElementPtr position = IndexConstant(0);
  for (size_t d = 0; d < point.size(); ++d) {
    if (!Goes(node, d)) continue;
    const ElementPtr extent = Scalar(*arg.shape[d].ToNode());
    position = AddOffsets(MakeOp(Op::kMul, DType::kIndex, {position, extent}),
                          CoordinateValue(point[d], DType::kIndex));
  }
  const DType dtype = arg.dtype;
  const VariableId best = NewVariable("best", dtype, true);
  const VariableId place = NewVariable("place", DType::kI32, true);
  const VariableId value = NewVariable("value", dtype, false);
  const ElementPtr v = Variable(value), p = Variable(place);
  const stage::Assign take_value{best, v}, take_place{place, CastTo(position, DType::kI32)};
  const Stages take{Of(take_value), Of(take_place)};
  const Stages each{Of(stage::Define{value, Value(arg, point)}),
                    Of(stage::If{IsBetter(node, v, Variable(best), p), take, {}})};
  Stages inner{Of(stage::Define{best, ConstantOf(dtype, 0, 0)}),
               Of(stage::Define{place, ConstantOf(DType::kI32, -1, 0)})};
  if (walked.empty())
    Append(inner, each);
  else
    inner.push_back(Nest(walked, each, false));
  inner.push_back(Of(stage::Store{PlaceAt(target, left), p, nullptr}));
  EmitWithin(kept, std::move(inner));
}

}  // namespace kiln
