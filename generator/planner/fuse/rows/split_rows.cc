#include "generator/planner/fuse/rows/split_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

/// A block of so many elements is still in the L2 when the second loop reads it; longer rows have
/// more to do than to wait.
constexpr int64_t kMostElements = 64 << 10;
constexpr int64_t kMostLanes = 1024;

bool UsesAny(const Stage& stage, const std::set<VariableId>& names) {
  bool uses = false;
  ForEachElement(stage, [&](const Element& e) {
    const auto* named = As<element::Named>(e);
    uses = uses || (named && names.count(named->variable));
  });
  return uses;
}

/// A reduction of rows that are in memory anyway, as a product leaves them there.
bool ReducesOwnRows(const Plan& plan, const Stage& stage, LoopId row) {
  const auto* reduce = As<stage::Reduce>(stage);
  if (!reduce || !reduce->body.empty()) return false;
  const std::optional<int64_t> rows = plan.SpaceOf(row).extent.Constant();
  const std::optional<int64_t> lanes = plan.SpaceOf(reduce->loop).extent.Constant();
  if (!rows || !lanes || *lanes > kMostLanes || *rows * *lanes > kMostElements) return false;
  bool own = true;
  ForEachPlace({stage}, [&](const Place& place, bool) { own = own && IsTemp(plan, place.buffer); });
  return own;
}

/// Whether a loop holds rows' values and passes over rows alone: nothing that one turn hands to the
/// next, and no panels, of which there is one set for all turns.
bool IsOfRows(const stage::Loop& loop) {
  const bool plain = std::all_of(loop.body.begin(), loop.body.end(), [](const Stage& s) {
    return Is<stage::Define, stage::Store, stage::Reduce, stage::Lanes>(s);
  });
  bool assigns = false;
  ForEachStage(loop.body, [&](const Stage& s) { assigns = assigns || Is<stage::Assign>(s); });
  return plain && !assigns;
}

/// The first pass that goes on with what the reduction at `from` has found.
std::optional<size_t> PassAfter(const Stages& body, size_t from) {
  const std::vector<VariableId> found = NamesOf(body[from]);
  std::set<VariableId> names(found.begin(), found.end());
  for (size_t i = from + 1; i < body.size(); ++i) {
    if (!UsesAny(body[i], names)) continue;
    if (IsPass(body[i])) return i;
    for (const VariableId name : NamesOf(body[i])) names.insert(name);
  }
  return std::nullopt;
}

/// Where the first half stores what both need: in place, or in a buffer of an element a row.
Place PlaceOf(Plan& plan, VariableId name, LoopId row, Stages& first) {
  for (const Stage& stage : first) {
    const auto* store = As<stage::Store>(stage);
    if (store && !store->mask && IsNamed(*store->value, name) &&
        IsTemp(plan, store->place.buffer) && plan[store->place.buffer].dtype == plan[name].dtype)
      return store->place;
  }
  Buffer buffer;
  buffer.name = plan[name].name;
  buffer.dtype = plan[name].dtype;
  buffer.extents = {plan.SpaceOf(row).extent};
  buffer.spaces = {plan[row].space};
  buffer.dropped = {false};
  const Place place{plan.buffers.Add(std::move(buffer)), {Coordinate{row, nullptr, {}, 1}}};
  first.push_back({first.back().span, stage::Store{place, NamedElement(plan, name), nullptr}});
  return place;
}

/// Variables of the first half that the second one needs; none: one of them cannot be stored.
std::optional<std::vector<VariableId>> NeededBy(const Plan& plan, const Stages& first,
                                                const Stages& second) {
  std::vector<VariableId> needed;
  for (const Stage& stage : first) {
    for (const VariableId name : NamesOf(stage)) {
      const bool used = std::any_of(second.begin(), second.end(),
                                    [&](const Stage& s) { return UsesAny(s, {name}); });
      if (!used) continue;
      const DType type = plan[name].dtype;
      if (plan[name].changes || !RowOf(type).in_arrays() || IsPacked(type) || type == DType::kBool)
        return std::nullopt;
      needed.push_back(name);
    }
  }
  return needed;
}

/// Whether the halves share memory that has one row alone.
bool ShareARow(const Plan& plan, const Stages& first, const Stages& second) {
  std::set<BufferId> touched;
  ForEachPlace(first,
               [&](const Place& place, bool) { touched.insert(RootOf(plan, place.buffer)); });
  bool share = false;
  ForEachPlace(second, [&](const Place& place, bool) {
    const BufferId root = RootOf(plan, place.buffer);
    const std::vector<bool>& dropped = plan[root].dropped;
    share = share || (touched.count(root) &&
                      std::find(dropped.begin(), dropped.end(), true) != dropped.end());
  });
  return share;
}

/// The half behind the cut as a loop of its own, or nothing.
std::optional<Stage> SplitOff(Plan& plan, stage::Loop& loop, Span span) {
  if (!IsOfRows(loop)) return std::nullopt;
  for (size_t i = 0; i < loop.body.size(); ++i) {
    if (!ReducesOwnRows(plan, loop.body[i], loop.loop)) continue;
    const std::optional<size_t> cut = PassAfter(loop.body, i);
    if (!cut) continue;
    const auto middle = loop.body.begin() + static_cast<std::ptrdiff_t>(*cut);
    Stages first(loop.body.begin(), middle), second(middle, loop.body.end());
    const auto needed = NeededBy(plan, first, second);
    if (!needed || ShareARow(plan, first, second) ||
        !ConflictsOf(plan, first, second, {loop.loop}).legal)
      continue;
    Stages apart;
    std::map<VariableId, VariableId> again;
    for (const VariableId name : *needed) {
      const Place place = PlaceOf(plan, name, loop.loop, first);
      again[name] = plan.variables.Add({plan[name].name, plan[name].dtype, false});
      apart.push_back({span, stage::Define{again[name], LoadOf(place, plan[name].dtype)}});
    }
    for (Stage stage : second) {
      ChangeElements(stage, [&](const ElementPtr& e) -> ElementPtr {
        const auto* named = As<element::Named>(*e);
        const auto at = named ? again.find(named->variable) : again.end();
        return at == again.end() ? nullptr : NamedElement(plan, at->second);
      });
      apart.push_back(std::move(stage));
    }
    loop.body = std::move(first);
    Stage half{span, stage::Loop{loop.loop, std::move(apart)}};
    RenameLoop(half, LoopId(loop.loop), plan.loops.Add(Loop(plan[loop.loop])));
    return half;
  }
  return std::nullopt;
}

}  // namespace

void SplitRows(Plan& plan, Stages& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i], [&](Stages& list) { SplitRows(plan, list); });
    auto* loop = As<stage::Loop>(stages[i]);
    if (!loop) continue;
    if (std::optional<Stage> half = SplitOff(plan, *loop, stages[i].span))
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(i + 1), std::move(*half));
  }
}

}  // namespace kiln
