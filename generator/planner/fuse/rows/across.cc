#include "generator/planner/fuse/rows/across.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

/// `for row { …; for lane { … } }` of elements alone: names of a row, then its lanes.
bool IsOfElements(const stage::Loop& row) {
  if (row.body.empty()) return false;
  const auto defines = [](const Stage& s) { return Is<stage::Define>(s); };
  const auto* lanes = As<stage::Lanes>(row.body.back());
  return lanes && std::all_of(row.body.begin(), row.body.end() - 1, defines) &&
         std::all_of(lanes->body.begin(), lanes->body.end(),
                     [](const Stage& s) { return Is<stage::Define, stage::Store>(s); });
}

/// Whether lanes are in different rows of the buffer, and neighbours are in different turns of
/// `row`.
bool GoesAcross(const Place& place, LoopId row, LoopId lanes) {
  if (place.at.size() < 2 || place.at.back().loop != row || place.at.back().stride != 1)
    return false;
  return std::any_of(place.at.begin(), place.at.end() - 1,
                     [&](const Coordinate& c) { return c.loop == lanes; });
}

/// What the nest reads of inputs across rows.
std::vector<Prefetch> RowsOfLaterLanes(const Plan& plan, const stage::Loop& row, LoopId lanes) {
  std::vector<Prefetch> prefetches;
  ForEachPlace(row.body, [&](const Place& place, bool writes) {
    const Ref* ref = plan.RefOf(place.buffer);
    const bool known = std::any_of(prefetches.begin(), prefetches.end(),
                                   [&](const Prefetch& p) { return SamePlace(p.place, place); });
    if (writes || known || !ref || ref->role != Role::kInput || !GoesAcross(place, row.loop, lanes))
      return;
    prefetches.push_back({Prefetch::Kind::kAcross, place, row.loop});
  });
  return prefetches;
}

bool MayTurn(const Plan& plan, const stage::Loop& row) {
  if (plan.kernel->HasAliases()) return false;
  const LoopId lanes = LoopOf(row.body.back());
  bool loads = false, stores = false;
  ForEachPlace(row.body.back(), [&](const Place& p, bool writes) {
    (writes ? stores : loads) |= GoesAcross(p, row.loop, lanes);
  });
  return loads && !stores && ConflictsOf(plan, row.body, row.body, {row.loop, lanes}).legal;
}

void Turn(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    auto* row = As<stage::Loop>(stage);
    if (!row || !IsOfElements(*row) || !MayTurn(plan, *row)) {
      ForEachList(stage, [&](Stages& list) { Turn(plan, list); });
      continue;
    }
    // What it would request for the next row is in the lines at hand; those of later lanes are not.
    Stage outer = std::move(row->body.back());
    auto& lanes = *As<stage::Lanes>(outer);
    lanes.prefetches.clear();
    row->body.pop_back();
    Append(row->body, std::move(lanes.body));
    row->prefetches = RowsOfLaterLanes(plan, *row, lanes.loop);
    lanes.body = {std::move(stage)};
    stage = std::move(outer);
  }
}

}  // namespace

void TurnAcross(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Turn(plan, body.stages);
}

}  // namespace kiln
