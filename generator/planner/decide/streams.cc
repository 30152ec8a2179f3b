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
/// accumulators are stored by nobody, and what a pass writes besides has to stay in the caches.
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
    if (!dot && own && !own->mask && IsTemp(plan, own->place.buffer)) continue;
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

/// Whether all that the dot does with its sums is to store them, to rows of a block from which they
/// start, if not from 0.
bool AreInRows(const Plan& plan, const stage::Dot& dot) {
  const auto* store = dot.body.size() == 1 ? As<stage::Store>(dot.body.front()) : nullptr;
  if (!store || store->mask || !IsNamed(*store->value, dot.sum)) return false;
  const Place& place = store->place;
  if (plan.IsAccumulator(place.buffer) || plan[place.buffer].dtype != plan[dot.sum].dtype)
    return false;
  if (place.at.empty() || place.at.back().loop != dot.col || !place.at.back().IsPlain())
    return false;
  for (const Coordinate& c : place.at) {
    const bool chosen =
        c.offset && (DependsOn(*c.offset, dot.row) || DependsOn(*c.offset, dot.col));
    if (chosen || (c.around && c.loop)) return false;
  }
  const Place* const start = dot.start ? LoadedBy(*dot.start) : nullptr;
  return !dot.start || (start && SamePlace(*start, place));
}

}  // namespace

void FindSums(Plan& plan) {
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      auto* dot = As<stage::Dot>(stage);
      if (!dot) return;
      if (dot->taps.empty()) dot->streamed = StreamedBy(plan, dot->body, dot->col, dot);
      dot->in_rows = !dot->streamed && AreInRows(plan, *dot);
      if (dot->in_rows) dot->prefetches.clear();  // tiles do that
    });
  }
}

void FindStreams(Plan& plan) {
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      auto* lanes = As<stage::Lanes>(stage);
      if (!lanes) return;
      const auto* each = EachRowOf(*lanes);
      lanes->streamed = StreamedBy(plan, each ? each->body : lanes->body, lanes->loop, nullptr);
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
      if (auto* reduce = As<stage::Reduce>(stage)) reduce->wide = HasWide(plan, stage);
    });
  }
}

}  // namespace kiln
