#include "generator/plan/prefetch.h"

#include <algorithm>
#include <map>
#include <optional>
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
      const bool known = std::any_of(dot.ahead.begin(), dot.ahead.end(),
                                     [&](const Ahead& a) { return same(a.place); }) ||
                         (reads_first && same(dot.start->place));
      if (!known && IsOperand(plan, place.buffer) && CoversTile(place, dot))
        dot.ahead.push_back({place});
    });
  }
}

/// The element of the next iteration of `row`, if the place is of an input's row along `lanes`.
std::optional<Place> InNextRow(const Plan& plan, const Place& place, int row, int lanes) {
  const int ref = plan.buffers[static_cast<size_t>(place.buffer)].ref;
  if (ref < 0 || plan.kernel->refs[static_cast<size_t>(ref)].role != Role::kInput) return {};
  if (place.at.empty() || place.at.back().loop != lanes || place.at.back().offset) return {};
  Place next = place;
  int rows = 0;
  for (Coordinate& c : next.at) {
    if (c.loop != row) continue;
    if (c.offset || c.around) return {};
    c.offset = IndexConstant(1);
    ++rows;
  }
  if (rows != 1) return {};
  return next;
}

/// Each row of an input is asked for by the passes after the first that read the row before it: the
/// first waits for memory itself. Where several do, each asks for a part, so that memory has
/// something to do all the time.
void FindOfRows(const Plan& plan, Stage& loop) {
  // Of an operand, along one of its dimensions: the first place that each pass reads.
  std::map<std::pair<int, size_t>, std::vector<std::pair<Stage*, Place>>> readers;
  bool waits = true;
  for (Stage& stage : loop.body) {
    if (!IsPass(stage)) continue;
    if (std::exchange(waits, false)) continue;
    ForEachPlace(stage, [&](const Place& place, bool writes) {
      const std::optional<Place> next = InNextRow(plan, place, loop.loop, stage.loop);
      if (writes || !next) return;
      const auto row = std::find_if(place.at.begin(), place.at.end(),
                                    [&](const Coordinate& c) { return c.loop == loop.loop; });
      auto& passes = readers[{place.buffer, static_cast<size_t>(row - place.at.begin())}];
      if (passes.empty() || passes.back().first != &stage) passes.emplace_back(&stage, *next);
    });
  }
  for (const auto& [rows, passes] : readers) {
    const int parts = static_cast<int>(passes.size());
    for (int part = 0; part < parts; ++part) {
      const auto& [stage, place] = passes[static_cast<size_t>(part)];
      stage->ahead.push_back({place, part, parts});
    }
  }
}

void Find(const Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    if (stage.kind == Stage::Kind::kDot) {
      FindOfDot(plan, stage);
      continue;
    }
    if (stage.kind == Stage::Kind::kLoop) FindOfRows(plan, stage);
    Find(plan, stage.body);
    Find(plan, stage.orelse);
  }
}

}  // namespace

void FindPrefetches(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Find(plan, body.stages);
}

}  // namespace kiln
