#include "generator/planner/fuse/rows/halves.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

/// A loop's body, cut in two.
struct Halves {
  Stages first, second;
};

Halves At(const Stages& body, size_t cut) {
  const auto middle = body.begin() + static_cast<std::ptrdiff_t>(cut);
  return {Stages(body.begin(), middle), Stages(middle, body.end())};
}

/// Variables of the first half that the second one needs.
std::vector<VariableId> NeededBy(const Halves& halves) {
  std::vector<VariableId> needed;
  for (const Stage& stage : halves.first) {
    for (const VariableId name : NamesOf(stage)) {
      if (std::any_of(halves.second.begin(), halves.second.end(), [&](const Stage& s) {
            bool uses = false;
            ForEachElement(s, [&](const Element& e) { uses = uses || IsNamed(e, name); });
            return uses;
          }))
        needed.push_back(name);
    }
  }
  return needed;
}

bool MayBeStored(const Variable& variable) {
  const DType type = variable.dtype;
  return !variable.changes && RowOf(type).in_arrays() && !IsPacked(type) && type != DType::kBool;
}

/// Whether the halves share memory that has one row alone.
bool ShareARow(const Plan& plan, const Halves& halves) {
  std::set<BufferId> touched;
  ForEachPlace(halves.first,
               [&](const Place& place, bool) { touched.insert(RootOf(plan, place.buffer)); });
  bool share = false;
  ForEachPlace(halves.second, [&](const Place& place, bool) {
    const BufferId root = RootOf(plan, place.buffer);
    const std::vector<bool>& dropped = plan[root].dropped;
    share = share || (touched.count(root) &&
                      std::find(dropped.begin(), dropped.end(), true) != dropped.end());
  });
  return share;
}

/// Where a variable's value is in memory anyway, as the first half has loaded or stored it; null:
/// nowhere.
const Place* PlaceInMemory(const Plan& plan, VariableId name, const Halves& halves) {
  const auto stays = [&](const Place& place) {
    int stores = 0;
    for (const Stages* half : {&halves.first, &halves.second}) {
      ForEachPlace(*half, [&](const Place& other, bool writes) {
        stores += writes && RootOf(plan, other.buffer) == RootOf(plan, place.buffer) ? 1 : 0;
      });
    }
    return stores;
  };
  for (const Stage& stage : halves.first) {
    const auto* define = As<stage::Define>(stage);
    const Place* loaded = define && define->variable == name ? LoadedBy(*define->value) : nullptr;
    if (loaded && IsTemp(plan, loaded->buffer) && stays(*loaded) == 0) return loaded;
    const auto* store = As<stage::Store>(stage);
    if (store && !store->mask && IsNamed(*store->value, name) &&
        IsTemp(plan, store->place.buffer) && stays(store->place) == 1 &&
        plan[store->place.buffer].dtype == plan[name].dtype)
      return &store->place;
  }
  return nullptr;
}

/// An element a row.
Place NewPlace(Plan& plan, VariableId name, LoopId row) {
  Buffer buffer;
  buffer.name = plan[name].name;
  buffer.dtype = plan[name].dtype;
  buffer.extents = {plan.SpaceOf(row).extent};
  buffer.spaces = {plan[row].space};
  buffer.dropped = {false};
  return {plan.buffers.Add(std::move(buffer)), {Coordinate{row, nullptr, {}, 1}}};
}

}  // namespace

bool IsOfRows(const stage::Loop& loop) {
  const bool plain = std::all_of(loop.body.begin(), loop.body.end(), [](const Stage& s) {
    return Is<stage::Define, stage::Store, stage::Reduce, stage::Lanes>(s);
  });
  return plain && !AnyStage(loop.body, [](const Stage& s) { return Is<stage::Assign>(s); });
}

bool MayCut(const Plan& plan, const stage::Loop& loop, size_t cut) {
  const Halves halves = At(loop.body, cut);
  const std::vector<VariableId> needed = NeededBy(halves);
  return std::all_of(needed.begin(), needed.end(),
                     [&](VariableId name) { return MayBeStored(plan[name]); }) &&
         !ShareARow(plan, halves) &&
         ConflictsOf(plan, halves.first, halves.second, {loop.loop}).legal;
}

Stage CutOff(Plan& plan, stage::Loop& loop, size_t cut, Span span) {
  Halves halves = At(loop.body, cut);
  Stages apart;
  std::map<VariableId, VariableId> again;
  for (const VariableId name : NeededBy(halves)) {
    const Place* known = PlaceInMemory(plan, name, halves);
    const Place place = known ? *known : NewPlace(plan, name, loop.loop);
    if (!known) {
      halves.first.push_back(
          {halves.first.back().span, stage::Store{place, NamedElement(plan, name), nullptr}});
    }
    again[name] = plan.variables.Add({plan[name].name, plan[name].dtype, false});
    apart.push_back({span, stage::Define{again[name], LoadOf(place, plan[name].dtype)}});
  }
  for (Stage& stage : halves.second) {
    ChangeElements(stage, [&](const ElementPtr& e) -> ElementPtr {
      const auto* named = As<element::Named>(*e);
      const auto at = named ? again.find(named->variable) : again.end();
      return at == again.end() ? nullptr : NamedElement(plan, at->second);
    });
    apart.push_back(std::move(stage));
  }
  loop.body = std::move(halves.first);
  Stage half{span, stage::Loop{loop.loop, std::move(apart)}};
  RenameLoop(half, LoopId(loop.loop), plan.loops.Add(Loop(plan[loop.loop])));
  return half;
}

}  // namespace kiln
