#include "generator/planner/decide/mask_bounds.h"

#include <algorithm>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

using Kind = Element::Kind;

/// Without casts that keep every coordinate.
const Element& Uncast(const Element& e) {
  const bool keeps = e.dtype == DType::kI32 || e.dtype == DType::kI64 || e.dtype == DType::kIndex;
  return e.kind == Kind::kOp && e.op == Op::kCast && keeps ? Uncast(*e.args[0]) : e;
}

/// Whether the element is the loop's coordinate: the loop, or the loop and an `offset`.
bool IsLoop(const Element& e, int loop, ElementPtr* offset) {
  const Element& bare = Uncast(e);
  const auto is_loop = [&](const Element& x) { return x.kind == Kind::kLoop && x.index == loop; };
  if (is_loop(bare)) return true;
  if (bare.kind != Kind::kOp || bare.op != Op::kAdd || bare.dtype != DType::kIndex) return false;
  if (!is_loop(Uncast(*bare.args[0]))) return false;
  *offset = bare.args[1];
  return true;
}

bool WalksReduction(const Plan& plan, int ref) {
  const auto& axes = plan.reduction_axes;
  bool walks = false;
  const auto visit = [&](const Node& node, const auto& self) -> void {
    walks = walks || std::find(axes.begin(), axes.end(), AxisOf(node)) != axes.end();
    for (const NodePtr& arg : node.args) self(*arg, self);
    for (const Subscript& s : node.subscripts) self(*s.start, self);
  };
  for (const BlockDim& dim : plan.kernel->refs[static_cast<size_t>(ref)].block) {
    if (dim.index) visit(*dim.index, visit);
    if (dim.extent) visit(*dim.extent, visit);
  }
  return walks;
}

/// Whether the element is an integer that stays the same through all steps of a reduction.
bool IsSteady(const Plan& plan, const Element& root) {
  bool steady = IsInteger(root.dtype) || root.dtype == DType::kIndex;
  const auto& axes = plan.reduction_axes;
  ForEachElement(std::make_shared<Element>(root), [&](const Element& e) {
    switch (e.kind) {
      case Kind::kConst:
      case Kind::kOp:
      case Kind::kScalar:
      case Kind::kDim:
        break;
      case Kind::kAxis:
        steady = steady && std::find(axes.begin(), axes.end(), e.index) == axes.end();
        break;
      case Kind::kOrigin:
        steady = steady && !WalksReduction(plan, e.index);
        break;
      case Kind::kLoad: {
        const int ref = plan.buffers[static_cast<size_t>(e.place.buffer)].ref;
        const bool host =
            ref >= 0 && plan.kernel->refs[static_cast<size_t>(ref)].role == Role::kPrefetch;
        const bool fixed = std::all_of(e.place.at.begin(), e.place.at.end(),
                                       [](const Coordinate& c) { return c.loop < 0; });
        steady = steady && host && fixed;
        break;
      }
      default:
        steady = false;
    }
  });
  return steady;
}

/// bound - offset, and 1 more if asked for.
ElementPtr Minus(const Plan& plan, const ElementPtr& bound, const ElementPtr& offset,
                 bool one_more) {
  if (offset && !IsSteady(plan, *offset)) return nullptr;
  ElementPtr e = MakeOp(Op::kSub, DType::kIndex, {bound, offset ? offset : IndexConstant(0)});
  return one_more ? MakeOp(Op::kAdd, DType::kIndex, {e, IndexConstant(1)}) : e;
}

}  // namespace

MaskBounds BoundsOf(const Plan& plan, const ElementPtr& mask, int loop) {
  if (mask->kind != Kind::kOp || mask->args.size() != 2) return {};
  if (mask->op == Op::kAnd || mask->op == Op::kBitAnd) {
    const MaskBounds a = BoundsOf(plan, mask->args[0], loop);
    const MaskBounds b = BoundsOf(plan, mask->args[1], loop);
    const bool twice = (a.low && b.low) || (a.high && b.high);
    return {a.low ? a.low : b.low, a.high ? a.high : b.high, a.exact && b.exact && !twice};
  }
  const bool below = mask->op == Op::kLt || mask->op == Op::kLe;
  if (!below && mask->op != Op::kGt && mask->op != Op::kGe) return {};
  // least < greatest, or at most
  const ElementPtr &least = mask->args[below ? 0 : 1], &greatest = mask->args[below ? 1 : 0];
  const bool strict = mask->op == Op::kLt || mask->op == Op::kGt;
  ElementPtr offset, bound;
  if (IsLoop(*greatest, loop, &offset) && IsSteady(plan, *least)) {
    bound = Minus(plan, least, offset, strict);
    return {bound, nullptr, bound != nullptr};
  }
  if (IsLoop(*least, loop, &offset) && IsSteady(plan, *greatest)) {
    bound = Minus(plan, greatest, offset, !strict);
    return {nullptr, bound, bound != nullptr};
  }
  return {};
}

}  // namespace kiln
