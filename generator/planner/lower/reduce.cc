#include <algorithm>
#include <limits>

#include "generator/planner/lower/lowering.h"

namespace kiln {
namespace {

std::shared_ptr<Element> ConstantOf(DType dtype, int64_t i, double f) {
  auto e = std::make_shared<Element>();
  e->dtype = dtype;
  e->int_value = i;
  e->float_value = f;
  return e;
}

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

/// What leaves the other argument as it is.
ElementPtr Identity(FoldOp fold, DType dtype) {
  switch (fold) {
    case FoldOp::kSum:
    case FoldOp::kMean:
    case FoldOp::kAny:
      return ConstantOf(dtype, 0, 0);
    case FoldOp::kProd:
      return ConstantOf(dtype, 1, 1);
    case FoldOp::kReduceMax:
      return ConstantOf(dtype, MinOf(dtype), -GreatestFloat(dtype));
    case FoldOp::kReduceMin:
      return ConstantOf(dtype, MaxOf(dtype), GreatestFloat(dtype));
    case FoldOp::kAll:
      return ConstantOf(dtype, 1, 0);
  }
  __builtin_unreachable();
}

/// The operation that folds two values.
Op Folding(FoldOp fold) {
  switch (fold) {
    case FoldOp::kSum:
    case FoldOp::kMean:
      return Op::kAdd;
    case FoldOp::kProd:
      return Op::kMul;
    case FoldOp::kReduceMax:
      return Op::kMax;
    case FoldOp::kReduceMin:
      return Op::kMin;
    case FoldOp::kAny:
      return Op::kBitOr;
    case FoldOp::kAll:
      return Op::kBitAnd;
  }
  __builtin_unreachable();
}

ElementPtr CastTo(ElementPtr value, DType dtype) {
  return value->dtype == dtype ? value : MakeOp(Op::kCast, dtype, {value});
}

ElementPtr LoadOf(const Place& place, DType dtype) {
  auto load = std::make_shared<Element>();
  load->kind = Element::Kind::kLoad;
  load->dtype = dtype;
  load->place = place;
  return load;
}

}  // namespace

/// The axes of a reduction's argument, those that go and those that stay, as loops; and the point
/// of the result.
void Lowering::EmitReduce(const Target& target, const Node& node) {
  const Node& arg = *node.args[0];
  std::vector<int> all, kept, reduced;
  const Point point = LoopsOver(spaces_.SpacesOf(arg), &all);
  Point left;
  for (size_t d = 0; d < point.size(); ++d) {
    const bool gone =
        std::find(node.axes.begin(), node.axes.end(), static_cast<int>(d)) != node.axes.end();
    if (point[d].loop >= 0) (gone ? reduced : kept).push_back(point[d].loop);
    if (!gone)
      left.push_back(point[d]);
    else if (node.keep)
      left.push_back({});
  }
  if (reduced.empty()) {
    // Every extent is 1: the value itself.
    Stage store = StageOf(Stage::Kind::kStore, span_);
    store.place = PlaceAt(target, left);
    store.value = CastTo(Value(arg, point), node.dtype);
    return Emit(Nest(kept, {store}, true));
  }
  const bool lanes_go = all.back() == reduced.back();
  if (lanes_go) return EmitLaneReduce(target, node, kept, reduced, point, left);
  EmitRowReduce(target, node, kept, reduced, point, left);
}

/// The last axis goes: a scalar for each point that stays.
void Lowering::EmitLaneReduce(const Target& target, const Node& node, const std::vector<int>& kept,
                              const std::vector<int>& reduced, const Point& point,
                              const Point& left) {
  Stage fold = StageOf(Stage::Kind::kReduce, span_);
  fold.loop = reduced.back();
  fold.op = node.op;
  ElementPtr value = Value(*node.args[0], point);
  if (!LanesFit(*value, fold.loop)) value = Materialised(*node.args[0], point);
  fold.value = CastTo(value, node.dtype);
  Stages inner;
  const int result = NewVariable(HintOf(AsFold(node.op)), node.dtype, reduced.size() > 1);
  if (reduced.size() > 1) {
    Stage begin = StageOf(Stage::Kind::kDefine, span_);
    begin.variable = result;
    begin.value = Identity(AsFold(node.op), node.dtype);
    inner.push_back(begin);
    fold.variable = NewVariable("row", node.dtype, false);
    Stage add = StageOf(Stage::Kind::kAssign, span_);
    add.variable = result;
    add.value =
        MakeOp(Folding(AsFold(node.op)), node.dtype, {Variable(result), Variable(fold.variable)});
    inner.push_back(Nest({reduced.begin(), reduced.end() - 1}, {fold, add}, false));
    // Nest keeps one stage only where there are no loops; here there is one at least.
  } else {
    fold.variable = result;
    inner.push_back(fold);
  }
  Stage store = StageOf(Stage::Kind::kStore, span_);
  store.place = PlaceAt(target, left);
  store.value = Variable(result);
  inner.push_back(store);
  if (kept.empty()) {
    for (Stage& stage : inner) Emit(std::move(stage));
    return;
  }
  Emit(Nest(kept, std::move(inner), false));
}

/// The last axis stays: rows are folded into a row, in the order in which memory holds them.
void Lowering::EmitRowReduce(const Target& target, const Node& node, const std::vector<int>& kept,
                             const std::vector<int>& reduced, const Point& point,
                             const Point& left) {
  std::vector<int> first_loops;
  Point first = left;
  for (Coordinate& c : first) {
    if (c.loop >= 0)
      first_loops.push_back(c.loop = NewLoop(plan_.loops[static_cast<size_t>(c.loop)]));
  }
  Stage begin = StageOf(Stage::Kind::kStore, span_);
  begin.place = PlaceAt(target, first);
  begin.value = Identity(AsFold(node.op), node.dtype);
  const ElementPtr value = CastTo(Value(*node.args[0], point), node.dtype);
  Emit(Nest(first_loops, {begin}, true));

  Stage add = StageOf(Stage::Kind::kStore, span_);
  add.place = PlaceAt(target, left);
  add.value = MakeOp(Folding(AsFold(node.op)), node.dtype, {LoadOf(add.place, node.dtype), value});
  std::vector<int> order(kept.begin(), kept.end() - 1);
  order.insert(order.end(), reduced.begin(), reduced.end());
  order.push_back(kept.back());
  Emit(Nest(order, {add}, true));
}

/// Positions of the largest or smallest: scalars, one element after the other.
void Lowering::EmitArg(const Target& target, const Node& node) {
  const Node& arg = *node.args[0];
  std::vector<int> all, kept, walked;
  const Point point = LoopsOver(spaces_.SpacesOf(arg), &all);
  Point left;
  ElementPtr position = IndexConstant(0);
  for (size_t d = 0; d < point.size(); ++d) {
    const bool gone =
        std::find(node.axes.begin(), node.axes.end(), static_cast<int>(d)) != node.axes.end();
    if (point[d].loop >= 0) (gone ? walked : kept).push_back(point[d].loop);
    if (!gone) {
      left.push_back(point[d]);
      continue;
    }
    if (node.keep) left.push_back({});
    const ElementPtr extent = Scalar(*arg.shape[d].ToNode());
    position = MakeOp(Op::kAdd, DType::kIndex,
                      {MakeOp(Op::kMul, DType::kIndex, {position, extent}),
                       CoordinateValue(point[d], DType::kIndex)});
  }
  const bool largest = node.op == Op::kArgmax;
  const DType dtype = arg.dtype;
  const int best = NewVariable("best", dtype, true);
  const int place = NewVariable("place", DType::kI32, true);
  const int value = NewVariable("value", dtype, false);
  const auto define = [&](int variable, ElementPtr e, Stage::Kind kind) {
    Stage stage = StageOf(kind, span_);
    stage.variable = variable;
    stage.value = std::move(e);
    return stage;
  };
  const ElementPtr v = Variable(value), b = Variable(best), p = Variable(place);
  // The first one always counts; then a larger one, or the first NaN.
  const auto is = [&](Op op, ElementPtr x, ElementPtr y) {
    return MakeOp(op, DType::kBool, {x, y});
  };
  ElementPtr better = is(largest ? Op::kGt : Op::kLt, v, b);
  if (IsFloat(dtype)) {
    better = is(Op::kOr, better, is(Op::kAnd, is(Op::kNe, v, v), is(Op::kEq, b, b)));
  }
  better = is(Op::kOr, is(Op::kLt, p, ConstantOf(DType::kI32, 0, 0)), better);

  Stage test = StageOf(Stage::Kind::kIf, span_);
  test.value = better;
  test.body = {define(best, v, Stage::Kind::kAssign),
               define(place, CastTo(position, DType::kI32), Stage::Kind::kAssign)};
  Stages each{define(value, Value(arg, point), Stage::Kind::kDefine), test};
  Stages inner{define(best, ConstantOf(dtype, 0, 0), Stage::Kind::kDefine),
               define(place, ConstantOf(DType::kI32, -1, 0), Stage::Kind::kDefine)};
  if (walked.empty()) {
    inner.insert(inner.end(), each.begin(), each.end());
  } else {
    inner.push_back(Nest(walked, each, false));
  }
  Stage store = StageOf(Stage::Kind::kStore, span_);
  store.place = PlaceAt(target, left);
  store.value = p;
  inner.push_back(store);
  if (kept.empty()) {
    for (Stage& stage : inner) Emit(std::move(stage));
    return;
  }
  Emit(Nest(kept, std::move(inner), false));
}

/// Running sums: rows add to a carried row, and along the last axis elements to a scalar.
void Lowering::EmitCumsum(const Target& target, const Node& node) {
  const Node& arg = *node.args[0];
  std::vector<int> all, others;
  const Point point = LoopsOver(spaces_.SpacesOf(arg), &all);
  const Coordinate along = point[static_cast<size_t>(node.axes[0])];
  for (int loop : all)
    if (loop != along.loop) others.push_back(loop);
  const ElementPtr value = CastTo(Value(arg, point), node.dtype);
  Stage store = StageOf(Stage::Kind::kStore, span_);
  store.place = PlaceAt(target, point);
  if (along.loop < 0) {
    store.value = value;
    return Emit(Nest(all, {store}, true));
  }
  if (along.loop == all.back()) {
    const int sum = NewVariable("running", node.dtype, true);
    Stage begin = StageOf(Stage::Kind::kDefine, span_);
    begin.variable = sum;
    begin.value = Identity(FoldOp::kSum, node.dtype);
    Stage add = StageOf(Stage::Kind::kAssign, span_);
    add.variable = sum;
    add.value = MakeOp(Op::kAdd, node.dtype, {Variable(sum), value});
    store.value = Variable(sum);
    Stages inner{begin, Nest({along.loop}, {add, store}, false)};
    if (others.empty()) {
      for (Stage& stage : inner) Emit(std::move(stage));
      return;
    }
    return Emit(Nest(others, inner, false));
  }
  // A buffer with the shape of one row along the axis.
  Shape shape = node.shape;
  std::vector<int> spaces = spaces_.SpacesOf(arg);
  shape[static_cast<size_t>(node.axes[0])] = 1;
  spaces[static_cast<size_t>(node.axes[0])] = -1;
  const int carry = NewTemp("", node.dtype, shape, spaces);
  std::vector<int> first_loops;
  const Point first = LoopsOver(spaces, &first_loops);
  Stage begin = StageOf(Stage::Kind::kStore, span_);
  begin.place = PlaceAt(WholeOf(carry, first.size()), first);
  begin.value = Identity(FoldOp::kSum, node.dtype);
  Emit(Nest(first_loops, {begin}, true));

  Point row = point;
  row[static_cast<size_t>(node.axes[0])] = {};
  Stage add = StageOf(Stage::Kind::kStore, span_);
  add.place = PlaceAt(WholeOf(carry, row.size()), row);
  add.value = MakeOp(Op::kAdd, node.dtype, {LoadOf(add.place, node.dtype), value});
  store.value = LoadOf(add.place, node.dtype);
  std::vector<int> order(others.begin(), others.end() - 1);
  order.push_back(along.loop);
  order.push_back(others.back());
  Emit(Nest(order, {add, store}, true));
}

}  // namespace kiln
