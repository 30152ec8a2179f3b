#include <algorithm>
#include <set>
#include <span>

#include "generator/plan/walk.h"
#include "generator/planner/lower/lowering.h"
#include "generator/planner/rewrite/joined_shapes.h"

/// Functions of what columns have one of, such as a gate of each channel: they are computed once,
/// in front of the rows that they meet.
namespace kiln {
namespace {

/// Whether each element takes a slow operation. What gets memory anyway takes none.
bool TakesLong(const Node& node) {
  if (!IsElementwise(node.op)) return false;
  if (RowOf(node.op).cpu != CpuCost::kFast && FactorsOf(node) == 0) return true;
  return std::any_of(node.args.begin(), node.args.end(),
                     [](const NodePtr& arg) { return TakesLong(*arg); });
}

/// Whether a nest writes what the stages read.
bool WritesFor(const Plan& plan, const Stage& nest, std::span<const Stage> stages) {
  std::set<BufferId> written;
  ForEachPlace(nest, [&](const Place& place, bool writes) {
    if (writes) written.insert(RootOf(plan, place.buffer));
  });
  bool reads = false;
  for (const Stage& stage : stages) {
    ForEachPlace(stage, [&](const Place& place, bool) {
      reads = reads || written.count(RootOf(plan, place.buffer)) > 0;
    });
  }
  return reads;
}

}  // namespace

bool HasDots(const Kernel& kernel) {
  bool has = false;
  const auto look = [&](const auto& self, const Node& node) -> void {
    has = has || node.op == Op::kDot;
    for (const NodePtr& arg : node.args) self(self, *arg);
  };
  for (const Actions* actions : {&kernel.body, &kernel.epilogue}) {
    ForEachAction(*actions, [&](const Action& action) {
      ForEachExpression(action, [&](const Node& node) { look(look, node); });
    });
  }
  return has;
}

/// Whether an argument of an elementwise operation is such a function, and meets so many rows that
/// these make up for its place in memory. Not beside dots, whose tiles rather have all of what
/// follows them, nor in a loop, whose turns rows may take one by one. (The angles of positions that
/// heads have in common would fill the L1: 16 heads of 64 took 1.05 to 1.2 times as long.)
bool Lowering::IsOfColumns(const Node& arg, const Node& whole) const {
  constexpr int64_t kLeastRows = 8;
  if (has_dots_ || turning_ > 0 || !IsFloat(arg.dtype) || !TakesLong(arg)) return false;
  if (arg.shape.empty() || arg.shape.back().IsOne() || BeyondOne(arg.shape).size() != 1)
    return false;
  return std::any_of(whole.shape.begin(), whole.shape.end() - 1, [&](const Size& rows) {
    return rows.Constant().value_or(kLeastRows) >= kLeastRows;
  });
}

/// They go in front of the rows of statements before, too, as these and those of the statement at
/// hand may become one nest.
ElementPtr Lowering::OfColumns(const Node& node, const Point& point) {
  const bool is_new = temporary_.count(&node) == 0;
  const size_t begin = out_->size();
  ElementPtr element = Materialised(node, point);
  size_t to = begin;
  const std::span<const Stage> made(out_->begin() + static_cast<std::ptrdiff_t>(begin),
                                    out_->end());
  while (is_new && to > 0 && IsNest((*out_)[to - 1]) && !WritesFor(plan_, (*out_)[to - 1], made))
    --to;
  const auto at = [&](size_t k) { return out_->begin() + static_cast<std::ptrdiff_t>(k); };
  std::rotate(at(to), at(begin), out_->end());
  return element;
}

}  // namespace kiln
