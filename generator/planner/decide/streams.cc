#include "generator/planner/decide/streams.h"

#include "generator/plan/walk.h"

namespace kiln {
namespace {

bool IsRead(const Plan& plan, BufferId buffer) {
  bool read = false;
  for (const BodyPlan& body : plan.bodies) {
    ForEachPlace(body.stages, [&](const Place& p, bool writes) {
      read = read || (!writes && p.buffer == buffer);
    });
  }
  return read;
}

/// The output that statements do nothing but write, along `loop`. Sums that a dot leaves in its
/// accumulators are stored by nobody.
BufferId StreamedBy(const Plan& plan, const Stages& stages, LoopId loop, const stage::Dot* dot) {
  const stage::Store* store = nullptr;
  bool kept = false;  // a store of the sums themselves
  for (const Stage& s : stages) {
    if (Is<stage::Define>(s)) continue;
    const auto* own = As<stage::Store>(s);
    if (dot && !kept && own && KeepsSums(plan, *dot, *own)) {
      kept = true;
      continue;
    }
    if (store || !own || own->mask) return {};
    store = own;
  }
  if (!store || store->place.at.empty()) return {};
  const Coordinate& last = store->place.at.back();
  if (last.loop != loop || last.stride != 1) return {};
  const Ref* ref = plan.RefOf(store->place.buffer);
  const bool streams = ref && ref->role == Role::kOutput && !IsRead(plan, store->place.buffer);
  return streams ? store->place.buffer : BufferId();
}

}  // namespace

void FindStreams(Plan& plan) {
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      if (auto* lanes = As<stage::Lanes>(stage))
        lanes->streamed = StreamedBy(plan, lanes->body, lanes->loop, nullptr);
      if (auto* dot = As<stage::Dot>(stage))
        dot->streamed = StreamedBy(plan, dot->body, dot->col, dot);
    });
  }
}

void FindWideLanes(Plan& plan) {
  const auto any_wide = [&](const Stages& stages) {
    bool wide = false;
    for (const Stage& s : stages) wide = wide || HasWide(plan, s);
    return wide;
  };
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      if (auto* lanes = As<stage::Lanes>(stage)) lanes->wide = any_wide(lanes->body);
      if (auto* reduce = As<stage::Reduce>(stage))
        reduce->wide = HasWide(plan, stage) || IsWide(plan[reduce->variable].dtype);
    });
  }
}

}  // namespace kiln
