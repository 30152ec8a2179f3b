#include "generator/planner/fuse/into_tiles.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

/// A nest over exactly a dot's rows and columns, in the dot's loops.
struct InTiles {
  Stages of_row;  // names that rows have
  Stages body;    // empty: it is something else
  std::vector<LoopId> loops;
};

InTiles InLoopsOfDot(const Plan& plan, const stage::Dot& dot, Stage nest) {
  InTiles found;
  if (const auto* rows = As<stage::Loop>(nest)) {
    if (rows->body.empty() || !SameSpace(plan, rows->loop, dot.row)) return {};
    RenameLoop(nest, LoopId(rows->loop), dot.row);
    found.loops.push_back(dot.row);
    found.of_row = std::move(As<stage::Loop>(nest)->body);
    nest = std::move(found.of_row.back());
    found.of_row.pop_back();
    if (!std::all_of(found.of_row.begin(), found.of_row.end(),
                     [](const Stage& s) { return Is<stage::Define>(s); }))
      return {};
  } else if (!plan.SpaceOf(dot.row).extent.IsOne()) {
    return {};
  }
  auto* lanes = As<stage::Lanes>(nest);
  if (!lanes || !SameSpace(plan, lanes->loop, dot.col)) return {};
  for (const Stage& s : lanes->body) {
    if (!Is<stage::Store, stage::Define>(s)) return {};
    if (HasWide(plan, s) && dot.element != DType::kF64) return {};
  }
  RenameLoop(nest, LoopId(lanes->loop), dot.col);
  found.loops.push_back(dot.col);
  found.body = std::move(As<stage::Lanes>(nest)->body);
  return found;
}

/// How many of `before` come before what packs a dot's operands.
size_t BeforePacks(const Stages& before) {
  size_t at = before.size();
  while (at > 0 && Is<stage::Pack>(before[at - 1])) --at;
  return at;
}

/// Whether the dot's tiles may begin with these statements, and not the last nest before `packs`.
bool MayBegin(const Plan& plan, const Stage& of, const InTiles& nest, const Stages& packs) {
  // What the sums start from is read before the tile's statements.
  const auto& dot = *As<stage::Dot>(of);
  const Place* const start = dot.start ? LoadedBy(*dot.start) : nullptr;
  bool starts_from = false;
  ForEachPlace(nest.body, [&](const Place& p, bool) {
    starts_from = starts_from || (start && RootOf(plan, p.buffer) == RootOf(plan, start->buffer));
  });
  return !starts_from && !ConflictsOf(plan, nest.body, packs, {}).any &&
         ConflictsOf(plan, nest.body, {of}, nest.loops).legal;
}

Stages From(const Stages& list, size_t begin) {
  return Stages(list.begin() + static_cast<std::ptrdiff_t>(begin), list.end());
}

/// Whether what a row needs is at hand in each of its vectors: loaded, not computed.
bool OnlyLoads(const Stages& of_row) {
  return std::all_of(of_row.begin(), of_row.end(), [](const Stage& s) {
    return LoadedBy(*As<stage::Define>(s)->value) != nullptr;
  });
}

/// Whether a later statement stores to the place again, and the value of before is read at the
/// place alone.
bool IsStoredAgain(const Plan& plan, const Place& place, const Stages& later) {
  for (const Stage& s : later) {
    bool elsewhere = false;
    ForEachPlace(s, [&](const Place& p, bool) {
      elsewhere = elsewhere ||
                  (RootOf(plan, p.buffer) == RootOf(plan, place.buffer) && !SamePlace(p, place));
    });
    const auto* store = As<stage::Store>(s);
    if (elsewhere || !Is<stage::Store, stage::Define>(s)) return false;
    if (store && SamePlace(store->place, place)) return !store->mask;
  }
  return false;
}

/// Statements that store to places of operands and scratch which the tile's own store again: they
/// give names instead, which the tile's own use.
void NameStores(Plan& plan, Stages* body, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto* store = As<stage::Store>((*body)[i]);
    if (!store) continue;
    const stage::Store stored = *store;
    const VariableId name = plan.variables.Add(
        {plan[stored.place.buffer].name, plan[stored.place.buffer].dtype, false});
    const ElementPtr value = CastTo(stored.value, plan[name].dtype);
    (*body)[i].what = stage::Define{name, value};
    for (size_t later = i + 1; later < body->size(); ++later) {
      auto* again = As<stage::Store>((*body)[later]);
      ChangeElements((*body)[later], [&](const ElementPtr& e) -> ElementPtr {
        const Place* loaded = LoadedBy(*e);
        return loaded && SamePlace(*loaded, stored.place) ? NamedElement(plan, name) : nullptr;
      });
      if (again && SamePlace(again->place, stored.place)) break;
    }
  }
}

}  // namespace

