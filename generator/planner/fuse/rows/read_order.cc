#include "generator/planner/fuse/rows/read_order.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

/// Two loops around a loop by lanes, and nothing else.
struct Nest {
  LoopId outer, inner, lanes;
};

std::optional<Nest> AsNest(const Stage& stage) {
  const auto* outer = As<stage::Loop>(stage);
  const auto* inner =
      outer && outer->body.size() == 1 ? As<stage::Loop>(outer->body.front()) : nullptr;
  const auto* lanes =
      inner && inner->body.size() == 1 ? As<stage::Lanes>(inner->body.front()) : nullptr;
  if (!lanes) return {};
  const bool is_plain = std::all_of(lanes->body.begin(), lanes->body.end(), [](const Stage& s) {
    return Is<stage::Define, stage::Store>(s);
  });
  return is_plain ? std::optional(Nest{outer->loop, inner->loop, lanes->loop}) : std::nullopt;
}

bool Walks(const Place& place, LoopId loop) {
  return std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
    return c.loop == loop || (c.offset && DependsOn(*c.offset, loop));
  });
}

/// Whether the place is an element of row `second` of `first`, along `lanes`.
bool IsInOrder(const Place& place, LoopId first, LoopId second, LoopId lanes) {
  const auto at = [&](LoopId loop) {
    return std::find_if(place.at.begin(), place.at.end(),
                        [&](const Coordinate& c) { return c.loop == loop && c.IsPlain(); });
  };
  return at(first) < at(second) && at(second) != place.at.end() && at(lanes) == place.at.end() - 1;
}

/// The input that is read across: all that depends on both loops is, and stores are not.
std::optional<Place> ReadAcross(const Plan& plan, const Stage& stage, const Nest& nest) {
  std::optional<Place> found;
  bool others = false;
  ForEachPlace(stage, [&](const Place& place, bool writes) {
    if (!Walks(place, nest.outer) || !Walks(place, nest.inner)) {
      others = others || writes;
      return;
    }
    const Ref* ref = plan.RefOf(place.buffer);
    if (writes) {
      others = others || !ref || !IsInOrder(place, nest.outer, nest.inner, nest.lanes);
    } else if (ref && ref->role == Role::kInput && !IsPacked(ref->dtype) &&
               IsInOrder(place, nest.inner, nest.outer, nest.lanes)) {
      found = place;
    } else {
      others = true;
    }
  });
  return others ? std::nullopt : found;
}

void Follow(const Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    if (Is<stage::AtEdges>(stage)) continue;  // which parts there are is said for its loop
    ForEachList(stage, [&](Stages& list) { Follow(plan, list); });
    const std::optional<Nest> nest = AsNest(stage);
    if (!nest) continue;
    const std::optional<Place> read = ReadAcross(plan, stage, *nest);
    if (!read || plan.kernel->HasAliases()) continue;
    Stages& rows = As<stage::Loop>(As<stage::Loop>(stage)->body.front())->body;
    if (!ConflictsOf(plan, rows, rows, {nest->outer, nest->inner, nest->lanes}).legal) continue;
    for (Prefetch& prefetch : As<stage::Lanes>(rows.front())->prefetches) {
      if (IsInOrder(prefetch.place, nest->inner, nest->outer, nest->lanes))
        prefetch.row = nest->outer;
    }
    stage::Rows both{nest->outer, std::move(rows)};
    both.others = {nest->inner};
    both.in_order_of = {*read};
    stage.what = std::move(both);
  }
}

}  // namespace

void FollowReads(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Follow(plan, body.stages);
}

}  // namespace kiln
