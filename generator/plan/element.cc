#include "generator/plan/element.h"

#include <algorithm>

#include "generator/ir/index_range.h"
#include "generator/text/integer.h"

namespace kiln {

ElementPtr MakeElement(DType dtype, Element::Kind what) {
  return std::make_shared<const Element>(Element{dtype, std::move(what)});
}

ElementPtr ConstantOf(DType dtype, int64_t int_value, double float_value) {
  return MakeElement(dtype, element::Constant{int_value, float_value});
}

ElementPtr ConstantOf(const Node& node) {
  return MakeElement(node.dtype, element::Constant{node.int_value, node.float_value, node.param});
}

ElementPtr IndexConstant(int64_t value) { return ConstantOf(DType::kIndex, value, 0); }

ElementPtr MakeOp(Op op, DType dtype, std::vector<ElementPtr> args, int line) {
  return MakeElement(dtype, element::Operation{op, std::move(args), line});
}

ElementPtr LoadOf(Place place, DType dtype) {
  return MakeElement(dtype, element::Load{std::move(place)});
}

ElementPtr CastTo(ElementPtr value, DType dtype) {
  if (value->dtype == dtype) return value;
  return MakeOp(Op::kCast, dtype, {std::move(value)});
}

ElementPtr AddOffsets(const ElementPtr& a, const ElementPtr& b) {
  if (!a || !b) return a ? a : b;
  const auto* x = As<element::Constant>(a);
  const auto* y = As<element::Constant>(b);
  if (x && y && x->param < 0 && y->param < 0) {
    if (const auto sum = CheckedAdd(x->int_value, y->int_value)) return IndexConstant(*sum);
  }
  return MakeOp(Op::kAdd, DType::kIndex, {a, b});
}

std::optional<Chosen> ChosenBy(const ElementPtr& offset,
                               const std::function<bool(const Element&)>& varies) {
  const auto* operation = As<element::Operation>(*offset);
  if (!operation || !varies(*offset)) return std::nullopt;
  const auto& [op, args, line] = *operation;
  if (op == Op::kCast) return Chosen{args[0], 1, nullptr};
  if (op == Op::kAdd) {
    const bool first = varies(*args[0]);
    if (first && varies(*args[1])) return std::nullopt;
    std::optional<Chosen> chosen = ChosenBy(args[first ? 0 : 1], varies);
    if (chosen) chosen->rest = AddOffsets(chosen->rest, args[first ? 1 : 0]);
    return chosen;
  }
  const auto* factor = op == Op::kMul ? As<element::Constant>(*args[1]) : nullptr;
  if (!factor) return std::nullopt;
  std::optional<Chosen> chosen = ChosenBy(args[0], varies);
  if (!chosen) return std::nullopt;
  chosen->stride *= factor->int_value;
  if (chosen->rest) chosen->rest = MakeOp(Op::kMul, DType::kIndex, {chosen->rest, args[1]});
  return chosen;
}

bool DependsOn(const Element& e, LoopId loop) {
  const auto* iteration = As<element::Iteration>(e);
  if (iteration && iteration->loop == loop) return true;
  const Place* place = LoadedBy(e);
  bool depends = place && std::any_of(place->at.begin(), place->at.end(),
                                      [&](const Coordinate& c) { return c.loop == loop; });
  ForEachPart(e, [&](const ElementPtr& part) { depends = depends || DependsOn(*part, loop); });
  return depends;
}

bool IsZero(const Element& e) {
  const auto* constant = As<element::Constant>(e);
  return constant && constant->int_value == 0 && constant->float_value == 0;
}

namespace {

using namespace element;

bool Same(const Constant& a, const Constant& b) {
  // NaN constants are equal to themselves here.
  const bool both_nan = a.float_value != a.float_value && b.float_value != b.float_value;
  return a.int_value == b.int_value && (a.float_value == b.float_value || both_nan);
}
bool Same(const element::Operation& a, const element::Operation& b) {
  return a.op == b.op &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), SameElement);
}
bool Same(const Load& a, const Load& b) { return SamePlace(a.place, b.place); }
bool Same(const Named& a, const Named& b) { return a.variable == b.variable; }
bool Same(const Scalar& a, const Scalar& b) { return a.ref == b.ref; }
bool Same(const Step& a, const Step& b) { return a.axis == b.axis; }
bool Same(const Steps& a, const Steps& b) { return a.axis == b.axis; }
bool Same(const Extent& a, const Extent& b) { return a.dim == b.dim; }
bool Same(const IsStep& a, const IsStep& b) { return a.end == b.end && a.axis == b.axis; }
bool Same(const IsVisit& a, const IsVisit& b) { return a.end == b.end && a.ref == b.ref; }
bool Same(const Iteration& a, const Iteration& b) { return a.loop == b.loop; }
bool Same(const Edge& a, const Edge& b) {
  return a.which == b.which && a.ref == b.ref && a.axis == b.axis;
}
bool Same(const NoValue&, const NoValue&) { return true; }

}  // namespace

