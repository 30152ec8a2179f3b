#include "generator/plan/prefetch.h"

#include <algorithm>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

bool IsOperand(const Plan& plan, int buffer) {
  const int ref = plan.buffers[static_cast<size_t>(buffer)].ref;
  if (ref < 0) return false;
  const Role role = plan.kernel->refs[static_cast<size_t>(ref)].role;
  return role == Role::kInput || role == Role::kOutput;
}

/// Whether every element of a tile has its own: a row of biases is soon in a cache by itself.
bool CoversTile(const Place& place, const Stage& dot) {
  const auto along = [&](int loop) {
    return std::any_of(place.at.begin(), place.at.end(),
                       [&](const Coordinate& c) { return c.loop == loop && !c.around; });
  };
  return along(dot.row) && along(dot.col);
}

void Find(const Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    if (stage.kind != Stage::Kind::kDot) {
      Find(plan, stage.body);
      Find(plan, stage.orelse);
      continue;
    }
    const bool reads_first = stage.start && stage.start->kind == Element::Kind::kLoad;
    for (const Stage& s : stage.body) {
      if (s.kind == Stage::Kind::kIf) continue;  // who knows
      ForEachPlace(s, [&](const Place& place, bool) {
        const auto same = [&](const Place& other) { return SamePlace(place, other); };
        const bool known = std::any_of(stage.ahead.begin(), stage.ahead.end(), same) ||
                           (reads_first && same(stage.start->place));
        if (!known && IsOperand(plan, place.buffer) && CoversTile(place, stage))
          stage.ahead.push_back(place);
      });
    }
  }
}

}  // namespace

void FindPrefetches(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Find(plan, body.stages);
}

}  // namespace kiln
