#include "generator/planner/decide/lanes/prefetch.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/analyze/reuse.h"

namespace kiln {
namespace {

bool IsOperand(const Plan& plan, BufferId buffer) {
  const Ref* ref = plan.RefOf(buffer);
  return ref && (ref->role == Role::kInput || ref->role == Role::kOutput);
}

bool IsAmong(const std::vector<Prefetch>& prefetches, const Place& place) {
  return std::any_of(prefetches.begin(), prefetches.end(),
                     [&](const Prefetch& a) { return SamePlace(a.place, place); });
}

/// Whether every element of a tile has its own: a row of biases stays in a cache by itself.
bool CoversTile(const Place& place, const stage::Dot& dot) {
  const auto along = [&](LoopId loop) {
    return std::any_of(place.at.begin(), place.at.end(),
                       [&](const Coordinate& c) { return c.loop == loop && !c.around; });
  };
  return along(dot.row) && along(dot.col);
}

void FindOfDot(const Plan& plan, stage::Dot& dot) {
  const Place* first = dot.start ? LoadedBy(*dot.start) : nullptr;
  for (const Stage& s : dot.body) {
    if (Is<stage::If>(s)) continue;  // who knows
    ForEachPlace(s, [&](const Place& place, bool) {
      const bool known = IsAmong(dot.prefetches, place) || (first && SamePlace(place, *first));
      if (!known && IsOperand(plan, place.buffer) && CoversTile(place, dot))
        dot.prefetches.push_back({Prefetch::Kind::kElement, place, dot.row});
    });
  }
}

/// Whether the place is of an operand's row, along `lanes` from its beginning or from further on,
/// and the next iteration of `row` reads the next row; or, without `row`, whether that is all it
/// has.
bool IsInRow(const Plan& plan, Role role, const Place& place, LoopId row, LoopId lanes) {
  const Ref* ref = plan.RefOf(place.buffer);
  if (!ref || ref->role != role) return false;
  if (place.at.empty()) return false;
  const Coordinate& lane = place.at.back();
  if (lane.loop != lanes || lane.stride != 1 || lane.around) return false;
  if (lane.offset && row && DependsOn(*lane.offset, row)) return false;
  if (!row) return place.at.size() == 1;
  int rows = 0;
  for (const Coordinate& c : place.at) {
    if (c.loop != row) continue;
    if (!c.IsPlain()) return false;
    ++rows;
  }
  return rows == 1;
}

/// The rows that a pass over lanes reads.
std::vector<Place> RowsOf(const Plan& plan, const Stage& pass, LoopId row) {
  std::vector<Place> rows;
  ForEachPlace(pass, [&](const Place& place, bool writes) {
    const auto same = [&](const Place& other) { return SamePlace(place, other); };
    if (!writes && IsInRow(plan, Role::kInput, place, row, LoopOf(pass)) &&
        std::none_of(rows.begin(), rows.end(), same))
      rows.push_back(place);
  });
  return rows;
}

/// How much time a pass leaves memory.
int Weight(const Stage& pass) {
  int weight = 1;
  ForEachElement(pass, [&](const Element& e) {
    const auto* operation = As<element::Operation>(e);
    if (operation && RowOf(operation->op).cpu == CpuCost::kElementary) weight = 2;
  });
  return weight;
}

std::vector<Prefetch>& PrefetchesOf(Stage& pass) {
  auto* lanes = As<stage::Lanes>(pass);
  return lanes ? lanes->prefetches : As<stage::Reduce>(pass)->prefetches;
}

/// Each row is prefetched by the passes after the first over the row before it, whether they read
/// it or not: the first waits for memory itself. Each prefetches a share, so that memory has
/// something to do all the time.
void ShareNextRow(const Plan& plan, const Place& place, LoopId row, LoopId lanes,
                  const std::vector<Stage*>& passes) {
  std::vector<Stage*> later;
  int parts = 0;
  for (Stage* pass : passes) {
    if (pass == passes.front() || !SameSpace(plan, LoopOf(*pass), lanes)) continue;
    later.push_back(pass);
    parts += Weight(*pass);
  }
  int from = 0;
  for (Stage* pass : later) {
    const int to = from + Weight(*pass);
    Place its = place;
    its.at.back().loop = LoopOf(*pass);
    std::vector<Prefetch>& prefetches = PrefetchesOf(*pass);
    if (!IsAmong(prefetches, its))
      prefetches.push_back({Prefetch::Kind::kNextRow, std::move(its), row, from, to, parts});
    from = to;
  }
}

/// Whether blocks have pieces of the rows of an array, which the hardware sees end before it has
/// asked for what follows.
bool IsPieceOfRow(const Plan& plan, const Place& place) {
  const Ref& ref = *plan.RefOf(place.buffer);
  return !ref.block.empty() && !ref.view_dims.empty() &&
         ref.block[ref.view_dims.back()].kind != BlockDim::Kind::kAll;
}

/// A pass in which several reductions are one (`one-pass`) has no other behind it that would ask
/// for the next row while it computes; nor has a pass over a piece of a row. Out of a cache that
/// costs more than it gains.
void PrefetchForOne(const Plan& plan, Stage& pass, LoopId row) {
  auto* reduce = As<stage::Reduce>(pass);
  if (!reduce) return;
  for (Place& place : RowsOf(plan, pass, row)) {
    if (reduce->folds.size() == 1 && !IsPieceOfRow(plan, place)) continue;
    Prefetch next{Prefetch::Kind::kNextRow, std::move(place), row};
    next.far = true;
    reduce->prefetches.push_back(std::move(next));
  }
}

/// Whether all that a pass does is to store what it reads to rows of outputs.
bool Streams(const Plan& plan, const Stage& pass, LoopId row) {
  const auto* lanes = As<stage::Lanes>(pass);
  return lanes && std::all_of(lanes->body.begin(), lanes->body.end(), [&](const Stage& s) {
           const auto* store = As<stage::Store>(s);
           return Is<stage::Define>(s) ||
                  (store && !store->mask &&
                   IsInRow(plan, Role::kOutput, store->place, row, lanes->loop));
         });
}

/// The same rows, from the same element on or from one close by.
bool SameRow(const Place& a, const Place& b) {
  constexpr int64_t kClose = 16;  // elements
  if (a.buffer != b.buffer) return false;
  const ElementPtr &x = a.at.back().offset, &y = b.at.back().offset;
  const auto constant = [](const ElementPtr& e) -> std::optional<int64_t> {
    if (!e) return 0;
    const auto* value = As<element::Constant>(*e);
    return value ? std::optional(value->int_value) : std::nullopt;
  };
  const auto i = constant(x), j = constant(y);
  return i && j ? std::abs(*i - *j) < kClose : SameElement(x, y);
}

/// Whether its rows have neighbours that other steps read, not far from the next row.
bool IsShortPiece(const Plan& plan, const Place& place) {
  constexpr int64_t kMost = 512;  // elements
  const std::optional<int64_t> count = plan.SpaceOf(place.at.back().loop).extent.Constant();
  return IsPieceOfRow(plan, place) && count && *count <= kMost;
}

/// Whether they are parts of one row.
bool ArePartsOfRow(const Place& a, const Place& b) {
  return a.buffer == b.buffer &&
         std::equal(a.at.begin(), a.at.end() - 1, b.at.begin(), b.at.end() - 1, SameCoordinate);
}

/// Whether the next step reads the same block, which is in the caches.
bool StaysForNextStep(const Plan& plan, const Place& place) {
  const Kernel& kernel = *plan.kernel;
  const Ref& ref = *plan.RefOf(place.buffer);
  return !kernel.axes.empty() && !ref.block.empty() &&
         !AxesOfIndex(kernel, ref)[AxisId(kernel.axes.size() - 1)];
}

/// Of several passes over a row the first that reads an array asks for it.
void PrefetchStreams(const Plan& plan, const std::vector<Stage*>& passes, LoopId row) {
  std::vector<Place> asked;
  for (Stage* pass : passes) {
    const size_t before = asked.size();
    for (const Place& place : RowsOf(plan, *pass, row)) {
      const auto same_row = [&](const Place& a) { return SameRow(a, place); };
      if (!StaysForNextStep(plan, place) && std::none_of(asked.begin(), asked.end(), same_row))
        asked.push_back(place);
    }
    for (size_t k = before; k < asked.size(); ++k) {
      Prefetch later{Prefetch::Kind::kStream, asked[k], row};
      for (size_t other = before; other < asked.size(); ++other)
        later.by_turns = later.by_turns || (other != k && ArePartsOfRow(asked[k], asked[other]));
      if (later.by_turns && !IsShortPiece(plan, asked[k])) later.row = {};
      PrefetchesOf(*pass).push_back(std::move(later));
    }
  }
}

void FindOfRows(const Plan& plan, stage::Loop& loop) {
  std::vector<Stage*> passes;
  for (Stage& stage : loop.body) {
    if (IsPass(stage)) passes.push_back(&stage);
  }
  const bool stream = std::all_of(passes.begin(), passes.end(), [&](const Stage* pass) {
    return Streams(plan, *pass, loop.loop);
  });
  if (stream) return PrefetchStreams(plan, passes, loop.loop);
  if (passes.size() == 1) return PrefetchForOne(plan, *passes.front(), loop.loop);
  for (Stage* pass : passes) {
    for (const Place& place : RowsOf(plan, *pass, loop.loop))
      ShareNextRow(plan, place, loop.loop, LoopOf(*pass), passes);
  }
}

void Find(const Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    if (auto* dot = As<stage::Dot>(stage)) {
      FindOfDot(plan, *dot);
      continue;
    }
    if (auto* loop = As<stage::Loop>(stage)) FindOfRows(plan, *loop);
    if (const auto* lanes = As<stage::Lanes>(stage);
        lanes && lanes->prefetches.empty() && Streams(plan, stage, {}))
      PrefetchStreams(plan, {&stage}, {});
    ForEachList(stage, [&](Stages& list) { Find(plan, list); });
  }
}

}  // namespace

void FindPrefetches(Plan& plan) {
  for (BodyPlan& body : plan.bodies) Find(plan, body.stages);
}

}  // namespace kiln
