#include "generator/planner/fuse/rows/rows_together.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

bool WalksWith(const Place& place, LoopId loop) {
  return std::any_of(place.at.begin(), place.at.end(),
                     [&](const Coordinate& c) { return c.loop == loop; });
}

/// `for row { for lane { …; store … } }`, by its parts.
struct RowSums {
  stage::Loop* row;
  Stage* lanes;
  std::vector<Place> sums;
};

/// Lanes that do nothing but `sum = sum + …`, to the same places for every row.
std::optional<RowSums> AsRowSums(Stage& stage) {
  auto* row = As<stage::Loop>(stage);
  if (!row || row->body.size() != 1) return {};
  const auto* lanes = As<stage::Lanes>(row->body.front());
  if (!lanes) return {};
  RowSums found{row, &row->body.front(), {}};
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
  ForEachPlace(row->body.front(), [&](const Place& p, bool writes) {
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

/// for row { for lane { …; sum[lane] = f(sum[lane]) } } becomes
/// for rows { for lane { let s = sum[lane]; for each row { …; s = f(s) } sum[lane] = s } }
Stage TakenTogether(Plan& plan, Span span, const RowSums& rows) {
  Stage nest = std::move(*rows.lanes);
  auto& lanes = *As<stage::Lanes>(nest);
  stage::EachRow each{rows.row->loop, std::move(lanes.body)};
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

void Take(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    ForEachList(stage, [&](Stages& list) { Take(plan, list); });
    const std::optional<RowSums> rows = AsRowSums(stage);
    const auto is_alone = [&](const Place& sum) { return IsAlone(plan, sum.buffer); };
    if (rows && std::all_of(rows->sums.begin(), rows->sums.end(), is_alone))
      stage = TakenTogether(plan, stage.span, *rows);
  }
}

}  // namespace

void TakeRowsTogether(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Take(plan, body.stages);
}

}  // namespace kiln
