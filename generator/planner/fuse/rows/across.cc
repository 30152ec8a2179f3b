#include "generator/planner/fuse/rows/across.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

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

/// `for a { for b { … { for lane { … } } } }`, nothing else within each: the loop that the columns
/// of rows are taken by becomes the innermost, if it is another.
void BringRowIn(const Plan& plan, Stage& stage) {
  std::vector<LoopId> outer;  // all but the innermost
  auto* innermost = As<stage::Loop>(stage);
  while (innermost->body.size() == 1 && Is<stage::Loop>(innermost->body.front())) {
    outer.push_back(innermost->loop);
    innermost = As<stage::Loop>(innermost->body.front());
  }
  if (RunsAcross(plan, *innermost)) return;
  const auto row = std::find_if(outer.begin(), outer.end(), [&](LoopId loop) {
    return RunsAcross(plan, stage::Loop{loop, innermost->body});
  });
  if (row == outer.end()) return;
  std::vector<LoopId> loops = outer;
  loops.push_back(innermost->loop);
  if (!ConflictsOf(plan, innermost->body, innermost->body, loops).legal) return;
  std::rotate(loops.begin() + (row - outer.begin()), loops.begin() + (row - outer.begin()) + 1,
              loops.end());
  auto* nest = As<stage::Loop>(stage);
  for (const LoopId loop : loops) {
    nest->loop = loop;
    if (nest != innermost) nest = As<stage::Loop>(nest->body.front());
  }
}

void Turn(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    auto* row = As<stage::Loop>(stage);
    if (row) BringRowIn(plan, stage);
    if (row && RunsAcross(plan, *row))
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
