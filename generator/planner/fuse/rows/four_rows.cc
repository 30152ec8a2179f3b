#include "generator/planner/fuse/rows/four_rows.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"
#include "generator/planner/fuse/loops/turn_inside.h"
#include "generator/planner/fuse/rows/shared_windows.h"
#include "generator/planner/fuse/rows/some_rows.h"

namespace kiln {
namespace {

bool HasTurns(const stage::Lanes& lanes) {
  return AnyStage(lanes.body, [](const Stage& s) { return Is<stage::For>(s); });
}

/// Whether all rows take as many turns.
bool AreTurnsAlike(const OwnOfRows& own, const Stages& stages) {
  return !AnyStage(stages, [&](const Stage& s) {
    const auto* loop = As<stage::For>(s);
    return loop && (own.Has(loop->low) || own.Has(loop->high));
  });
}

/// Whether a loop is over rows of lanes that go through turns or share windows, and rows may be
/// computed in any order.
bool MayBeFour(const Plan& plan, const stage::Loop& row) {
  if (row.body.size() != 1 || plan.kernel->HasAliases()) return false;
  const auto* lanes = As<stage::Lanes>(row.body.front());
  if (!lanes || plan.SpaceOf(row.loop).extent.Constant().value_or(kFourRows) < kFourRows)
    return false;
  bool turns = false;
  for (const Stage& s : lanes->body) {
    const auto* loop = As<stage::For>(s);
    turns = turns || loop;
    if (loop ? !IsShortTurn(*loop) : !Is<stage::Define, stage::Assign, stage::Store>(s))
      return false;
  }
  if (turns ? !AreTurnsAlike(OwnOfRows({row.loop}, lanes->body), lanes->body)
            : ShareWindows({}, row) == Together::kNone)
    return false;
  return ConflictsOf(plan, row.body, row.body, {row.loop, lanes->loop}).legal;
}

/// Whether the elements that a nest stores are no others that it reads, so that rows may be
/// computed again.
bool OnlyWrites(const Plan& plan, const Stages& stages) {
  std::set<BufferId> written, read;
  ForEachPlace(stages, [&](const Place& p, bool writes) {
    (writes ? written : read).insert(RootOf(plan, p.buffer));
  });
  return std::none_of(written.begin(), written.end(),
                      [&](BufferId buffer) { return read.count(buffer) > 0; });
}

/// Whether no rows are left over of so many at a time, in any call.
bool HaveNoRest(const Space& rows, int64_t together, bool again) {
  const std::optional<int64_t> extent = rows.extent.Constant();
  return !rows.clipped && extent && (again || *extent % together == 0);
}

void ComputeTogether(Plan& plan, stage::Lanes& lanes, std::vector<std::vector<LaterRow>> later) {
  SomeRows rows(plan, lanes.body, std::move(later));
  const bool turns = HasTurns(lanes);
  lanes.prefetches = turns ? std::vector<Prefetch>() : rows.ReadFirst(lanes.body);
  lanes.body = rows.Of(lanes.body);
  if (!turns) lanes.rows = rows.Beginnings(lanes);
}

/// Four rows of the loop at a time. `by_parts`: of which there may be any number.
void TakeFour(Plan& plan, Stage& stage, bool by_parts) {
  const auto& row = *As<stage::Loop>(stage);
  Stage nest = row.body.front();
  auto& lanes = *As<stage::Lanes>(nest);
  std::vector<LoopId> others;
  std::vector<std::vector<LaterRow>> later;
  for (int64_t k = 1; k < kFourRows; ++k) {
    others.push_back(plan.loops.Add({plan[row.loop].space}));
    later.push_back({{row.loop, others.back(), k}});
  }
  ComputeTogether(plan, lanes, std::move(later));
  const bool again = OnlyWrites(plan, row.body);
  Stages rest;
  if (by_parts || !HaveNoRest(plan.SpaceOf(row.loop), kFourRows, again)) rest = row.body;
  stage.what =
      stage::Rows{row.loop, {std::move(nest)}, /*as_lanes=*/false, others, std::move(rest), again};
}

/// `for i { for j { lanes } }`, of which the inner loop may be taken by parts.
struct RowsOfTwo {
  stage::Loop* outer;
  stage::AtEdges* edges;  // or null
  Stage* inner;