bool SameElement(const ElementPtr& a, const ElementPtr& b) {
  if (a == b) return true;
  if (!a || !b || a->dtype != b->dtype) return false;
  return std::visit(
      [&](const auto& kind) {
        const auto* other = As<std::decay_t<decltype(kind)>>(*b);
        return other && Same(kind, *other);
      },
      a->what);
}

bool SameCoordinate(const Coordinate& a, const Coordinate& b) {
  const bool same_around =
      a.around.has_value() == b.around.has_value() && (!a.around || *a.around == *b.around);
  return a.loop == b.loop && a.stride == b.stride && same_around && SameElement(a.offset, b.offset);
}

Coordinate InWindow(Coordinate c, int64_t stride, const ElementPtr& start) {
  c.stride *= stride;
  if (c.offset && stride != 1)
    c.offset = MakeOp(Op::kMul, DType::kIndex, {c.offset, IndexConstant(stride)});
  c.offset = AddOffsets(c.offset, start);
  return c;
}

bool SamePlace(const Place& a, const Place& b) {
  return a.buffer == b.buffer &&
         std::equal(a.at.begin(), a.at.end(), b.at.begin(), b.at.end(), SameCoordinate);
}

/// Steps, shapes, index maps and host conditions: nothing in them has elements but host arrays.
ElementPtr IndexElement(const Kernel& kernel, const Node& node, bool checked) {
  const auto leaf = [&](Element::Kind what) { return MakeElement(node.dtype, std::move(what)); };
  switch (node.op) {
    case Op::kConst:
      return ConstantOf(node);
    case Op::kAxis:
      return leaf(Step{AxisId(node.index)});
    case Op::kSteps:
      return leaf(Steps{AxisId(node.index)});
    case Op::kDim:
      return leaf(Extent{DimId(node.index)});
    case Op::kFirstStep:
      return MakeElement(DType::kBool, IsStep{End::kFirst, AxisId(node.index)});
    case Op::kLastStep:
      return MakeElement(DType::kBool, IsStep{End::kLast, AxisId(node.index)});
    case Op::kRead: {
      const RefId ref(node.index);
      if (kernel[ref].role == Role::kScalar) return leaf(Scalar{ref});
      Place place{BufferId(ref.number()), {}};
      for (const Subscript& s : node.subscripts)
        place.at.push_back({{}, IndexElement(kernel, *s.start, checked), {}});
      return LoadOf(std::move(place), node.dtype);
    }
    default:
      break;
  }
  std::vector<ElementPtr> args;
  for (const NodePtr& arg : node.args) args.push_back(IndexElement(kernel, *arg, checked));
  const bool fails = checked && MayOverflow(node, kernel, [](LocalId) { return AnyIndex(); });
  return MakeOp(node.op, node.dtype, std::move(args),
                fails ? kernel.source->Locate(node.span.begin).line : 0);
}

}  // namespace kiln
