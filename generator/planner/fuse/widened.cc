#include "generator/planner/fuse/widened.h"

#include <algorithm>
#include <map>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/accumulators.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

/// A temporary that a nest fills with the elements of an input, widened.
struct Widened {
  Place place;       // where its elements are stored
  ElementPtr value;  // of these loops
};

/// A cast to f32 of an element of a narrower input that stays the same, in the same loops as what
/// it is stored to, and in the same order.
bool IsWidenedInput(const Plan& plan, const Element& value, const Place& stored) {
  const auto* cast = AsOp(value, Op::kCast);
  const Place* from = cast && value.dtype == DType::kF32 ? LoadedBy(*cast->args[0]) : nullptr;
  const Ref* ref = from ? plan.RefOf(from->buffer) : nullptr;
  if (!ref || ref->role != Role::kInput || plan.kernel->HasAliases()) return false;
  const DType narrow = cast->args[0]->dtype;
  if (narrow != DType::kBF16 && narrow != DType::kF16) return false;
  if (from->at.empty() || stored.at.empty()) return false;
  const LoopId last = from->at.back().loop;
  if (last && last != stored.at.back().loop) return false;
  return std::all_of(from->at.begin(), from->at.end(), [&](const Coordinate& c) {
    const auto same = [&](const Coordinate& other) { return other.loop == c.loop; };
    return c.IsPlain() && (!c.loop || std::any_of(stored.at.begin(), stored.at.end(), same));
  });
}

/// A block and not a row: what several loops walk over, and the buffer keeps all of, unless it is
/// known to be small.
bool IsLarge(const Plan& plan, const Place& place) {
  constexpr int64_t kSmall = 8192;  // elements, of an L1
  const Buffer& buffer = plan[place.buffer];
  int loops = 0;
  int64_t count = 1;
  bool known = true;
  for (size_t d = 0; d < place.at.size(); ++d) {
    const Coordinate& c = place.at[d];
    if (!c.IsPlain()) return false;
    if (!c.loop) continue;
    if (buffer.dropped[d]) return false;
    const std::optional<int64_t> extent = plan.SpaceOf(c.loop).extent.Constant();
    known = known && extent;
    count *= extent.value_or(1);
    ++loops;
  }
  return loops > 1 && !(known && count <= kSmall);
}

class Widen {
 public:
  explicit Widen(Plan& plan) : plan_(plan) {}

  void Run(Stages& stages) {
    std::map<BufferId, Widened> found = Find(stages);
    for (const Buffer& b : plan_.buffers) {
      if (b.same_as) found.erase(b.same_as);
    }
    std::erase_if(found, [&](const auto& of) {
      return plan_[of.first].same_as || !IsReadAsStored(stages, of.second);
    });
    for (const auto& [buffer, widened] : found) {
      ChangeElements(stages, [&](const ElementPtr& e) -> ElementPtr {
        const Place* loaded = LoadedBy(*e);
        return loaded && loaded->buffer == buffer ? At(widened, *loaded) : nullptr;
      });
      for (size_t i = stages.size(); i-- > 0;) EraseStoresOf(stages, i, buffer);
      plan_.buffers[buffer].in_register = true;  // needs no memory
    }
  }

 private:
  /// What is stored by a nest of nothing but loops around lanes.
  std::map<BufferId, Widened> Find(const Stages& stages) const {
    std::map<BufferId, Widened> found;
    for (const Stage& stage : stages) {
      const Stage* inner = &stage;
      while (Is<stage::Loop>(*inner) && BodyOf(*inner)->size() == 1)
        inner = &BodyOf(*inner)->front();
      if (!Is<stage::Lanes>(*inner)) continue;
      std::map<VariableId, ElementPtr> names;
      for (const Stage& s : *BodyOf(*inner)) {
        if (const auto* define = As<stage::Define>(s)) names[define->variable] = define->value;
        const auto* store = As<stage::Store>(s);
        if (!store || store->mask || !IsTemp(plan_, store->place.buffer)) continue;
        const auto* named = As<element::Named>(*store->value);
        const auto name = named ? names.find(named->variable) : names.end();
        const ElementPtr value = name == names.end() ? store->value : name->second;
        if (IsLarge(plan_, store->place) && IsWidenedInput(plan_, *value, store->place))
          found[store->place.buffer] = {store->place, value};
      }
    }
    return found;
  }

  /// Whether all that is done with it is one store, and loads of elements by loops over the same
  /// spaces, not in turns.
  bool IsReadAsStored(const Stages& stages, const Widened& widened) const {
    const BufferId buffer = widened.place.buffer;
    int stores = 0, others = 0;
    bool as_stored = true;
    ForEachPlace(stages, [&](const Place& p, bool writes) {
      if (p.buffer != buffer) return;
      ++(writes ? stores : others);
      for (size_t d = 0; d < p.at.size(); ++d) {
        const LoopId mine = widened.place.at[d].loop, its = p.at[d].loop;
        const bool same = mine && its ? SameSpace(plan_, mine, its) : !mine && !its;
        as_stored = as_stored && p.at[d].IsPlain() && same;
      }
    });
    int loads = 0;
    bool in_turns = false;
    const auto count = [&](const Element& e) {
      const Place* loaded = LoadedBy(e);
      loads += loaded && loaded->buffer == buffer;
    };
    ForEachStage(stages, [&](const Stage& s) {
      if (!Is<stage::For, stage::While>(s)) return;
      ForEachPlace(s, [&](const Place& p, bool) { in_turns = in_turns || p.buffer == buffer; });
    });
    for (const Stage& s : stages) ForEachElement(s, count);
    return as_stored && stores == 1 && others == loads && !in_turns;
  }

  /// The value at a place of the temporary, whose coordinates are those of the input there.
  static ElementPtr At(const Widened& widened, const Place& place) {
    return Changed(widened.value, [&](const ElementPtr& e) -> ElementPtr {
      const Place* const loaded = LoadedBy(*e);
      if (!loaded) return nullptr;
      Place there = *loaded;
      for (Coordinate& c : there.at) {
        for (size_t d = 0; c.loop && d < place.at.size(); ++d) {
          if (widened.place.at[d].loop != c.loop) continue;
          c.loop = place.at[d].loop;
          break;
        }
      }
      return LoadOf(there, e->dtype);
    });
  }

  Plan& plan_;
};

}  // namespace

void WidenWhereRead(Plan& plan, Stages& stages) { Widen(plan).Run(stages); }

}  // namespace kiln
