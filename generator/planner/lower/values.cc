#include <algorithm>

#include "generator/planner/lower/lowering.h"

namespace kiln {
namespace {

ElementPtr Cast(ElementPtr value, DType dtype) {
  if (value->dtype == dtype) return value;
  return MakeOp(Op::kCast, dtype, {std::move(value)});
}

}  // namespace

/// The coordinates of an argument that is broadcast to the point's tile.
Lowering::Point Lowering::Aligned(const Point& point, const Shape& shape) {
  Point aligned(point.end() - static_cast<std::ptrdiff_t>(std::min(shape.size(), point.size())),
                point.end());
  for (size_t d = 0; d < aligned.size(); ++d) {
    if (shape[d].IsOne()) aligned[d] = {};
  }
  return aligned;
}

ElementPtr Lowering::CoordinateValue(const Coordinate& c, DType dtype) const {
  ElementPtr value;
  if (c.loop >= 0) value = Leaf(Element::Kind::kLoop, DType::kIndex, c.loop);
  if (c.offset) {
    value = value ? MakeOp(Op::kAdd, DType::kIndex, {value, c.offset}) : c.offset;
  }
  if (!value) value = IndexConstant(0);
  return Cast(value, dtype);
}

ElementPtr Lowering::Value(const Node& node, const Point& point) {
  switch (ClassOf(node.op)) {
    case OpClass::kLeaf:
      return Given(node, point);
    case OpClass::kShape:
      return Moved(node, point);
    case OpClass::kFold:
      return node.op == Op::kMean ? Mean(node, point) : Materialised(node, point);
    case OpClass::kLocation:
    case OpClass::kScan:
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
  switch (AsLeaf(node.op)) {
    case LeafOp::kConst:
      return Constant(node);
    case LeafOp::kAxis:
      return Leaf(Element::Kind::kAxis, node.dtype, node.index);
    case LeafOp::kSteps:
      return Leaf(Element::Kind::kSteps, node.dtype, node.index);
    case LeafOp::kDim:
      return Leaf(Element::Kind::kDim, node.dtype, node.index);
    case LeafOp::kFirstStep:
      return Leaf(Element::Kind::kFirstStep, DType::kBool, node.index);
    case LeafOp::kLastStep:
      return Leaf(Element::Kind::kLastStep, DType::kBool, node.index);
    case LeafOp::kFirstVisit:
      return Leaf(Element::Kind::kFirstVisit, DType::kBool, node.index);
    case LeafOp::kLastVisit:
      return Leaf(Element::Kind::kLastVisit, DType::kBool, node.index);
    case LeafOp::kRead:
      return Read(node, point);
    case LeafOp::kLocal:
      return ReadLocal(node, point);
    case LeafOp::kInside:
      return InsideMask(node, point);
    case LeafOp::kAt: {
      const int axis = node.axes[0];
      ElementPtr origin = Leaf(Element::Kind::kOrigin, DType::kIndex, node.index, axis);
      return Cast(
          MakeOp(Op::kAdd, DType::kIndex,
                 {CoordinateValue(point[static_cast<size_t>(axis)], DType::kIndex), origin}),
          node.dtype);
    }
  }
  __builtin_unreachable();
}

ElementPtr Lowering::Moved(const Node& node, const Point& point) {
  switch (AsShape(node.op)) {
    case ShapeOp::kIota:
      return CoordinateValue(point[static_cast<size_t>(node.axes[0])], node.dtype);
    case ShapeOp::kBroadcast:
      return Value(*node.args[0], Aligned(point, node.args[0]->shape));
    case ShapeOp::kTranspose: {
      Point turned(point.size());
      for (size_t d = 0; d < point.size(); ++d)
        turned[static_cast<size_t>(node.axes[d])] = point[d];
      return Value(*node.args[0], turned);
    }
    case ShapeOp::kReshape:
      return Reshaped(node, point);
    case ShapeOp::kSlice:
      return Value(*node.args[0],
                   Subscripted("a value", node.subscripts, node.args[0]->shape, point));
    case ShapeOp::kRoll:
      return Roll(node, point);
    case ShapeOp::kConcat:
      return Materialised(node, point);
  }
  __builtin_unreachable();
}

ElementPtr Lowering::Mean(const Node& node, const Point& point) {
  Size count = 1;
  for (int axis : node.axes) count = count * node.args[0]->shape[static_cast<size_t>(axis)];
  return MakeOp(Op::kDiv, node.dtype,
                {SumOf(node, point), Cast(Scalar(*count.ToNode()), node.dtype)});
}

ElementPtr Lowering::Elementwise(const Node& node, const Point& point) {
  auto e = std::make_shared<Element>();
  e->kind = Element::Kind::kOp;
  e->op = node.op;
  e->dtype = node.dtype;
  const bool lazy = ClassOf(node.op) == OpClass::kLazy;
  for (const NodePtr& arg : node.args) {
    const Point at = Aligned(point, arg->shape);
    const bool second = lazy && !e->args.empty();
    const bool holds = node.op == Op::kAnd || (node.op == Op::kIf && e->args.size() == 1);
    e->args.push_back(second ? Guarded(e->args[0], holds, *arg, at) : Value(*arg, at));
  }
  if (MayHaveNoValue(node)) e->args.push_back(Leaf(Element::Kind::kNoValue, node.dtype, -1));
  // A square needs no power.
  const Element* exponent = e->op == Op::kPow ? e->args[1].get() : nullptr;
  if (exponent && exponent->kind == Element::Kind::kConst &&
      (IsFloat(exponent->dtype) ? exponent->float_value == 2 : exponent->int_value == 2)) {
    e->op = Op::kMul;
    e->args[1] = e->args[0];
  }
  // A cast from index arithmetic to itself changes nothing.
  if (node.op == Op::kCast && e->args[0]->dtype == node.dtype) return e->args[0];
  return e;
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
    Coordinate c = s.range ? point[axis++] : Coordinate{};
    const ElementPtr start = name.empty() ? Scalar(*s.start) : CheckedStart(name, s, extents[d]);
    const bool zero = start->kind == Element::Kind::kConst && start->int_value == 0;
    if (!zero || !s.range) {
      c.offset = c.offset ? MakeOp(Op::kAdd, DType::kIndex, {c.offset, start}) : start;
    }
    whole[d] = c;
  }
  return whole;
}

ElementPtr Lowering::Read(const Node& node, const Point& point) {
  const Ref& ref = kernel_.refs[static_cast<size_t>(node.index)];
  if (ref.role == Role::kScalar) return Leaf(Element::Kind::kScalar, node.dtype, node.index);
  auto load = std::make_shared<Element>();
  load->kind = Element::Kind::kLoad;
  load->dtype = node.dtype;
  load->place = {node.index, Subscripted(ref.role == Role::kPrefetch ? "" : ref.name,
                                         node.subscripts, ref.view, point)};
  return load;
}

ElementPtr Lowering::ReadLocal(const Node& node, const Point& point) {
  const size_t local = static_cast<size_t>(node.index);
  if (local_variable_[local] >= 0) {
    const ElementPtr variable = Variable(local_variable_[local]);
    return Cast(variable, node.dtype);
  }
  auto load = std::make_shared<Element>();
  load->kind = Element::Kind::kLoad;
  load->dtype = node.dtype;
  load->place = {local_buffer_[local], point};
  return load;
}

/// Only dimensions of extent 1 come or go, or the elements get a buffer that is seen in both
/// shapes.
ElementPtr Lowering::Reshaped(const Node& node, const Point& point) {
  const Node& arg = *node.args[0];
  if (RegroupsDimensions(node)) return SeenAnew(node, point);
  Point kept, whole;
  for (size_t d = 0; d < point.size(); ++d)
    if (!node.shape[d].IsOne()) kept.push_back(point[d]);
  size_t next = 0;
  for (const Size& s : arg.shape) whole.push_back(s.IsOne() ? Coordinate{} : kept[next++]);
  return Value(arg, whole);
}

/// The elements in a buffer without gaps, as the other shape looks at it.
ElementPtr Lowering::SeenAnew(const Node& node, const Point& point) {
  const Node& arg = *node.args[0];
  const auto [it, added] = temporary_.try_emplace(&node, -1);
  if (added) {
    const int flat = NewTemp("", arg.dtype, arg.shape, spaces_.SpacesOf(arg));
    plan_.buffers[static_cast<size_t>(flat)].dense = true;
    EmitInto(WholeOf(flat, arg.shape.size()), arg, nullptr);
    const int seen = NewTemp("", arg.dtype, node.shape, spaces_.SpacesOf(node));
    plan_.buffers[static_cast<size_t>(seen)].dense = true;
    plan_.buffers[static_cast<size_t>(seen)].same_as = flat;
    temporary_[&node] = seen;
  }
  auto load = std::make_shared<Element>();
  load->kind = Element::Kind::kLoad;
  load->dtype = node.dtype;
  load->place = {temporary_[&node], point};
  return load;
}

ElementPtr Lowering::Roll(const Node& node, const Point& point) {
  const Node& arg = *node.args[0];
  const size_t axis = static_cast<size_t>(node.axes[0]);
  const Size& extent = arg.shape[axis];
  if (extent.IsOne()) return Value(arg, point);
  int buffer =
      arg.op == Op::kLocal || (arg.op == Op::kRead && arg.subscripts.empty()) ? BufferOf(arg) : -1;
  if (buffer < 0) {
    const ElementPtr filled = Materialised(arg, point);
    buffer = filled->place.buffer;
  }
  // Element i comes from i - shift; what is added before the remainder must not be negative.
  const ElementPtr shift = Cast(Scalar(*node.args[1]), DType::kIndex);
  const ElementPtr n = Scalar(*extent.ToNode());
  const ElementPtr back =
      MakeOp(Op::kSub, DType::kIndex, {n, MakeOp(Op::kMod, DType::kIndex, {shift, n})});
  Coordinate c = point[axis];
  c.offset = c.offset ? MakeOp(Op::kAdd, DType::kIndex, {c.offset, back}) : back;
  c.around = extent;
  Point from = point;
  from[axis] = c;
  auto load = std::make_shared<Element>();
  load->kind = Element::Kind::kLoad;
  load->dtype = node.dtype;
  load->place = {buffer, from};
  return load;
}

ElementPtr Lowering::InsideMask(const Node& node, const Point& point) {
  const Ref& ref = kernel_.refs[static_cast<size_t>(node.index)];
  ElementPtr all;
  const auto require = [&](ElementPtr test) {
    all = all ? MakeOp(Op::kBitAnd, DType::kBool, {all, test}) : test;
  };
  for (size_t a = 0; a < point.size(); ++a) {
    const BlockDim& dim = ref.block[static_cast<size_t>(ref.view_dims[a])];
    if (dim.kind == BlockDim::Kind::kAll) continue;
    const int axis = static_cast<int>(a);
    const ElementPtr at = CoordinateValue(point[a], DType::kI32);
    const auto edge = [&](Element::Kind kind) {
      return Cast(Leaf(kind, DType::kIndex, node.index, axis), DType::kI32);
    };
    if (dim.kind == BlockDim::Kind::kElement) {
      require(MakeOp(Op::kGe, DType::kBool, {at, edge(Element::Kind::kLow)}));
    }
    require(MakeOp(Op::kLt, DType::kBool, {at, edge(Element::Kind::kHigh)}));
  }
  if (all) return all;
  auto yes = std::make_shared<Element>();
  yes->dtype = DType::kBool;
  yes->int_value = 1;
  return yes;
}

}  // namespace kiln
