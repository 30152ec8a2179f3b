#include "generator/planner/fuse/rows_together.h"

#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

bool WalksWith(const Place& place, int loop) {
  return std::any_of(place.at.begin(), place.at.end(),
                     [&](const Coordinate& c) { return c.loop == loop; });
}

/// The store of lanes that do nothing but `sum = sum + …`, to the same place for every row.
const Stage* StoreOfSum(const Stage& row) {
  if (row.kind != Stage::Kind::kLoop || row.body.size() != 1) return nullptr;
  const Stage& lanes = row.body.front();
  if (lanes.kind != Stage::Kind::kLanes || lanes.body.empty()) return nullptr;
  const Stage& store = lanes.body.back();
  const bool others_define =
      std::all_of(lanes.body.begin(), lanes.body.end() - 1,
                  [](const Stage& s) { return s.kind == Stage::Kind::kDefine; });
  if (!others_define || store.kind != Stage::Kind::kStore || store.mask) return nullptr;
  if (WalksWith(store.place, row.loop) || !WalksWith(store.place, lanes.loop)) return nullptr;
  int sums = 0, others = 0;
  ForEachPlace(lanes, [&](const Place& p, bool writes) {
    if (!writes && p.buffer == store.place.buffer) ++(SamePlace(p, store.place) ? sums : others);
  });
  return sums > 0 && others == 0 ? &store : nullptr;
}

/// No other name for the memory that is stored to.
bool IsAlone(const Plan& plan, int buffer) {
  const auto& refs = plan.kernel->refs;
  return plan.buffers[static_cast<size_t>(buffer)].same_as < 0 &&
         std::none_of(plan.buffers.begin(), plan.buffers.end(),
                      [&](const Buffer& b) { return b.same_as == buffer; }) &&
         std::none_of(refs.begin(), refs.end(), [](const Ref& r) { return r.alias >= 0; });
}

/// for row { for lane { …; sum[lane] = f(sum[lane]) } } becomes
/// for rows { for lane { let s = sum[lane]; for each row { …; s = f(s) } sum[lane] = s } }
void TakeTogether(Plan& plan, Stage& row, const Stage& store) {
  const Place place = store.place;
  auto sum = std::make_shared<Element>();
  sum->kind = Element::Kind::kVariable;
  sum->dtype = store.value->dtype;
  sum->index = static_cast<int>(plan.variables.size());
  plan.variables.push_back(
      {plan.buffers[static_cast<size_t>(place.buffer)].name, sum->dtype, /*changes=*/true});
  auto load = std::make_shared<Element>();
  load->kind = Element::Kind::kLoad;
  load->dtype = sum->dtype;
  load->place = place;

  Stage& lanes = row.body.front();
  Stage each = StageOf(Stage::Kind::kEachRow, lanes.span);
  each.loop = row.loop;
  each.body = std::move(lanes.body);
  Stage& last = each.body.back();
  last.kind = Stage::Kind::kAssign;
  last.place = Place();
  last.variable = sum->index;
  ChangeElements(each.body, [&](const ElementPtr& e) -> ElementPtr {
    return e->kind == Element::Kind::kLoad && SamePlace(e->place, place) ? sum : nullptr;
  });
  Stage begin = StageOf(Stage::Kind::kDefine, lanes.span);
  begin.variable = sum->index;
  begin.value = load;
  Stage end = StageOf(Stage::Kind::kStore, lanes.span);
  end.place = place;
  end.value = sum;
  lanes.body = {begin, each, end};
  row.kind = Stage::Kind::kRows;
}

void Take(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    Take(plan, stage.body);
    Take(plan, stage.orelse);
    const Stage* store = StoreOfSum(stage);
    if (store && IsAlone(plan, store->place.buffer)) TakeTogether(plan, stage, *store);
  }
}

}  // namespace

void TakeRowsTogether(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Take(plan, body.stages);
}

}  // namespace kiln
