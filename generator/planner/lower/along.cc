#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// What looks along an axis from element to element: scans, sorts.
namespace kiln {
namespace {

/// What a scan folds its elements by.
FoldOp FoldOf(ScanOp scan) {
  switch (scan) {
    case ScanOp::kCumsum:
      return FoldOp::kSum;
    case ScanOp::kCumprod:
      return FoldOp::kProd;
    case ScanOp::kCummax:
      return FoldOp::kReduceMax;
    case ScanOp::kCummin:
      return FoldOp::kReduceMin;
  }
  __builtin_unreachable();
}

/// Whether the elements of the place along the loop are a fixed distance apart.
bool IsLine(const Place& place, LoopId loop) {
  int times = 0;
  for (const Coordinate& c : place.at) {
    if (c.around || (c.offset && DependsOn(*c.offset, loop))) return false;
    times += c.loop == loop;
  }
  return times == 1;
}

/// So long lines are worth a network of whole rows, which compares each element with more others
/// the more there are, and has all of them at hand.
constexpr int64_t kLongestSideBySide = 1024;

/// Whether the elements of the place along the loop are neighbours, and nothing else of it depends
/// on that.
bool AreNeighbouring(const Place& place, LoopId loop) {
  return IsLine(place, loop) && place.at.back().loop == loop && place.at.back().stride == 1;
}

/// Whether lines along the axis of a node may be sorted side by side, for each turn of the last of
/// `others` the next.
bool SuitSideBySide(const Node& node, const Place& to, const std::vector<LoopId>& others) {
  const std::optional<int64_t> count =
      node.args[0]->shape[static_cast<size_t>(node.axes[0])].Constant();
  return node.op == Op::kSort && !IsPacked(node.dtype) && count && *count <= kLongestSideBySide &&
         !others.empty() && AreNeighbouring(to, others.back());
}

}  // namespace

/// Running sums and their like: along the last axis by a call for each line; along another, rows
/// are folded into a carried row.
void Lowering::EmitScan(const Target& target, const Node& node) {
  const auto axis = static_cast<size_t>(node.axes[0]);
  const Spaces spaces = spaces_.SpacesOf(*node.args[0]);
  const bool lines = std::none_of(spaces.begin() + node.axes[0] + 1, spaces.end(),
                                  [](SpaceId space) { return bool(space); });
  if (!spaces[axis] || lines) return EmitAlong(target, node);
  EmitRowScan(target, node, axis);
}

void Lowering::EmitRowScan(const Target& target, const Node& node, size_t axis) {
  const Node& arg = *node.args[0];
  const FoldOp fold = FoldOf(AsScan(node.op));
  Loops all, others;
  const Point point = LoopsOver(spaces_.SpacesOf(arg), &all);
  const Coordinate along = point[axis];
  for (const LoopId loop : all)
    if (loop != along.loop) others.push_back(loop);
  const ElementPtr value = CastTo(Value(arg, point), node.dtype);
  // A buffer with the shape of one row along the axis.
  Shape shape = node.shape;
  Spaces spaces = spaces_.SpacesOf(arg);
  shape[axis] = 1;
  spaces[axis] = {};
  const BufferId carry = NewTemp("", node.dtype, shape, spaces);
  Loops first_loops;
  const Point first = LoopsOver(spaces, &first_loops);
  const stage::Store begin{PlaceAt(WholeOf(carry, first.size()), first), Identity(fold, node.dtype),
                           nullptr};
  Emit(Nest(first_loops, {Of(begin)}, true));

  Point row = point;
  row[axis] = {};
  const Place carried = PlaceAt(WholeOf(carry, row.size()), row);
  const ElementPtr load = LoadOf(carried, node.dtype);
  const stage::Store add{carried, MakeOp(Folding(fold), node.dtype, {load, value}), nullptr};
  const stage::Store store{PlaceAt(target, point), load, nullptr};
  Loops order(others.begin(), others.end() - 1);
  order.push_back(along.loop);
  order.push_back(others.back());
  Emit(Nest(order, {Of(add), Of(store)}, true));
}

/// A call for each line along the axis, or for all that lie side by side.
void Lowering::EmitAlong(const Target& target, const Node& node) {
  const Node& arg = *node.args[0];
  const auto axis = static_cast<size_t>(node.axes[0]);
  Spaces from = spaces_.SpacesOf(arg);
  const SpaceId into = spaces_.SpacesOf(node)[axis], walked = std::exchange(from[axis], {});
  Loops others;
  Point to = LoopsOver(from, &others), point = to;
  stage::Along along;
  along.op = node.op;
  along.descending = node.descending;
  if (walked) point[axis].loop = along.loop = NewLoop(walked);
  if (into) to[axis].loop = along.into = into == walked ? along.loop : NewLoop(into);
  along.to = PlaceAt(target, to);
  const bool positions = RowOf(node.op).result == ResultType::kI32;
  if (!walked) {  // one element alone
    const ElementPtr only = positions ? ConstantOf(DType::kI32, 0, 0) : Value(arg, point);
    return Emit(Nest(others, {Of(stage::Store{along.to, only, nullptr})}, true));
  }
  const bool suit = SuitSideBySide(node, along.to, others);
  const auto is_side_by_side = [&](const Place& place) {
    return suit && AreNeighbouring(place, others.back());
  };
  ElementPtr value = Value(arg, point);
  const Place* const line = LoadedBy(*value);
  // A line of neighbours is as well read as it is.
  const bool is_line = line && IsLine(*line, along.loop) &&
                       (!suit || is_side_by_side(*line) || AreNeighbouring(*line, along.loop));
  if (!is_line) value = Materialised(arg, point);
  along.from = *LoadedBy(*value);
  if (is_side_by_side(along.from)) {
    along.lines = others.back();
    others.pop_back();
  }
  if (ClassOf(node.op) == OpClass::kOrder) along.room = RoomFor(arg.shape[axis], bool(along.lines));
  EmitWithin(others, {Of(std::move(along))});
}

/// Memory in which so many elements are put in order: a key and a position for each, twice, and two
/// vectors; of lines side by side a row of keys for each (runtime/kiln/order/line-inl.h).
Place Lowering::RoomFor(const Size& count, bool side_by_side) {
  constexpr int64_t kMore = 64, kWordsOfRow = 16;
  const Size words = count * Size(side_by_side ? kWordsOfRow : 2) + Size(kMore);
  const BufferId room = NewTemp("room", DType::kI64, {words}, {SpaceId()});
  plan_.buffers[room].dense = true;
  return {room, {Coordinate{}}};
}

}  // namespace kiln
