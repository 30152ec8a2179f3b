#include "generator/planner/decide/few_columns.h"

#include <algorithm>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/decide/unpacked.h"

namespace kiln {
namespace {

using stage::InPlace;

// What is few, and from when on it pays: FewColumnsPay of the runtime.
constexpr int64_t kMaxColumns = 32, kMinRows = 16, kMinDepth = 32;

/// Whether the elements of a B are computed where it is packed or multiplied.
bool IsComputed(const Plan& plan, PanelsId panels) {
  bool computed = false;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* pack = As<stage::Pack>(stage);
      computed = computed || (pack && pack->panels == panels && pack->value);
    });
  }
  return computed;
}

/// Of the dots of which `of(dot)` holds. A B that is computed has none, as no A is multiplied with
/// it where it is.
template <class Of>
std::set<SpaceId> SpacesOfColumns(const Plan& plan, const Of& of) {
  std::set<SpaceId> spaces;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* dot = As<stage::Dot>(stage);
      if (!dot || !of(*dot)) return;
      const bool computed = !dot->b.ref && IsComputed(plan, dot->b.panels);
      spaces.insert(computed ? SpaceId() : plan[dot->col].space);
    });
  }
  return spaces;
}

/// Whether a space may have so few elements. One of which Direct chooses the blocks has those of
/// its array.
bool MayHaveFew(const Plan& plan, SpaceId space) {
  const auto is_free = [&](const FreeBlock& block) { return block.space == space; };
  const std::optional<int64_t> extent = plan[space].extent.Constant();
  return !extent || *extent <= kMaxColumns ||
         std::any_of(plan.free_blocks.begin(), plan.free_blocks.end(), is_free);
}

/// Whether few columns of B may multiply what is packed, and it is large enough for that.
bool MayPay(const Plan& plan, const stage::Pack& pack, SpaceId columns) {
  const auto at_least = [&](LoopId loop, int64_t least) {
    return plan.SpaceOf(loop).extent.Constant().value_or(least) >= least;
  };
  return at_least(pack.row, kMinRows) && at_least(pack.col, kMinDepth) && MayHaveFew(plan, columns);
}

/// The columns that multiply an A which is packed right before its dot, and only for dots like it.
void FindInBody(const Plan& plan, Stages& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i], [&](Stages& list) { FindInBody(plan, list); });
    auto* pack = As<stage::Pack>(stages[i]);
    if (!pack || plan[pack->panels].side != Side::kA || pack->in_place == InPlace::kAlways)
      continue;
    const auto* dot = DotAfter(stages, i);
    const auto has_it = [&](const stage::Dot& d) { return d.a.panels == pack->panels; };
    if (!dot || !has_it(*dot) || !StaysAsItIs(plan, *pack)) continue;
    const SpaceId columns = plan[dot->col].space;
    if (SpacesOfColumns(plan, has_it) == std::set{columns} && MayPay(plan, *pack, columns))
      pack->others = columns;
  }
}

}  // namespace

void FindFewColumns(Plan& plan) {
  using Layout = OperandPlan::Layout;
  const Kernel& kernel = *plan.kernel;
  for (const RefId ref : IdsOf(kernel.refs)) {
    OperandPlan& operand = plan.operands[ref];
    const bool is_a = operand.layout == Layout::kPackedA || operand.layout == Layout::kPackedAT;
    const bool lent = kernel.BorrowerOf(ref.number()) >= 0;
    if (!is_a || lent || kernel[ref].view.size() != 2 || !IsMultipliedUnpacked(kernel[ref].dtype))
      continue;
    const std::set<SpaceId> spaces =
        SpacesOfColumns(plan, [&](const stage::Dot& dot) { return dot.a.ref == ref; });
    const SpaceId columns = spaces.size() == 1 ? *spaces.begin() : SpaceId();
    if (columns && MayHaveFew(plan, columns)) operand.columns_per_a = columns;
  }
  for (BodyPlan& body : plan.bodies) FindInBody(plan, body.stages);
}

}  // namespace kiln
