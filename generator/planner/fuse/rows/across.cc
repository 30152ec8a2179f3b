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

/// Whether nothing but the column changes from turn to turn, and nothing but the row from lane to
/// lane.
bool IsColumnOfRows(const Plan& plan, const Place& place, LoopId row, LoopId lanes) {
  const auto walks = [&](LoopId loop) {
    return std::count_if(place.at.begin(), place.at.end(),
                         [&](const Coordinate& c) { return c.loop == loop; });
  };
  const auto chooses = [&](const Coordinate& c) {
    return c.around || (c.offset && (DependsOn(*c.offset, row) || DependsOn(*c.offset, lanes)));
  };
  return AreNeighbours(plan, place, row) && walks(row) == 1 && walks(lanes) == 1 &&
         std::none_of(place.at.begin(), place.at.end(), chooses);
}

/// What the nest reads so.
std::vector<Place> ColumnsOf(const Plan& plan, const Stages& stages, LoopId row, LoopId lanes) {
  std::vector<Place> columns;
  ForEachPlace(stages, [&](const Place& place, bool writes) {
    const bool known = std::any_of(columns.begin(), columns.end(),
                                   [&](const Place& c) { return SamePlace(c, place); });
    if (!writes && !known && IsColumnOfRows(plan, place, row, lanes)) columns.push_back(place);
  });
  return columns;
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

/// for row { names; for lane { … } } becomes
/// for as many rows as lanes { for lane { for each row { names; … } } }
Stage Turned(const Plan& plan, Span span, stage::Loop& row) {
  Stage nest = std::move(row.body.back());
  auto& lanes = *As<stage::Lanes>(nest);
  row.body.pop_back();
  stage::EachRow each{row.loop, std::move(row.body)};
  Append(each.body, std::move(lanes.body));
  each.columns = ColumnsOf(plan, each.body, row.loop, lanes.loop);
  // What it would request for the next row is in the lines at hand; those of later lanes are not.
  lanes.prefetches.clear();
  for (const Place& place : each.columns) {
    const Ref* ref = plan.RefOf(place.buffer);
    if (ref && ref->role == Role::kInput)
      lanes.prefetches.push_back({Prefetch::Kind::kAcross, place, row.loop});
  }
  lanes.body.clear();
  lanes.body.push_back({nest.span, std::move(each)});
  return {span, stage::Rows{row.loop, {std::move(nest)}, /*as_lanes=*/true}};
}

void Turn(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    auto* row = As<stage::Loop>(stage);
    if (row && IsOfElements(*row) && MayTurn(plan, *row))
      stage = Turned(plan, stage.span, *row);
    else
      ForEachList(stage, [&](Stages& list) { Turn(plan, list); });
  }
}

}  // namespace

void TurnAcross(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Turn(plan, body.stages);
}

}  // namespace kiln
