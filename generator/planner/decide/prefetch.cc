#include "generator/planner/decide/prefetch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

bool IsOperand(const Plan& plan, int buffer) {
  const int ref = plan.buffers[static_cast<size_t>(buffer)].ref;
  if (ref < 0) return false;
  const Role role = plan.kernel->refs[static_cast<size_t>(ref)].role;
  return role == Role::kInput || role == Role::kOutput;
}

/// Whether every element of a tile has its own: a row of biases is soon in a cache by itself.
bool CoversTile(const Place& place, const Stage& dot) {
  const auto along = [&](int loop) {
    return std::any_of(place.at.begin(), place.at.end(),
                       [&](const Coordinate& c) { return c.loop == loop && !c.around; });
  };
  return along(dot.row) && along(dot.col);
}

void FindOfDot(const Plan& plan, Stage& dot) {
  const bool reads_first = dot.start && dot.start->kind == Element::Kind::kLoad;
  for (const Stage& s : dot.body) {
    if (s.kind == Stage::Kind::kIf) continue;  // who knows
    ForEachPlace(s, [&](const Place& place, bool) {
      const auto same = [&](const Place& other) { return SamePlace(place, other); };
      const bool known = std::any_of(dot.prefetches.begin(), dot.prefetches.end(),
                                     [&](const Prefetch& a) { return same(a.place); }) ||
                         (reads_first && same(dot.start->place));
      if (!known && IsOperand(plan, place.buffer) && CoversTile(place, dot))
        dot.prefetches.push_back({Prefetch::Kind::kElement, place});
    });
  }
}

/// Whether the place is of an operand's row, along `lanes`, and the next iteration of `row` reads
/// the next row; or, without `row`, whether that is all it has.
bool IsInRow(const Plan& plan, Role role, const Place& place, int row, int lanes) {
  const int ref = plan.buffers[static_cast<size_t>(place.buffer)].ref;
  if (ref < 0 || plan.kernel->refs[static_cast<size_t>(ref)].role != role) return false;
  if (place.at.empty() || place.at.back().loop != lanes || place.at.back().offset) return false;
  if (row < 0) return place.at.size() == 1;
  int rows = 0;
  for (const Coordinate& c : place.at) {
    if (c.loop != row) continue;
    if (c.offset || c.around) return false;
    ++rows;
  }
  return rows == 1;
}

/// The rows that a pass over lanes reads.
std::vector<Place> RowsOf(const Plan& plan, const Stage& pass, int row) {
  std::vector<Place> rows;
  ForEachPlace(pass, [&](const Place& place, bool writes) {
    const auto same = [&](const Place& other) { return SamePlace(place, other); };
    if (!writes && IsInRow(plan, Role::kInput, place, row, pass.loop) &&
        std::none_of(rows.begin(), rows.end(), same))
      rows.push_back(place);
  });
  return rows;
}

bool IsElementary(Op op) { return RowOf(op).cpu == CpuCost::kElementary; }

/// How much time a pass leaves memory.
int Weight(const Stage& pass) {
  int weight = 1;
  ForEachElement(pass, [&](const Element& e) {
    if (e.kind == Element::Kind::kOp && IsElementary(e.op)) weight = 2;
  });
  return weight;
}

/// Each row is prefetched by the passes after the first over the row before it, whether they read
/// it or not: the first waits for memory itself. Each prefetches a share, so that memory has
/// something to do all the time.
void ShareNextRow(const Plan& plan, const Place& place, int row, int lanes,
                  const std::vector<Stage*>& passes) {
  std::vector<Stage*> later;
  int parts = 0;
  for (Stage* pass : passes) {
    if (pass == passes.front() || !SameSpace(plan, pass->loop, lanes)) continue;
    later.push_back(pass);
    parts += Weight(*pass);
  }
  int from = 0;
  for (Stage* pass : later) {
    const int to = from + Weight(*pass);
    Place its = place;
    its.at.back().loop = pass->loop;
    const auto same = [&](const Prefetch& a) { return SamePlace(a.place, its); };
    if (std::none_of(pass->prefetches.begin(), pass->prefetches.end(), same))
      pass->prefetches.push_back({Prefetch::Kind::kNextRow, std::move(its), row, from, to, parts});
    from = to;
  }
}

void PrefetchStream(const Plan& plan, Stage& pass, int row) {
  for (const Stage& s : pass.body) {
    const bool streams = s.kind == Stage::Kind::kStore && !s.mask &&
                         IsInRow(plan, Role::kOutput, s.place, row, pass.loop);
    if (s.kind != Stage::Kind::kDefine && !streams) return;
  }
  for (Place& place : RowsOf(plan, pass, row))
    pass.prefetches.push_back({Prefetch::Kind::kStream, std::move(place), row});
}

void FindOfRows(const Plan& plan, Stage& loop) {
  std::vector<Stage*> passes;
  for (Stage& stage : loop.body) {
    if (IsPass(stage)) passes.push_back(&stage);
  }
  if (passes.size() == 1 && passes[0]->kind == Stage::Kind::kLanes)
    PrefetchStream(plan, *passes[0], loop.loop);
  if (passes.size() < 2) return;
  for (Stage* pass : passes) {
    for (const Place& place : RowsOf(plan, *pass, loop.loop))
      ShareNextRow(plan, place, loop.loop, pass->loop, passes);
  }
}

void Find(const Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    if (stage.kind == Stage::Kind::kDot) {
      FindOfDot(plan, stage);
      continue;
    }
    if (stage.kind == Stage::Kind::kLoop) FindOfRows(plan, stage);
    if (stage.kind == Stage::Kind::kLanes && stage.prefetches.empty())
      PrefetchStream(plan, stage, -1);
    Find(plan, stage.body);
    Find(plan, stage.orelse);
  }
}

}  // namespace

void FindPrefetches(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Find(plan, body.stages);
}

}  // namespace kiln
