#include "generator/planner/fuse/rows/rows_together.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"
#include "generator/planner/fuse/rows/shared_windows.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

bool WalksWith(const Place& place, LoopId loop) {
  return std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
    return c.loop == loop || (c.offset && DependsOn(*c.offset, loop));
  });
}

/// Whether the place is another one, or may be, in another turn of the loop.
bool DependsOnRow(const Place& place, LoopId row) {
  return std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
    return c.loop == row || (c.offset && !Is<element::Constant>(*c.offset));
  });
}

/// `for row { names; for lane { …; store … } }`, by its parts.
struct RowSums {
  stage::Loop* row;
  Stage* lanes;
  std::vector<Place> sums;
};

/// Lanes that do nothing but `sum = sum + …`, to the same places for every row.
std::optional<RowSums> AsRowSums(Stage& stage) {
  auto* row = As<stage::Loop>(stage);
  if (!row || row->body.empty()) return {};
  const auto* lanes = As<stage::Lanes>(row->body.back());
  const bool names_alone = std::all_of(row->body.begin(), row->body.end() - 1,
                                       [](const Stage& s) { return Is<stage::Define>(s); });
  if (!lanes || !names_alone) return {};
  RowSums found{row, &row->body.back(), {}};
  std::set<BufferId> stored;
  for (const Stage& s : lanes->body) {
    if (Is<stage::Define>(s)) continue;
    const auto* store = As<stage::Store>(s);
    if (!store || store->mask || !stored.insert(store->place.buffer).second) return {};
    if (WalksWith(store->place, row->loop) || !WalksWith(store->place, lanes->loop)) return {};
    found.sums.push_back(store->place);
  }
  std::set<BufferId> added;
  bool others = false;
  ForEachPlace(row->body, [&](const Place& p, bool writes) {
    if (writes || stored.count(p.buffer) == 0) return;
    const bool is_sum = std::any_of(found.sums.begin(), found.sums.end(),
                                    [&](const Place& sum) { return SamePlace(p, sum); });
    if (is_sum)
      added.insert(p.buffer);
    else
      others = true;
  });
  return stored.empty() || added != stored || others ? std::nullopt : std::optional(found);
}

/// No other name for the memory that is stored to.
bool IsAlone(const Plan& plan, BufferId buffer) {
  return !plan[buffer].same_as && !plan.kernel->HasAliases() &&
         std::none_of(plan.buffers.begin(), plan.buffers.end(),
                      [&](const Buffer& b) { return b.same_as == buffer; });
}

/// Rows of inputs of which each is read once, along lanes.
std::vector<Prefetch> RowsToAdd(const Plan& plan, const stage::Loop& row, LoopId lanes) {
  std::vector<Prefetch> found;
  ForEachPlace(row.body, [&](const Place& place, bool) {
    const Ref* ref = plan.RefOf(place.buffer);
    if (!ref || ref->role != Role::kInput || IsPacked(ref->dtype) || place.at.empty()) return;
    const Coordinate& lane = place.at.back();
    const bool is_along = lane.loop == lanes && lane.IsPlain();
    const auto is_row = [&](const Coordinate& c) { return c.loop == row.loop && c.IsPlain(); };
    const bool is_known = std::any_of(found.begin(), found.end(), [&](const Prefetch& other) {
      return SamePlace(other.place, place);
    });
    if (is_along && !is_known && std::any_of(place.at.begin(), place.at.end(), is_row))
      found.push_back({Prefetch::Kind::kRowsToAdd, place, row.loop});
  });
  return found;
}

/// for row { names; for lane { …; sum[lane] = f(sum[lane]) } } becomes
/// for rows { for lane { let s = sum[lane]; for each row { names; …; s = f(s) } sum[lane] = s } }
Stage TakenTogether(Plan& plan, Span span, const RowSums& rows) {
  std::vector<Prefetch> ahead = RowsToAdd(plan, *rows.row, LoopOf(*rows.lanes));
  Stage nest = std::move(*rows.lanes);
  auto& lanes = *As<stage::Lanes>(nest);
  rows.row->body.pop_back();
  lanes.prefetches = std::move(ahead);
  stage::EachRow each{rows.row->loop, std::move(rows.row->body)};
  Append(each.body, std::move(lanes.body));
  Stages begin, end;
  for (Stage& s : each.body) {
    const auto* store = As<stage::Store>(s);
    if (!store) continue;
    const Place place = store->place;
    const DType dtype = store->value->dtype;
    const VariableId variable =
        plan.variables.Add({plan[place.buffer].name, dtype, /*changes=*/true});
    const ElementPtr sum = NamedElement(plan, variable);
    s.what = stage::Assign{variable, ElementPtr(store->value)};
    ChangeElements(each.body, [&](const ElementPtr& e) -> ElementPtr {
      const Place* loaded = LoadedBy(*e);
      return loaded && SamePlace(*loaded, place) ? sum : nullptr;
    });
    begin.push_back({nest.span, stage::Define{variable, LoadOf(place, dtype)}});
    end.push_back({nest.span, stage::Store{place, sum, nullptr}});
  }
  lanes.body = std::move(begin);
  lanes.body.push_back({nest.span, std::move(each)});
  Append(lanes.body, std::move(end));
  return {span, stage::Rows{rows.row->loop, {std::move(nest)}}};
}

