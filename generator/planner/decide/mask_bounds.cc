#include "generator/planner/decide/mask_bounds.h"

#include <algorithm>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// Without casts that keep every coordinate.
const Element& Uncast(const Element& e) {
  const bool keeps = e.dtype == DType::kI32 || e.dtype == DType::kI64 || e.dtype == DType::kIndex;
  const auto* cast = AsOp(e, Op::kCast);
  return cast && keeps ? Uncast(*cast->args[0]) : e;
}

/// Whether the element is the loop's coordinate: the loop, or the loop and an `offset`.
bool IsLoop(const Element& e, LoopId loop, ElementPtr* offset) {
  const Element& bare = Uncast(e);
  const auto is_loop = [&](const Element& x) {
    const auto* iteration = As<element::Iteration>(x);
    return iteration && iteration->loop == loop;
  };
  if (is_loop(bare)) return true;
  const auto* sum = AsOp(bare, Op::kAdd);
  if (!sum || bare.dtype != DType::kIndex || !is_loop(Uncast(*sum->args[0]))) return false;
  *offset = sum->args[1];
  return true;
}

bool WalksReduction(const Plan& plan, RefId ref) {
  const auto& axes = plan.reduction_axes;
  bool walks = false;
  const auto visit = [&](const Node& node, const auto& self) -> void {
    walks = walks || std::find(axes.begin(), axes.end(), AxisId(AxisOf(node))) != axes.end();
    for (const NodePtr& arg : node.args) self(*arg, self);
    for (const Subscript& s : node.subscripts) self(*s.start, self);
  };
  for (const BlockDim& dim : (*plan.kernel)[ref].block) {
    if (dim.index) visit(*dim.index, visit);
    if (dim.extent) visit(*dim.extent, visit);
  }
  return walks;
}

/// Whether an element, whatever it is made of, stays the same through all steps of a reduction.
bool IsSteadyItself(const Plan& plan, const Element& e) {
  using namespace element;
  const auto& axes = plan.reduction_axes;
  return Match(
      e, [](const OneOf<Constant, element::Operation, Scalar, Extent> auto&) { return true; },
      [&](const Step& step) {
        return std::find(axes.begin(), axes.end(), step.axis) == axes.end();
      },
      [&](const Edge& edge) {
        return edge.which == Edge::Which::kOrigin && !WalksReduction(plan, edge.ref);
      },
      [&](const Load& load) {
        const Ref* ref = plan.RefOf(load.place.buffer);
        return ref && ref->role == Role::kPrefetch &&
               std::none_of(load.place.at.begin(), load.place.at.end(),
                            [](const Coordinate& c) { return bool(c.loop); });
      },
      [](const OneOf<Named, Steps, IsStep, IsVisit, Iteration, NoValue> auto&) { return false; });
}

/// Whether the element is an integer that stays the same through all steps of a reduction.
bool IsSteady(const Plan& plan, const ElementPtr& root) {
  bool steady = IsInteger(root->dtype) || root->dtype == DType::kIndex;
  ForEachElement(root, [&](const Element& e) { steady = steady && IsSteadyItself(plan, e); });
  return steady;
}

/// bound - offset, and 1 more if asked for.
ElementPtr Minus(const Plan& plan, const ElementPtr& bound, const ElementPtr& offset,
                 bool one_more) {
  if (offset && !IsSteady(plan, offset)) return nullptr;
  ElementPtr e = MakeOp(Op::kSub, DType::kIndex, {bound, offset ? offset : IndexConstant(0)});
  return one_more ? MakeOp(Op::kAdd, DType::kIndex, {e, IndexConstant(1)}) : e;
}

}  // namespace

MaskBounds BoundsOf(const Plan& plan, const ElementPtr& mask, LoopId loop) {
  const auto* operation = As<element::Operation>(mask);
  if (!operation || operation->args.size() != 2) return {};
  const Op op = operation->op;
  const ElementPtr &first = operation->args[0], &second = operation->args[1];
  if (op == Op::kAnd || op == Op::kBitAnd) {
    const MaskBounds a = BoundsOf(plan, first, loop);
    const MaskBounds b = BoundsOf(plan, second, loop);
    const bool twice = (a.low && b.low) || (a.high && b.high);
    return {a.low ? a.low : b.low, a.high ? a.high : b.high, a.exact && b.exact && !twice};
  }
  const bool below = op == Op::kLt || op == Op::kLe;
  if (!below && op != Op::kGt && op != Op::kGe) return {};
  // least < greatest, or at most
  const ElementPtr &least = below ? first : second, &greatest = below ? second : first;
  const bool strict = op == Op::kLt || op == Op::kGt;
  ElementPtr offset, bound;
  if (IsLoop(*greatest, loop, &offset) && IsSteady(plan, least)) {
    bound = Minus(plan, least, offset, strict);
    return {bound, nullptr, bound != nullptr};
  }
  if (IsLoop(*least, loop, &offset) && IsSteady(plan, greatest)) {
    bound = Minus(plan, greatest, offset, !strict);
    return {nullptr, bound, bound != nullptr};
  }
  return {};
}

}  // namespace kiln
