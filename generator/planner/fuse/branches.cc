#include "generator/planner/fuse/branches.h"

#include <algorithm>
#include <map>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

bool Touches(const Plan& plan, const Stage& stage, BufferId buffer) {
  bool touches = false;
  ForEachPlace(
      stage, [&](const Place& p, bool) { touches = touches || RootOf(plan, p.buffer) == buffer; });
  return touches;
}

bool HasDot(const Stage& stage) {
  return AnyStage({stage}, [](const Stage& s) { return Is<stage::Dot>(s); });
}

/// Where the only stage is whose dots the accumulator has to do with, if that is a condition; else
/// the end.
size_t ConditionOf(const Plan& plan, const Stages& stages, BufferId accumulator) {
  const auto adds = [&](const Stage& s) { return HasDot(s) && Touches(plan, s, accumulator); };
  const auto found = std::find_if(stages.begin(), stages.end(), adds);
  const bool only = found != stages.end() && std::none_of(found + 1, stages.end(), adds);
  if (!only || !Is<stage::If>(*found)) return stages.size();
  return static_cast<size_t>(found - stages.begin());
}

/// What the accumulator begins with: nests before the condition that may as well come after it.
Stages TakeBefore(const Plan& plan, Stages& stages, size_t condition, BufferId accumulator) {
  const Stage& when = stages[condition];
  Stages between{{when.span, stage::If{As<stage::If>(when)->condition, {}, {}}}}, taken;
  for (size_t s = condition; s-- > 0;) {
    const Stage& stage = stages[s];
    if (!Touches(plan, stage, accumulator)) {
      between.push_back(stage);
    } else if (!IsNest(stage) ||
               std::any_of(between.begin(), between.end(), [&](const Stage& other) {
                 return ConflictsOf(plan, {stage}, {other}).any;
               })) {
      break;
    } else {
      taken.insert(taken.begin(), stage);
      stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(s));
    }
  }
  return taken;
}

/// All that comes after the condition, if the accumulator ends there.
Stages TakeAfter(const Plan& plan, Stages& stages, size_t condition, BufferId accumulator) {
  const auto after = stages.begin() + static_cast<std::ptrdiff_t>(condition) + 1;
  const bool ends = std::any_of(after, stages.end(),
                                [&](const Stage& s) { return Touches(plan, s, accumulator); });
  if (!ends) return {};
  Stages taken(after, stages.end());
  stages.erase(after, stages.end());
  return taken;
}

/// The stages with temporaries of their own for those that they fill, whatever shape they look at.
Stages CopyOf(Plan& plan, Stages stages) {
  std::set<BufferId> filled;
  ForEachStage(stages, [&](const Stage& s) {
    const auto* store = As<stage::Store>(s);
    const BufferId root = store ? RootOf(plan, store->place.buffer) : BufferId();
    if (root && IsTemp(plan, root)) filled.insert(root);
  });
  std::map<BufferId, BufferId> own;
  for (const BufferId buffer : plan.buffers.ids()) {
    if (filled.count(RootOf(plan, buffer))) own[buffer] = {};
  }
  for (auto& [buffer, copy] : own) copy = plan.buffers.Add(plan[buffer]);
  for (auto& [buffer, copy] : own) {
    BufferId& same_as = plan.buffers[copy].same_as;
    if (const auto root = own.find(same_as); root != own.end()) same_as = root->second;
  }
  ChangeBuffers(stages, [&](BufferId buffer) {
    const auto found = own.find(buffer);
    return found == own.end() ? buffer : found->second;
  });
  return stages;
}

}  // namespace

void MoveIntoBranches(Plan& plan, Stages& stages, RefId of) {
  if (!of) return;
  const BufferId accumulator = BufferOf(of);
  size_t condition = ConditionOf(plan, stages, accumulator);
  if (condition == stages.size()) return;
  Stages after = TakeAfter(plan, stages, condition, accumulator);
  Stages before = TakeBefore(plan, stages, condition, accumulator);
  condition -= before.size();
  auto& when = *As<stage::If>(stages[condition]);
  Stages orelse = CopyOf(plan, before);
  Append(orelse, std::move(when.orelse));
  Append(orelse, CopyOf(plan, after));
  Append(before, std::move(when.body));
  Append(before, std::move(after));
  when.body = std::move(before);
  when.orelse = std::move(orelse);
}

}  // namespace kiln