/// Elements of inputs that lanes read alike in every row, if they are most of what they read.
std::vector<ElementPtr> SharedByRows(const Plan& plan, const stage::Loop& row) {
  constexpr size_t kMinShared = 4;  // one or two are as well read again
  const LoopId lanes = LoopOf(row.body.front());
  std::vector<ElementPtr> shared, own;
  ForEachElement(row.body.front(), [&](const Element& e) {
    const Place* const place = LoadedBy(e);
    if (!place || !WalksWith(*place, lanes)) return;  // a single element is not loaded by lanes
    const Ref* ref = plan.RefOf(place->buffer);
    const bool of_input = ref && ref->role == Role::kInput;
    std::vector<ElementPtr>& loads = of_input && !DependsOnRow(*place, row.loop) ? shared : own;
    const ElementPtr load = LoadOf(*place, e.dtype);
    const bool known = std::any_of(loads.begin(), loads.end(),
                                   [&](const ElementPtr& l) { return SameElement(l, load); });
    if (!known) loads.push_back(load);
  });
  return shared.size() < kMinShared || shared.size() < own.size() ? std::vector<ElementPtr>()
                                                                  : shared;
}

/// Whether rows of elements, that may be computed in any order, share much of what they read.
bool IsOfSharingRows(const Plan& plan, const stage::Loop& row) {
  if (row.body.size() != 1 || plan.kernel->HasAliases()) return false;
  const auto* lanes = As<stage::Lanes>(row.body.front());
  return lanes &&
         std::all_of(lanes->body.begin(), lanes->body.end(),
                     [](const Stage& s) { return Is<stage::Define, stage::Store>(s); }) &&
         ConflictsOf(plan, row.body, row.body, {row.loop, lanes->loop}).legal;
}

/// for row { for lane { … shared[lane] … } } becomes
/// for rows { for lane { let s = shared[lane]; for each row { … s … } } }
Stage SharedBetween(Plan& plan, Span span, stage::Loop& row,
                    const std::vector<ElementPtr>& shared) {
  Stage nest = std::move(row.body.front());
  auto& lanes = *As<stage::Lanes>(nest);
  lanes.prefetches.clear();
  stage::EachRow each{row.loop, std::move(lanes.body)};
  lanes.body.clear();
  for (const ElementPtr& load : shared) {
    const std::string& name = plan[LoadedBy(*load)->buffer].name;
    const VariableId variable = plan.variables.Add({name, load->dtype, false});
    const ElementPtr named = NamedElement(plan, variable);
    ChangeElements(each.body, [&](const ElementPtr& e) -> ElementPtr {
      return SameElement(e, load) ? named : nullptr;
    });
    lanes.body.push_back({nest.span, stage::Define{variable, load}});
  }
  lanes.body.push_back({nest.span, std::move(each)});
  return {span, stage::Rows{row.loop, {std::move(nest)}}};
}

void Take(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    ForEachList(stage, [&](Stages& list) { Take(plan, list); });
    const std::optional<RowSums> rows = AsRowSums(stage);
    const auto is_alone = [&](const Place& sum) { return IsAlone(plan, sum.buffer); };
    if (rows && std::all_of(rows->sums.begin(), rows->sums.end(), is_alone))
      stage = TakenTogether(plan, stage.span, *rows);
    auto* row = As<stage::Loop>(stage);
    if (!row || !IsOfSharingRows(plan, *row) || ShareWindows({}, *row) != Together::kNone) continue;
    const std::vector<ElementPtr> shared = SharedByRows(plan, *row);
    if (!shared.empty()) stage = SharedBetween(plan, stage.span, *row, shared);
  }
}

}  // namespace

void TakeRowsTogether(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Take(plan, body.stages);
}

}  // namespace kiln