  const stage::Loop& row() const { return *As<stage::Loop>(*inner); }
};

std::optional<RowsOfTwo> AsRowsOfTwo(Stage& stage) {
  auto* outer = As<stage::Loop>(stage);
  if (!outer || outer->body.size() != 1) return {};
  auto* edges = As<stage::AtEdges>(outer->body.front());
  Stage* inner = edges ? &edges->body.front() : &outer->body.front();
  if (!Is<stage::Loop>(*inner)) return {};
  return RowsOfTwo{outer, edges, inner};
}

/// Whether a pair of rows of each loop is computed at a time.
bool MayBePairs(const Plan& plan, const RowsOfTwo& rows) {
  const stage::Loop& row = rows.row();
  const auto is_one = [&](LoopId loop) { return plan.SpaceOf(loop).extent.Constant() == 1; };
  if (is_one(rows.outer->loop) || is_one(row.loop) || !MayBeFour(plan, row)) return false;
  const auto& lanes = *As<stage::Lanes>(row.body.front());
  return !HasTurns(lanes) && ShareWindows(rows.outer->loop, row) == Together::kPairs &&
         ConflictsOf(plan, row.body, row.body, {rows.outer->loop, row.loop, lanes.loop}).legal;
}

/// Pairs of rows of both loops, a row of the inner one that is left over with the next of the outer
/// one, and those of an outer one that is left over.
void TakePairs(Plan& plan, Stage& stage, const RowsOfTwo& rows) {
  const stage::Loop whole = *rows.outer;
  const stage::Loop row = rows.row();
  const LaterRow down{whole.loop, plan.loops.Add({plan[whole.loop].space})};
  const LaterRow along{row.loop, plan.loops.Add({plan[row.loop].space})};
  const auto together = [&](std::vector<std::vector<LaterRow>> later) {
    Stage nest = row.body.front();
    auto& lanes = *As<stage::Lanes>(nest);
    ComputeTogether(plan, lanes, std::move(later));
    return Stages{std::move(nest)};
  };
  const bool again = OnlyWrites(plan, row.body);
  stage::Rows pairs{row.loop, together({{along}, {down}, {down, along}}), false, {along.loop}};
  pairs.again = again;
  if (rows.edges || !HaveNoRest(plan.SpaceOf(row.loop), 2, again)) pairs.rest = together({{down}});
  rows.inner->what = std::move(pairs);
  if (rows.edges) {
    rows.edges->along.together = 2;
    for (EdgeWindow& window : rows.edges->around) {
      if (window.loop == whole.loop) window.until = down.loop;
    }
  }
  stage::Rows outer{whole.loop, std::move(rows.outer->body), false, {down.loop}};
  outer.again = again;
  if (!HaveNoRest(plan.SpaceOf(whole.loop), 2, again)) outer.rest = whole.body;
  stage.what = std::move(outer);
}

void TakeSome(Plan& plan, Stages& stages, bool by_parts = false) {
  for (Stage& stage : stages) {
    const std::optional<RowsOfTwo> rows = AsRowsOfTwo(stage);
    if (rows && !by_parts && MayBePairs(plan, *rows)) {
      TakePairs(plan, stage, *rows);
      continue;
    }
    ForEachList(stage, [&](Stages& list) { TakeSome(plan, list, Is<stage::AtEdges>(stage)); });
    const auto* row = As<stage::Loop>(stage);
    if (row && MayBeFour(plan, *row)) TakeFour(plan, stage, by_parts);
  }
}

}  // namespace

void TakeFourRows(Plan& plan) {
  for (BodyPlan& body : plan.bodies) TakeSome(plan, body.stages);
}

}  // namespace kiln
