#include <algorithm>

#include "generator/planner/lower/lowering.h"

namespace kiln {
/// The coordinates of an argument that is broadcast to the point's tile.
Lowering::Point Lowering::Aligned(const Point& point, const Shape& shape) {
  Point aligned(point.end() - static_cast<std::ptrdiff_t>(std::min(shape.size(), point.size())),
                point.end());
  for (size_t d = 0; d < aligned.size(); ++d) {
    if (shape[d].IsOne()) aligned[d] = {};
  }
  return aligned;
}

/// `origin`: of the array, is added; null: 0.
ElementPtr Lowering::CoordinateValue(const Coordinate& c, DType dtype,
                                     const ElementPtr& origin) const {
  ElementPtr value;
  if (c.loop) value = MakeElement(DType::kIndex, element::Iteration{c.loop});
  if (c.loop && c.stride != 1)
    value = MakeOp(Op::kMul, DType::kIndex, {value, IndexConstant(c.stride)});
  value = AddOffsets(AddOffsets(value, c.offset), origin);
  return CastTo(value ? value : IndexConstant(0), dtype);
}

ElementPtr Lowering::Value(const Node& node, const Point& point) {
  if (const auto kept = kept_.find(&node); kept != kept_.end())
    return LoadOf({kept->second, point}, node.dtype);
  switch (ClassOf(node.op)) {
    case OpClass::kLeaf:
      return Given(node, point);
    case OpClass::kShape:
      return Moved(node, point);
    case OpClass::kFold:
      return node.op == Op::kMean ? Mean(node, point) : Materialised(node, point);
    case OpClass::kLocation:
    case OpClass::kScan:
    case OpClass::kOrder:
    case OpClass::kProduct:
      return Materialised(node, point);
    case OpClass::kLazy:
      if (node.op == Op::kIf && !node.shape.empty()) return Materialised(node, point);
      return Elementwise(node, point);
    case OpClass::kArithmetic:
    case OpClass::kComparison:
    case OpClass::kFunction:
    case OpClass::kSpecial:
      return Elementwise(node, point);
  }
  __builtin_unreachable();
}

ElementPtr Lowering::Given(const Node& node, const Point& point) {
  const auto is_step = [&](End end) {
    return MakeElement(DType::kBool, element::IsStep{end, AxisId(node.index)});
  };
  const auto is_visit = [&](End end) {
    return MakeElement(DType::kBool, element::IsVisit{end, RefId(node.index)});
  };
  switch (AsLeaf(node.op)) {
    case LeafOp::kConst:
      return ConstantOf(node);
    case LeafOp::kAxis:
      return MakeElement(node.dtype, element::Step{AxisId(node.index)});
    case LeafOp::kSteps:
      return MakeElement(node.dtype, element::Steps{AxisId(node.index)});
    case LeafOp::kDim:
      return MakeElement(node.dtype, element::Extent{DimId(node.index)});
    case LeafOp::kFirstStep:
      return is_step(End::kFirst);
    case LeafOp::kLastStep:
      return is_step(End::kLast);
    case LeafOp::kFirstVisit:
      return is_visit(End::kFirst);
    case LeafOp::kLastVisit:
      return is_visit(End::kLast);
    case LeafOp::kRead:
      return Read(node, point);
    case LeafOp::kLocal:
      return ReadLocal(node, point);
    case LeafOp::kInside:
      return InsideMask(node, point);
    case LeafOp::kAt: {
      const size_t axis = node.axes[0];
      const ElementPtr origin = MakeElement(
          DType::kIndex, element::Edge{element::Edge::Which::kOrigin, RefId(node.index), axis});
      return CoordinateValue(point[axis], node.dtype, origin);
    }
  }
  __builtin_unreachable();
}

ElementPtr Lowering::Moved(const Node& node, const Point& point) {
  switch (AsShape(node.op)) {
    case ShapeOp::kIota:
      return CoordinateValue(point[node.axes[0]], node.dtype);
    case ShapeOp::kBroadcast:
      return Value(*node.args[0], Aligned(point, node.args[0]->shape));
    case ShapeOp::kTranspose: {
      Point turned(point.size());
      for (size_t d = 0; d < point.size(); ++d) turned[node.axes[d]] = point[d];
      return Value(*node.args[0], turned);
    }
    case ShapeOp::kReshape:
      return Reshaped(node, point);
    case ShapeOp::kSlice:
      return Value(*node.args[0],
                   Subscripted("a value", node.subscripts, node.args[0]->shape, point));
    case ShapeOp::kRoll:
      return Roll(node, point);
    case ShapeOp::kTake:
      return Take(node, point);
    case ShapeOp::kTakeAlong:
      return TakeAlong(node, point);
    case ShapeOp::kFlip:
      return Value(*node.args[0], Flipped(node, point));
    case ShapeOp::kConcat:
      return Materialised(node, point);
  }
  __builtin_unreachable();
}

ElementPtr Lowering::Mean(const Node& node, const Point& point) {
  Size count = 1;
  for (const size_t axis : node.axes) count = count * node.args[0]->shape[axis];
  return MakeOp(Op::kDiv, node.dtype,
                {SumOf(node, point), CastTo(Scalar(*count.ToNode()), node.dtype)});
}

ElementPtr Lowering::Elementwise(const Node& node, const Point& point) {
  const Op op = node.op;
  std::vector<ElementPtr> args;
  const bool lazy = ClassOf(op) == OpClass::kLazy;
  for (const NodePtr& arg : node.args) {
    const Point at = Aligned(point, arg->shape);
    const bool second = lazy && !args.empty();
    const bool holds = op == Op::kAnd || (op == Op::kIf && args.size() == 1);
    args.push_back(second                    ? Guarded(args[0], holds, *arg, at)
                   : IsOfColumns(*arg, node) ? OfColumns(*arg, at)
                                             : Value(*arg, at));
  }
  if (MayHaveNoValue(node)) args.push_back(MakeElement(node.dtype, element::NoValue{}));
  // A cast from index arithmetic to itself changes nothing.
  if (op == Op::kCast && args[0]->dtype == node.dtype) return args[0];
  const bool checked =
      MayOverflow(node, kernel_, [this](LocalId local) { return RangeOfLocal(local); });
  const int line = checked ? kernel_.source->Locate(node.span.begin).line : 0;
  if (op == Op::kPow) return PowerOf(node, std::move(args), line);
  return MakeOp(op, node.dtype, std::move(args), line);
}

/// `name`: none for a prefetch array, whose elements are checked as they are read.
Lowering::Point Lowering::Subscripted(const std::string& name,
                                      const std::vector<Subscript>& subscripts,
                                      const Shape& extents, const Point& point) {
  if (subscripts.empty()) return point;
  Point whole(extents.size());
  size_t axis = 0;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Subscript& s = subscripts[d];
    const Coordinate c = s.range ? point[axis++] : Coordinate{};
    const ElementPtr start = name.empty() ? Scalar(*s.start) : CheckedStart(name, s, extents[d]);
    const bool moves = !IsZero(*start) || !s.range;
    whole[d] = InWindow(c, s.stride, moves ? start : nullptr);
  }
  return whole;
}

