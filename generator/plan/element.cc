#include "generator/plan/plan.h"

namespace kiln {

Stage StageOf(Stage::Kind kind, Span span) {
  Stage stage;
  stage.kind = kind;
  stage.span = span;
  return stage;
}

ElementPtr IndexConstant(int64_t value) {
  auto e = std::make_shared<Element>();
  e->dtype = DType::kIndex;
  e->int_value = value;
  return e;
}

ElementPtr MakeOp(Op op, DType dtype, std::vector<ElementPtr> args) {
  auto e = std::make_shared<Element>();
  e->kind = Element::Kind::kOp;
  e->op = op;
  e->dtype = dtype;
  e->args = std::move(args);
  return e;
}

std::shared_ptr<Element> Leaf(Element::Kind kind, DType dtype, int index, int axis) {
  auto e = std::make_shared<Element>();
  e->kind = kind;
  e->dtype = dtype;
  e->index = index;
  e->axis = axis;
  return e;
}

ElementPtr Constant(const Node& node) {
  auto e = std::make_shared<Element>();
  e->dtype = node.dtype;
  e->int_value = node.int_value;
  e->float_value = node.float_value;
  return e;
}

bool SameElement(const ElementPtr& a, const ElementPtr& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  if (a->kind != b->kind || a->op != b->op || a->dtype != b->dtype || a->index != b->index ||
      a->axis != b->axis || a->int_value != b->int_value || a->args.size() != b->args.size()) {
    return false;
  }
  // NaN constants are equal to themselves here.
  if (!(a->float_value == b->float_value ||
        (a->float_value != a->float_value && b->float_value != b->float_value))) {
    return false;
  }
  for (size_t k = 0; k < a->args.size(); ++k) {
    if (!SameElement(a->args[k], b->args[k])) return false;
  }
  return a->kind != Element::Kind::kLoad || SamePlace(a->place, b->place);
}

bool SameCoordinate(const Coordinate& a, const Coordinate& b) {
  const bool same_around =
      a.around.has_value() == b.around.has_value() && (!a.around || *a.around == *b.around);
  return a.loop == b.loop && same_around && SameElement(a.offset, b.offset);
}

bool SamePlace(const Place& a, const Place& b) {
  if (a.buffer != b.buffer || a.at.size() != b.at.size()) return false;
  for (size_t d = 0; d < a.at.size(); ++d) {
    if (!SameCoordinate(a.at[d], b.at[d])) return false;
  }
  return true;
}

/// Steps, shapes, index maps and host conditions: nothing in them has elements but host arrays.
ElementPtr IndexElement(const Kernel& kernel, const Node& node) {
  switch (node.op) {
    case Op::kConst:
      return Constant(node);
    case Op::kAxis:
      return Leaf(Element::Kind::kAxis, node.dtype, node.index);
    case Op::kSteps:
      return Leaf(Element::Kind::kSteps, node.dtype, node.index);
    case Op::kDim:
      return Leaf(Element::Kind::kDim, node.dtype, node.index);
    case Op::kFirstStep:
      return Leaf(Element::Kind::kFirstStep, DType::kBool, node.index);
    case Op::kLastStep:
      return Leaf(Element::Kind::kLastStep, DType::kBool, node.index);
    case Op::kRead: {
      if (kernel.refs[static_cast<size_t>(node.index)].role == Role::kScalar) {
        return Leaf(Element::Kind::kScalar, node.dtype, node.index);
      }
      auto load = std::make_shared<Element>();
      load->kind = Element::Kind::kLoad;
      load->dtype = node.dtype;
      load->place.buffer = node.index;
      for (const Subscript& s : node.subscripts) {
        Coordinate c;
        c.offset = IndexElement(kernel, *s.start);
        load->place.at.push_back(c);
      }
      return load;
    }
    default:
      break;
  }
  std::vector<ElementPtr> args;
  for (const NodePtr& arg : node.args) args.push_back(IndexElement(kernel, *arg));
  return MakeOp(node.op, node.dtype, std::move(args));
}

}  // namespace kiln
