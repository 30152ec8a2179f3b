#include "generator/planner/decide/lanes/streams.h"

#include <algorithm>

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

/// Whether a place is one of neighbours along `loop`, in an output that nobody reads.
bool MayStream(const Plan& plan, const Place& place, LoopId loop) {
  if (place.at.empty()) return false;
  const Coordinate& last = place.at.back();
  if (last.loop != loop || last.stride != 1) return false;
  const Ref* ref = plan.RefOf(place.buffer);
  return ref && ref->role == Role::kOutput && !IsRead(plan, place.buffer);
}

/// The same of a store of whole vectors.
bool MayStream(const Plan& plan, const stage::Store& store, LoopId loop) {
  return !store.mask && MayStream(plan, store.place, loop);
}

/// The output that a dot does nothing but write. Sums that it leaves in its accumulators are stored
/// by nobody.
BufferId StreamedBy(const Plan& plan, const stage::Dot& dot) {
  const stage::Store* store = nullptr;
  bool kept = false;  // a store of the sums themselves
  for (const Stage& s : dot.body) {
    if (Is<stage::Define>(s)) continue;
    const auto* own = As<stage::Store>(s);
    if (!kept && own && KeepsSums(plan, dot, *own)) {
      kept = true;
      continue;
    }
    if (store || !own || own->mask) return {};
    store = own;
  }
  return store && MayStream(plan, *store, dot.col) ? store->place.buffer : BufferId();
}

/// Values, and turns of a loop that make some.
bool StoresNothing(const Stage& stage) {
  return !AnyStage({stage},
                   [](const Stage& s) { return !Is<stage::Define, stage::Assign, stage::For>(s); });
}

/// The outputs that statements do nothing but write, along `loop`: at most `most` stores, of one
/// type, as they have to be aligned alike. What a pass writes besides has to stay in the caches.
std::vector<BufferId> StreamedBy(const Plan& plan, const Stages& stages, LoopId loop, size_t most) {
  std::vector<BufferId> streamed;
  size_t stores = 0;
  for (const Stage& s : stages) {
    if (StoresNothing(s)) continue;
    const auto* store = As<stage::Store>(s);
    if (!store) return {};
    const BufferId buffer = store->place.buffer;
    if (!store->mask && IsTemp(plan, buffer)) continue;
    const bool fits = stores == 0 || plan[buffer].dtype == plan[streamed.front()].dtype;
    if (++stores > most || !fits || !MayStream(plan, *store, loop)) return {};
    if (std::find(streamed.begin(), streamed.end(), buffer) == streamed.end())
      streamed.push_back(buffer);
  }
  return streamed;
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
      if (dot->taps.empty()) dot->streamed = StreamedBy(plan, *dot);
      dot->in_rows = !dot->streamed && AreInRows(plan, *dot);
      if (dot->in_rows) dot->prefetches.clear();  // tiles do that
    });
  }
}

void FindStreams(Plan& plan) {
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      if (auto* along = As<stage::Along>(stage);
          along && along->into && ClassOf(along->op) == OpClass::kScan)
        along->streamed = MayStream(plan, along->to, along->into);
      auto* lanes = As<stage::Lanes>(stage);
      if (!lanes) return;
      // Rows that are taken together are aligned alike if they are those of one store.
      constexpr size_t kMost = 4;
      const auto* each = EachRowOf(*lanes);
      lanes->streamed =
          StreamedBy(plan, each ? each->body : lanes->body, lanes->loop, each ? 1 : kMost);
    });
  }
}

}  // namespace kiln