ElementPtr Lowering::Read(const Node& node, const Point& point) {
  const RefId ref(node.index);
  const Role role = kernel_[ref].role;
  if (role == Role::kScalar) return MakeElement(node.dtype, element::Scalar{ref});
  // An element of a prefetch array is looked up within its range, and ends the call elsewhere.
  const bool looks_up = role == Role::kPrefetch && node.shape.empty();
  const std::string name = looks_up ? "" : kernel_[ref].name;
  return LoadOf({BufferOf(ref), Subscripted(name, node.subscripts, kernel_[ref].view, point)},
                node.dtype);
}

ElementPtr Lowering::ReadLocal(const Node& node, const Point& point) {
  const LocalId local(node.index);
  const auto view = views_.find(local);
  if (view != views_.end()) {
    // Its subscripts were in range when it was defined.
    const bool outside = std::exchange(in_view_, true);
    ElementPtr value = Value(*view->second, point);
    in_view_ = outside;
    return value;
  }
  if (local_variable_[local]) return CastTo(Variable(local_variable_[local]), node.dtype);
  return LoadOf({local_buffer_[local], point}, node.dtype);
}

/// Only dimensions of extent 1 come or go, or the elements are where another shape has them; else
/// they get a buffer that is seen in both shapes.
ElementPtr Lowering::Reshaped(const Node& node, const Point& point) {
  const Node& arg = *node.args[0];
  if (RegroupsDimensions(node)) {
    if (temporary_.count(&node) || PartsAlong(node)) return SeenAnew(node, point);
    if (ElementPtr joined = SeenJoined(node, point)) return joined;
    const std::optional<Point> seen = SeenThrough(node, point);
    return seen ? Value(arg, *seen) : SeenAnew(node, point);
  }
  Point kept, whole;
  for (size_t d = 0; d < point.size(); ++d)
    if (!node.shape[d].IsOne()) kept.push_back(point[d]);
  size_t next = 0;
  for (const Size& s : arg.shape) whole.push_back(s.IsOne() ? Coordinate{} : kept[next++]);
  return Value(arg, whole);
}

/// The elements in a buffer without gaps, as the other shape looks at it, or in one of that shape
/// where they are made of parts.
ElementPtr Lowering::SeenAnew(const Node& node, const Point& point) {
  const Node& arg = *node.args[0];
  const auto [it, added] = temporary_.try_emplace(&node);
  if (added && PartsAlong(node)) {
    const BufferId buffer = NewTemp("", node.dtype, node.shape, spaces_.SpacesOf(node));
    temporary_[&node] = buffer;
    EmitInto(WholeOf(buffer, node.shape.size()), node, nullptr);
  } else if (added) {
    const BufferId flat = NewTemp("", arg.dtype, arg.shape, spaces_.SpacesOf(arg));
    plan_.buffers[flat].dense = true;
    EmitInto(WholeOf(flat, arg.shape.size()), arg, nullptr);
    const BufferId seen = NewTemp("", arg.dtype, node.shape, spaces_.SpacesOf(node));
    plan_.buffers[seen].dense = true;
    plan_.buffers[seen].same_as = flat;
    temporary_[&node] = seen;
  }
  return LoadOf({temporary_[&node], point}, node.dtype);
}

