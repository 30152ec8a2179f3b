#include "generator/plan/live_rows.h"

#include <algorithm>
#include <optional>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

using Kind = Element::Kind;

/// Rows from `low` up to before `high`, as indices within the tile; null: no bound.
struct Rows {
  ElementPtr low, high;
};

class LiveRows {
 public:
  explicit LiveRows(const Plan& plan) : plan_(plan) {}

  /// Of a body's only dot; empty where there is another, or where nothing bounds its rows.
  Rows Of(const BodyPlan& body) const {
    const Stage* dot = nullptr;
    for (const Stage& s : body.stages) {
      if (s.kind != Stage::Kind::kDot) continue;
      if (dot != nullptr) return {};
      dot = &s;
    }
    if (dot == nullptr || dot->body.empty()) return {};
    std::optional<Rows> rows;
    for (const Stage& s : dot->body) {
      if (s.kind == Stage::Kind::kDefine) continue;
      if (s.kind != Stage::Kind::kStore || !s.mask) return {};
      const Rows own = Bounds(Resolved(s.mask, dot->body), dot->row);
      const bool same =
          !rows || (SameElement(rows->low, own.low) && SameElement(rows->high, own.high));
      if (!same) return {};
      rows = own;
    }
    return rows.value_or(Rows{});
  }

 private:
  /// The value of a variable that the dot's own statements define.
  static ElementPtr Resolved(const ElementPtr& e, const Stages& stages) {
    if (e->kind != Kind::kVariable) return e;
    for (const Stage& s : stages) {
      if (s.kind == Stage::Kind::kDefine && s.variable == e->index) return s.value;
    }
    return e;
  }

  /// Without casts that keep every coordinate.
  static const Element& Bare(const Element& e) {
    const bool keeps = e.dtype == DType::kI32 || e.dtype == DType::kI64 || e.dtype == DType::kIndex;
    return e.kind == Kind::kOp && e.op == Op::kCast && keeps ? Bare(*e.args[0]) : e;
  }

  /// Whether the element is the row's coordinate: the loop, or the loop and an `offset`.
  static bool IsRow(const Element& e, int row, ElementPtr* offset) {
    const Element& bare = Bare(e);
    const auto is_loop = [&](const Element& x) { return x.kind == Kind::kLoop && x.index == row; };
    if (is_loop(bare)) return true;
    if (bare.kind != Kind::kOp || bare.op != Op::kAdd || bare.dtype != DType::kIndex) return false;
    if (!is_loop(Bare(*bare.args[0]))) return false;
    *offset = bare.args[1];
    return true;
  }

  bool WalksReduction(int ref) const {
    const auto& axes = plan_.reduction_axes;
    bool walks = false;
    const auto visit = [&](const Node& node, const auto& self) -> void {
      const bool is_axis = node.op == Op::kAxis;
      walks = walks || (is_axis && std::find(axes.begin(), axes.end(), node.index) != axes.end());
      for (const NodePtr& arg : node.args) self(*arg, self);
      for (const Subscript& s : node.subscripts) self(*s.start, self);
    };
    for (const BlockDim& dim : plan_.kernel->refs[static_cast<size_t>(ref)].block) {
      if (dim.index) visit(*dim.index, visit);
      if (dim.extent) visit(*dim.extent, visit);
    }
    return walks;
  }

  /// Whether the element is an integer that stays the same through all steps of a reduction.
  bool IsSteady(const Element& root) const {
    bool steady = IsInteger(root.dtype) || root.dtype == DType::kIndex;
    const auto& axes = plan_.reduction_axes;
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
          steady = steady && !WalksReduction(e.index);
          break;
        case Kind::kLoad: {
          const int ref = plan_.buffers[static_cast<size_t>(e.place.buffer)].ref;
          const bool host =
              ref >= 0 && plan_.kernel->refs[static_cast<size_t>(ref)].role == Role::kPrefetch;
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

  /// What a mask demands of the row at least.
  Rows Bounds(const ElementPtr& mask, int row) const {
    if (mask->kind != Kind::kOp || mask->args.size() != 2) return {};
    if (mask->op == Op::kAnd || mask->op == Op::kBitAnd) {
      const Rows a = Bounds(mask->args[0], row), b = Bounds(mask->args[1], row);
      return {a.low ? a.low : b.low, a.high ? a.high : b.high};
    }
    const bool below = mask->op == Op::kLt || mask->op == Op::kLe;
    if (!below && mask->op != Op::kGt && mask->op != Op::kGe) return {};
    // least < greatest, or at most
    const ElementPtr &least = mask->args[below ? 0 : 1], &greatest = mask->args[below ? 1 : 0];
    const bool strict = mask->op == Op::kLt || mask->op == Op::kGt;
    ElementPtr offset;
    if (IsRow(*greatest, row, &offset) && IsSteady(*least))
      return {Minus(least, offset, strict), nullptr};
    if (IsRow(*least, row, &offset) && IsSteady(*greatest))
      return {nullptr, Minus(greatest, offset, !strict)};
    return {};
  }

  /// bound - offset, and 1 more if asked for.
  ElementPtr Minus(const ElementPtr& bound, const ElementPtr& offset, bool one_more) const {
    if (offset && !IsSteady(*offset)) return nullptr;
    ElementPtr e = MakeOp(Op::kSub, DType::kIndex, {bound, offset ? offset : IndexConstant(0)});
    return one_more ? MakeOp(Op::kAdd, DType::kIndex, {e, IndexConstant(1)}) : e;
  }

  const Plan& plan_;
};

}  // namespace

void FindLiveRows(Plan& plan) {
  if (plan.accumulator < 0) return;
  const LiveRows live(plan);
  // Sums that no mask guards are wanted for all rows: the others' rows go by those that finish.
  std::optional<Rows> rows;
  for (const BodyPlan& body : plan.bodies) {
    if (body.name != "Only" && body.name != "Last") continue;
    const Rows own = live.Of(body);
    if (rows && !(SameElement(rows->low, own.low) && SameElement(rows->high, own.high))) return;
    rows = own;
  }
  if (!rows || (!rows->low && !rows->high)) return;
  for (BodyPlan& body : plan.bodies) {
    for (Stage& s : body.stages) {
      if (s.kind != Stage::Kind::kDot) continue;
      s.low = rows->low;
      s.high = rows->high;
    }
  }
}

}  // namespace kiln