bool MergeIntoDot(const Plan& plan, Stage& of, const Stage& nest) {
  auto& dot = *As<stage::Dot>(of);
  InTiles in = InLoopsOfDot(plan, dot, nest);
  if (in.body.empty() || !in.of_row.empty() || !ConflictsOf(plan, {of}, in.body, in.loops).legal)
    return false;
  Append(dot.body, std::move(in.body));
  return true;
}

bool ChangesItsB(const Plan& plan, const Stages& stages, size_t at, const Stage& nest) {
  const auto& dot = *As<stage::Dot>(stages[at]);
  const std::optional<int64_t> rows = plan.SpaceOf(dot.row).extent.Constant();
  while (at > 0 && Is<stage::Pack>(stages[at - 1])) {
    const auto& pack = *As<stage::Pack>(stages[--at]);
    if (pack.panels != dot.b.panels) continue;
    const std::optional<int64_t> depth = plan.SpaceOf(pack.row).extent.Constant();
    if (!rows || !depth || *rows >= *depth) return false;
    bool changes = false;
    ForEachPlace(nest, [&](const Place& p, bool writes) {
      changes = changes || (writes && RootOf(plan, p.buffer) == RootOf(plan, pack.place.buffer));
    });
    return changes;
  }
  return false;
}

void SinkIntoDot(const Plan& plan, Stages& before, Stage& of) {
  auto& dot = *As<stage::Dot>(of);
  const size_t at = BeforePacks(before);
  if (at == 0) return;
  InTiles in = InLoopsOfDot(plan, dot, before[at - 1]);
  if (in.body.empty() || !in.of_row.empty()) return;
  const bool temps_only = std::all_of(in.body.begin(), in.body.end(), [&](const Stage& s) {
    const auto* store = As<stage::Store>(s);
    return !store || IsTemp(plan, store->place.buffer);
  });
  if (!temps_only || !MayBegin(plan, of, in, From(before, at))) return;
  before.erase(before.begin() + static_cast<std::ptrdiff_t>(at - 1));
  Append(in.body, std::move(dot.body));
  dot.body = std::move(in.body);
}

namespace {

/// Sums that start from the place to which the nest stores start from its value, where nothing else
/// reads that.
bool ScaleStart(const InTiles& nest, stage::Dot& dot) {
  const Place* const start = dot.start ? LoadedBy(*dot.start) : nullptr;
  const auto* store = nest.body.size() == 1 ? As<stage::Store>(nest.body.front()) : nullptr;
  if (!start || !store || store->mask || !SamePlace(*start, store->place)) return false;
  bool read = false;
  ForEachPlace(dot.body, [&](const Place& p, bool writes) {
    read = read || (p.buffer == start->buffer && !(writes && SamePlace(p, *start)));
  });
  if (read) return false;
  dot.start = Changed(store->value, [&](const ElementPtr& e) -> ElementPtr {
    for (const Stage& s : nest.of_row) {
      const auto* define = As<stage::Define>(s);
      if (IsNamed(*e, define->variable)) return define->value;
    }
    return nullptr;
  });
  if (IsZero(*dot.start)) dot.start = nullptr;
  return true;
}

/// The tile's statements begin with those of the nest, as they store to the same places again.
bool ScaleWithin(Plan& plan, const InTiles& nest, const Stages& packs, Stage& of) {
  auto& dot = *As<stage::Dot>(of);
  const bool again = std::all_of(nest.body.begin(), nest.body.end(), [&](const Stage& s) {
    const auto* store = As<stage::Store>(s);
    return !store || (!store->mask && IsStoredAgain(plan, store->place, dot.body));
  });
  if (!again || !MayBegin(plan, of, nest, packs)) return false;
  Stages body = nest.of_row;
  Append(body, nest.body);
  const size_t count = body.size();
  Append(body, std::move(dot.body));
  NameStores(plan, &body, count);
  dot.body = std::move(body);
  return true;
}

}  // namespace

void ScaleInTiles(Plan& plan, Stages& stages) {
  Stages kept;
  for (Stage& stage : stages) {
    ForEachList(stage, [&](Stages& list) { ScaleInTiles(plan, list); });
    auto* const dot = As<stage::Dot>(stage);
    const size_t at = dot ? BeforePacks(kept) : 0;
    if (at > 0) {
      const InTiles nest = InLoopsOfDot(plan, *dot, kept[at - 1]);
      const Stages packs = From(kept, at);
      const bool moves = !nest.body.empty() && OnlyLoads(nest.of_row) &&
                         !ConflictsOf(plan, nest.body, packs, {}).any &&
                         (ScaleStart(nest, *dot) || ScaleWithin(plan, nest, packs, stage));
      if (moves) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(at - 1));
    }
    kept.push_back(std::move(stage));
  }
  stages = std::move(kept);
}

}  // namespace kiln
