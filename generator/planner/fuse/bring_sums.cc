#include "generator/planner/fuse/bring_sums.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/accumulators.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

/// What `for row { for lane { sum = sum + … } }`, or the largest in place of the sum, adds to, if
/// all rows add to the same place of a temporary.
std::optional<BufferId> SumsOfRows(const Plan& plan, const Stage& stage) {
  const auto* row = As<stage::Loop>(stage);
  if (!row || row->body.size() != 1) return {};
  const auto* lanes = As<stage::Lanes>(row->body.front());
  if (!lanes || lanes->body.size() != 1) return {};
  const auto* store = As<stage::Store>(lanes->body.front());
  if (!store || store->mask || !IsTemp(plan, store->place.buffer)) return {};
  bool with_row = false, reads = false;
  for (const Coordinate& c : store->place.at)
    with_row = with_row || c.loop == row->loop || (c.offset && DependsOn(*c.offset, row->loop));
  ForEachLoad(store->value, [&](const Place& p) { reads = reads || SamePlace(p, store->place); });
  if (with_row || !reads) return {};
  return RootOf(plan, store->place.buffer);
}

/// Whether both have to do with elements of one buffer, besides the sums.
bool ShareElements(const Plan& plan, const Stage& a, const Stage& b, BufferId sums) {
  bool share = false;
  ForEachPlace(a, [&](const Place& x, bool) {
    ForEachPlace(b, [&](const Place& y, bool) {
      const BufferId root = RootOf(plan, x.buffer);
      share = share || (root == RootOf(plan, y.buffer) && root != sums && !x.at.empty());
    });
  });
  return share;
}

/// The nest that the one at `at` may follow, as nothing between them has to do with it; `filling`
/// goes elsewhere.
std::optional<size_t> NestToFollow(const Plan& plan, const Stages& list, size_t at, size_t filling,
                                   BufferId sums) {
  for (size_t k = at; k-- > 0;) {
    if (k == filling) continue;
    const Stage& before = list[k];
    if (Is<stage::Loop>(before) && SameSpace(plan, LoopOf(before), LoopOf(list[at])) &&
        ShareElements(plan, before, list[at], sums)) {
      return k;
    }
    if (!MayBePassed(before) || !Independent(plan, before, list[at])) return {};
  }
  return {};
}

/// Where the stage may go: the first place before which something has to do with it, or may end the
/// step. So nests that it stood between become neighbours.
size_t EarliestPlace(const Plan& plan, const Stages& list, size_t at) {
  size_t place = at;
  while (place > 0 && MayBePassed(list[place - 1]) && Independent(plan, list[place - 1], list[at]))
    --place;
  return place;
}

/// Moves the stage `from` to a place before it.
void MoveUp(Stages& list, size_t from, size_t to) {
  const auto place = [&](size_t k) { return list.begin() + static_cast<std::ptrdiff_t>(k); };
  std::rotate(place(to), place(from), place(from + 1));
}

}  // namespace

void BringSumsToRows(const Plan& plan, Stages& stages) {
  for (Stage& stage : stages)
    ForEachList(stage, [&](Stages& list) { BringSumsToRows(plan, list); });
  for (size_t at = 0; at < stages.size(); ++at) {
    const std::optional<BufferId> sums = SumsOfRows(plan, stages[at]);
    if (!sums) continue;
    const std::optional<size_t> filling = FillBefore(
        plan, stages, at, *sums, [](const Element& e) { return Is<element::Constant>(e); });
    if (!filling) continue;
    const std::optional<size_t> nest = NestToFollow(plan, stages, at, *filling, *sums);
    if (!nest) continue;
    const size_t begin = EarliestPlace(plan, stages, *filling);
    if (*nest < *filling && *nest < begin) continue;  // the nest needs what the sums are in
    MoveUp(stages, *filling, begin);
    MoveUp(stages, at, *nest < *filling ? *nest + 2 : *nest + 1);
  }
}

}  // namespace kiln