ElementPtr Lowering::Roll(const Node& node, const Point& point) {
  const Node& arg = *node.args[0];
  const size_t axis = node.axes[0];
  const Size& extent = arg.shape[axis];
  if (extent.IsOne()) return Value(arg, point);
  const bool whole = arg.op == Op::kLocal || (arg.op == Op::kRead && arg.subscripts.empty());
  BufferId buffer = whole ? BufferOfLeaf(arg) : BufferId();
  if (!buffer) buffer = LoadedBy(*Materialised(arg, point))->buffer;
  // Element i comes from i - shift; what is added before the remainder must not be negative.
  const ElementPtr shift = CastTo(Scalar(*node.args[1]), DType::kIndex);
  const ElementPtr n = Scalar(*extent.ToNode());
  const ElementPtr back =
      MakeOp(Op::kSub, DType::kIndex, {n, MakeOp(Op::kMod, DType::kIndex, {shift, n})});
  Point from = point;
  from[axis].offset = AddOffsets(from[axis].offset, back);
  from[axis].around = extent;
  return LoadOf({buffer, from}, node.dtype);
}

namespace {

/// Whether an element of it is one of memory, in some place.
bool IsView(const Node& node, const Kernel& kernel) {
  switch (node.op) {
    case Op::kRead: {
      const Role role = kernel[RefId(node.index)].role;
      return role != Role::kPrefetch && role != Role::kScalar;
    }
    case Op::kLocal:
      return !node.shape.empty();
    case Op::kSlice:
    case Op::kTranspose:
    case Op::kBroadcast:
    case Op::kFlip:
      return IsView(*node.args[0], kernel);
    default:
      return false;
  }
}

}  // namespace

/// An element of the place that the index names, at which the value may have to be put first.
ElementPtr Lowering::Take(const Node& node, const Point& point) {
  const Node &arg = *node.args[0], &ids = *node.args[1];
  CheckTaken(node);
  const auto begin = point.begin() + node.axes[0];
  const auto end = begin + static_cast<std::ptrdiff_t>(ids.shape.size());
  Point from(point.begin(), begin);
  from.push_back({{}, CastTo(Value(ids, Point(begin, end)), DType::kIndex), {}});
  from.insert(from.end(), end, point.end());
  return IsView(arg, kernel_) ? Value(arg, from) : Materialised(arg, from);
}

/// The same of positions that each line of the value has of its own, which are in range: those of
/// its largest.
ElementPtr Lowering::TakeAlong(const Node& node, const Point& point) {
  const Node &arg = *node.args[0], &ids = *node.args[1];
  Point from = point;
  from[static_cast<size_t>(node.axes[0])] = {{}, CastTo(Value(ids, point), DType::kIndex), {}};
  return IsView(arg, kernel_) ? Value(arg, from) : Materialised(arg, from);
}

/// Where the elements are that are `point` of a value in reverse.
Lowering::Point Lowering::Flipped(const Node& node, const Point& point) {
  Point from = point;
  for (const int axis : node.axes) {
    const auto d = static_cast<size_t>(axis);
    const Size& extent = node.shape[d];
    if (extent.IsOne()) continue;
    const ElementPtr last = Scalar(*(extent - Size(1)).ToNode());
    from[d].stride = -from[d].stride;
    from[d].offset =
        from[d].offset ? MakeOp(Op::kSub, DType::kIndex, {last, from[d].offset}) : last;
  }
  return from;
}

ElementPtr Lowering::InsideMask(const Node& node, const Point& point) {
  using Which = element::Edge::Which;
  const RefId ref(node.index);
  ElementPtr all;
  const auto require = [&](ElementPtr test) {
    all = all ? MakeOp(Op::kBitAnd, DType::kBool, {all, test}) : test;
  };
  for (size_t axis = 0; axis < point.size(); ++axis) {
    const BlockDim& dim = kernel_[ref].DimOf(axis);
    if (dim.kind == BlockDim::Kind::kAll) continue;
    const ElementPtr at = CoordinateValue(point[axis], DType::kI32);
    const auto edge = [&](Which which) {
      return CastTo(MakeElement(DType::kIndex, element::Edge{which, ref, axis}), DType::kI32);
    };
    if (dim.kind == BlockDim::Kind::kElement) {
      require(MakeOp(Op::kGe, DType::kBool, {at, edge(Which::kLow)}));
    }
    require(MakeOp(Op::kLt, DType::kBool, {at, edge(Which::kHigh)}));
  }
  return all ? all : ConstantOf(DType::kBool, 1, 0);
}

}  // namespace kiln
