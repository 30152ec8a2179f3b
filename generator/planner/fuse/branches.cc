#include "generator/planner/fuse/branches.h"

#include <algorithm>
#include <map>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

bool Touches(const Plan& plan, const Stage& stage, int buffer) {
  bool touches = false;
  ForEachPlace(
      stage, [&](const Place& p, bool) { touches = touches || RootOf(plan, p.buffer) == buffer; });
  return touches;
}

bool HasDot(const Stage& stage) {
  bool has = false;
  ForEachStage({stage}, [&](const Stage& s) { has = has || s.kind == Stage::Kind::kDot; });
  return has;
}

/// Where the only stage is whose dots the accumulator has to do with, if that is a condition; else
/// the end.
size_t ConditionOf(const Plan& plan, const Stages& stages, int accumulator) {
  const auto adds = [&](const Stage& s) { return HasDot(s) && Touches(plan, s, accumulator); };
  const auto found = std::find_if(stages.begin(), stages.end(), adds);
  const bool only = found != stages.end() && std::none_of(found + 1, stages.end(), adds);
  if (!only || found->kind != Stage::Kind::kIf) return stages.size();
  return static_cast<size_t>(found - stages.begin());
}

/// What the accumulator begins with: nests before the condition that may as well come after it.
Stages TakeBefore(const Plan& plan, Stages& stages, size_t condition, int accumulator) {
  Stage asks = StageOf(Stage::Kind::kIf, stages[condition].span);
  asks.value = stages[condition].value;
  Stages between{asks}, taken;
  for (size_t s = condition; s-- > 0;) {
    const Stage& stage = stages[s];
    const bool nest = stage.kind == Stage::Kind::kLoop || stage.kind == Stage::Kind::kLanes;
    if (!Touches(plan, stage, accumulator)) {
      between.push_back(stage);
    } else if (!nest || std::any_of(between.begin(), between.end(), [&](const Stage& other) {
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
Stages TakeAfter(const Plan& plan, Stages& stages, size_t condition, int accumulator) {
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
  std::set<int> filled;
  ForEachStage(stages, [&](const Stage& s) {
    const int root = s.kind == Stage::Kind::kStore ? RootOf(plan, s.place.buffer) : -1;
    if (root >= 0 && IsTemp(plan, root)) filled.insert(root);
  });
  std::map<int, int> own;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const int buffer = static_cast<int>(b);
    if (filled.count(RootOf(plan, buffer))) own[buffer] = -1;
  }
  for (auto& [buffer, copy] : own) {
    copy = static_cast<int>(plan.buffers.size());
    plan.buffers.push_back(Buffer(plan.buffers[static_cast<size_t>(buffer)]));
  }
  for (auto& [buffer, copy] : own) {
    int& same_as = plan.buffers[static_cast<size_t>(copy)].same_as;
    if (const auto root = own.find(same_as); root != own.end()) same_as = root->second;
  }
  ChangeBuffers(stages, [&](int buffer) {
    const auto found = own.find(buffer);
    return found == own.end() ? buffer : found->second;
  });
  return stages;
}

}  // namespace

void MoveIntoBranches(Plan& plan, Stages& stages, int accumulator) {
  if (accumulator < 0) return;
  size_t condition = ConditionOf(plan, stages, accumulator);
  if (condition == stages.size()) return;
  Stages after = TakeAfter(plan, stages, condition, accumulator);
  Stages before = TakeBefore(plan, stages, condition, accumulator);
  condition -= before.size();
  Stage& when = stages[condition];
  Stages orelse = CopyOf(plan, before);
  Append(orelse, std::move(when.orelse));
  Append(orelse, CopyOf(plan, after));
  Append(before, std::move(when.body));
  Append(before, std::move(after));
  when.body = std::move(before);
  when.orelse = std::move(orelse);
}

}  // namespace kiln
