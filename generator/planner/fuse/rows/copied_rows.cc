#include "generator/planner/fuse/rows/copied_rows.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// A pass that does nothing but copy a row.
struct RowCopy {
  Place from, to;
  LoopId lanes;
};

std::optional<RowCopy> AsRowCopy(const Plan& plan, const Stage& stage) {
  const auto* lanes = As<stage::Lanes>(stage);
  const auto* store =
      lanes && lanes->body.size() == 1 ? As<stage::Store>(lanes->body.front()) : nullptr;
  if (!store || store->mask) return std::nullopt;
  const Place* const from = LoadedBy(*store->value);
  if (!from || plan[from->buffer].dtype != plan[store->place.buffer].dtype) return std::nullopt;
  // An output may be where an input is that the first pass still reads.
  const bool may_share = !IsTemp(plan, store->place.buffer) && plan.kernel->HasAliases();
  const bool is_value = IsTemp(plan, from->buffer) && !plan[from->buffer].same_as;
  if (may_share || !is_value) return std::nullopt;
  return RowCopy{*from, store->place, lanes->loop};
}

Place InLoop(Place place, LoopId from, LoopId to) {
  RenameLoop(place, from, to);
  return place;
}

/// How often statements touch memory, by whatever name.
int Touches(const Plan& plan, const Stages& stages, BufferId buffer) {
  int times = 0;
  ForEachPlace(stages, [&](const Place& place, bool) {
    times += RootOf(plan, place.buffer) == RootOf(plan, buffer);
  });
  return times;
}
int Touches(const Plan& plan, BufferId buffer) {
  int times = 0;
  for (const BodyPlan& body : plan.bodies) times += Touches(plan, body.stages, buffer);
  return times;
}

/// The statement of a pass that stores the elements of the row; none: it is another pass, or does
/// something else with the row.
std::optional<size_t> StoreOf(const Plan& plan, const Stage& pass, const RowCopy& copy) {
  if (!IsPass(pass) || !SameSpace(plan, LoopOf(pass), copy.lanes)) return std::nullopt;
  const Stages& body = *BodyOf(pass);
  const Place row = InLoop(copy.from, copy.lanes, LoopOf(pass));
  for (size_t i = 0; i < body.size(); ++i) {
    const auto* store = As<stage::Store>(body[i]);
    if (!Is<stage::Define, stage::Store>(body[i])) return std::nullopt;
    if (store && !store->mask && SamePlace(store->place, row))
      return Touches(plan, {pass}, copy.from.buffer) == 1 ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

/// Whether the pass, up to its statement `store`, does nothing with the row that is copied to but
/// read the element that it is about to store.
bool MayStore(const Plan& plan, const Stage& pass, size_t store, const RowCopy& copy) {
  const Stages& body = *BodyOf(pass);
  const Place row = InLoop(copy.to, copy.lanes, LoopOf(pass));
  bool may = true;
  int before = 0;
  const auto until = body.begin() + static_cast<std::ptrdiff_t>(store) + 1;
  ForEachPlace(Stages(body.begin(), until), [&](const Place& place, bool writes) {
    if (RootOf(plan, place.buffer) != RootOf(plan, row.buffer)) return;
    may = may && !writes && SamePlace(place, row);
    ++before;
  });
  return may && before == Touches(plan, {pass}, row.buffer);
}

/// Whether the place can be named in front of these statements, too.
bool IsKnownBefore(const Place& place, const Stages& list, size_t begin, size_t end) {
  std::set<VariableId> later;
  for (size_t i = begin; i < end; ++i)
    for (const VariableId name : NamesOf(list[i])) later.insert(name);
  return std::none_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
    return std::any_of(later.begin(), later.end(),
                       [&](VariableId name) { return Uses(c.offset, name); });
  });
}

/// A statement of a pass in a list.
struct Position {
  size_t pass, statement;
};

/// What stores the row that `list[at]` copies, if it may store where that does.
std::optional<Position> StoredBy(const Plan& plan, const Stages& list, size_t at,
                                 const RowCopy& copy) {
  for (size_t p = at; p-- > 0;) {
    const Stages pass{list[p]};
    if (const auto store = StoreOf(plan, list[p], copy)) {
      const bool alone = Touches(plan, copy.from.buffer) == 2;  // this store, and the copy's load
      return alone && MayStore(plan, list[p], *store, copy) && IsKnownBefore(copy.to, list, p, at)
                 ? std::optional(Position{p, *store})
                 : std::nullopt;
    }
    if (Touches(plan, pass, copy.to.buffer) + Touches(plan, pass, copy.from.buffer) > 0) break;
  }
  return std::nullopt;
}

}  // namespace

void StoreWhereCopied(Plan& plan, Stages& stages) {
  for (size_t at = 0; at < stages.size(); ++at) {
    ForEachList(stages[at], [&](Stages& list) { StoreWhereCopied(plan, list); });
    const std::optional<RowCopy> copy = AsRowCopy(plan, stages[at]);
    const auto stored = copy ? StoredBy(plan, stages, at, *copy) : std::nullopt;
    if (!stored) continue;
    Stage& pass = stages[stored->pass];
    As<stage::Store>((*BodyOf(pass))[stored->statement])->place =
        InLoop(copy->to, copy->lanes, LoopOf(pass));
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(at--));
  }
}

}  // namespace kiln
