#include "generator/planner/fuse/rows_together.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

bool WalksWith(const Place& place, LoopId loop) {
  return std::any_of(place.at.begin(), place.at.end(),
                     [&](const Coordinate& c) { return c.loop == loop; });
}

/// `for row { for lane { …; store } }`, by its parts.
struct RowSum {
  stage::Loop* row;
  Stage* lanes;
  const stage::Store* store;
};

/// Lanes that do nothing but `sum = sum + …`, to the same place for every row.
std::optional<RowSum> AsRowSum(Stage& stage) {
  auto* row = As<stage::Loop>(stage);
  if (!row || row->body.size() != 1) return {};
  const auto* lanes = As<stage::Lanes>(row->body.front());
  if (!lanes || lanes->body.empty()) return {};
  const auto* store = As<stage::Store>(lanes->body.back());
  const bool others_define = std::all_of(lanes->body.begin(), lanes->body.end() - 1,
                                         [](const Stage& s) { return Is<stage::Define>(s); });
  if (!others_define || !store || store->mask) return {};
  if (WalksWith(store->place, row->loop) || !WalksWith(store->place, lanes->loop)) return {};
  int sums = 0, others = 0;
  ForEachPlace(row->body.front(), [&](const Place& p, bool writes) {
    if (!writes && p.buffer == store->place.buffer) ++(SamePlace(p, store->place) ? sums : others);
  });
  if (sums == 0 || others > 0) return {};
  return RowSum{row, &row->body.front(), store};
}

/// No other name for the memory that is stored to.
bool IsAlone(const Plan& plan, BufferId buffer) {
  const auto& refs = plan.kernel->refs;
  return !plan[buffer].same_as &&
         std::none_of(plan.buffers.begin(), plan.buffers.end(),
                      [&](const Buffer& b) { return b.same_as == buffer; }) &&
         std::none_of(refs.begin(), refs.end(), [](const Ref& r) { return r.alias >= 0; });
}

/// for row { for lane { …; sum[lane] = f(sum[lane]) } } becomes
/// for rows { for lane { let s = sum[lane]; for each row { …; s = f(s) } sum[lane] = s } }
Stage TakenTogether(Plan& plan, Span span, const RowSum& rows) {
  const Place place = rows.store->place;
  const DType dtype = rows.store->value->dtype;
  const VariableId variable =
      plan.variables.Add({plan[place.buffer].name, dtype, /*changes=*/true});
  const ElementPtr sum = NamedElement(plan, variable);

  Stage nest = std::move(*rows.lanes);
  auto& lanes = *As<stage::Lanes>(nest);
  stage::EachRow each{rows.row->loop, std::move(lanes.body)};
  Stage& last = each.body.back();
  last.what = stage::Assign{variable, ElementPtr(As<stage::Store>(last)->value)};
  ChangeElements(each.body, [&](const ElementPtr& e) -> ElementPtr {
    const Place* loaded = LoadedBy(*e);
    return loaded && SamePlace(*loaded, place) ? sum : nullptr;
  });
  lanes.body = {{nest.span, stage::Define{variable, LoadOf(place, dtype)}},
                {nest.span, std::move(each)},
                {nest.span, stage::Store{place, sum, nullptr}}};
  return {span, stage::Rows{rows.row->loop, {std::move(nest)}}};
}

void Take(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    ForEachList(stage, [&](Stages& list) { Take(plan, list); });
    const std::optional<RowSum> rows = AsRowSum(stage);
    if (rows && IsAlone(plan, rows->store->place.buffer))
      stage = TakenTogether(plan, stage.span, *rows);
  }
}

}  // namespace

void TakeRowsTogether(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Take(plan, body.stages);
}

}  // namespace kiln
