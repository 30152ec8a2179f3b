#include "generator/planner/fuse/recompute.h"

#include <algorithm>
#include <map>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

constexpr int kFewOperations = 2;

/// An input that nothing writes during the body, be it through an output that shares its memory.
bool StaysTheSame(const Plan& plan, int buffer) {
  const int ref = plan.buffers[static_cast<size_t>(buffer)].ref;
  if (ref < 0 || plan.kernel->refs[static_cast<size_t>(ref)].role != Role::kInput) return false;
  const auto& refs = plan.kernel->refs;
  return std::none_of(refs.begin(), refs.end(), [&](const Ref& r) { return r.alias >= 0; });
}

class Recompute {
 public:
  Recompute(Plan& plan, Stages& stages) : plan_(plan), stages_(stages) {
    ForEachStage(stages, [&](const Stage& s) {
      if (s.kind == Stage::Kind::kAssign) assigned_.insert(s.variable);
    });
  }

  void Run(Stages& list) {
    for (size_t at = 0; at < list.size(); ++at) {
      Run(list[at].body);
      Run(list[at].orelse);
      if (!IsPass(list[at])) continue;
      for (size_t s = 0; s < list[at].body.size();) {
        // Where it succeeds, the store is gone.
        if (!MakeAnew(list, at, list[at].body[s])) ++s;
      }
    }
  }

 private:
  /// Replaces a store of the pass `list[at]` by its value where later passes of the list load it.
  bool MakeAnew(Stages& list, size_t at, const Stage& store) {
    if (store.kind != Stage::Kind::kStore || store.mask || store.place.at.empty()) return false;
    const Place place = store.place;
    if (!IsOwn(place.buffer) || place.at.back().loop != list[at].loop) return false;
    const ElementPtr value = WithoutNames(store.value, list[at].body);
    if (!IsCheap(value) || !LoadedOnlyBehind(list, at, place)) return false;
    for (size_t later = at + 1; later < list.size(); ++later) {
      if (!IsPass(list[later])) continue;
      const Stage there = In(list[later].loop, list[at].loop, place, value);
      ChangeElements(list[later], [&](const ElementPtr& e) -> ElementPtr {
        const bool loads = e->kind == Element::Kind::kLoad && SamePlace(e->place, there.place);
        return loads ? there.value : nullptr;
      });
    }
    std::erase_if(list[at].body, [&](const Stage& s) {
      return s.kind == Stage::Kind::kStore && SamePlace(s.place, place);
    });
    plan_.buffers[static_cast<size_t>(place.buffer)].in_register = true;  // needs no memory
    return true;
  }

  /// A value with a place of its own, which no other shape looks at.
  bool IsOwn(int buffer) const {
    const auto& of = plan_.buffers;
    const bool shared =
        std::any_of(of.begin(), of.end(), [&](const Buffer& b) { return b.same_as == buffer; });
    const Buffer& b = of[static_cast<size_t>(buffer)];
    return b.ref < 0 && b.same_as < 0 && !shared;
  }

  /// The value with what the pass defines for it put in place of the names.
  static ElementPtr WithoutNames(const ElementPtr& value, const Stages& pass) {
    std::map<int, ElementPtr> defined;
    const auto expanded = [&](const ElementPtr& e) {
      return Changed(e, [&](const ElementPtr& v) -> ElementPtr {
        const auto found =
            v->kind == Element::Kind::kVariable ? defined.find(v->index) : defined.end();
        return found == defined.end() ? nullptr : found->second;
      });
    };
    for (const Stage& s : pass) {
      if (s.kind == Stage::Kind::kDefine) defined[s.variable] = expanded(s.value);
    }
    return expanded(value);
  }

  /// Few additions and multiplications of one element of an input and of what is the same for the
  /// whole row, which gets a name in front of it (hoist.h).
  bool IsCheap(const ElementPtr& value) const {
    int operations = 0, loads = 0;
    return value->dtype == DType::kF32 && Count(*value, &operations, &loads) && loads == 1 &&
           operations <= kFewOperations;
  }

  /// False where something else is in it.
  bool Count(const Element& e, int* operations, int* loads) const {
    switch (e.kind) {
      case Element::Kind::kConst:
      case Element::Kind::kDim:
      case Element::Kind::kScalar:
        return true;
      case Element::Kind::kVariable:
        return !assigned_.count(e.index);
      case Element::Kind::kLoad:
        ++*loads;
        return StaysTheSame(plan_, e.place.buffer) && HasNoOffsets(e.place);
      case Element::Kind::kOp: {
        const int before = *loads;
        for (const ElementPtr& arg : e.args) {
          if (!Count(*arg, operations, loads)) return false;
        }
        if (*loads == before) return true;
        ++*operations;
        return e.op == Op::kAdd || e.op == Op::kSub || e.op == Op::kMul || e.op == Op::kNeg;
      }
      default:
        return false;
    }
  }

  static bool HasNoOffsets(const Place& place) {
    return std::none_of(place.at.begin(), place.at.end(),
                        [](const Coordinate& c) { return c.offset || c.around; });
  }

  /// Whether it is stored once, and every load of it is in a later pass of the list, of the element
  /// that the pass is at.
  bool LoadedOnlyBehind(const Stages& list, size_t at, const Place& place) const {
    int stores = 0, loads = 0, behind = 0;
    ForEachPlace(stages_, [&](const Place& p, bool writes) {
      if (p.buffer == place.buffer) ++(writes ? stores : loads);
    });
    for (size_t later = at + 1; later < list.size(); ++later) {
      const Stage& pass = list[later];
      const bool same_walk = IsPass(pass) && plan_.loops[static_cast<size_t>(pass.loop)] ==
                                                 plan_.loops[static_cast<size_t>(list[at].loop)];
      if (!same_walk) continue;
      const Stage there = In(pass.loop, list[at].loop, place, nullptr);
      ForEachPlace(pass, [&](const Place& p, bool) { behind += SamePlace(p, there.place); });
    }
    return stores == 1 && loads > 0 && behind == loads;
  }

  /// The place and the value in another loop.
  static Stage In(int loop, int from, const Place& place, const ElementPtr& value) {
    Stage stage;
    stage.place = place;
    stage.value = value;
    RenameLoop(stage, from, loop);
    return stage;
  }

  Plan& plan_;
  const Stages& stages_;
  std::set<int> assigned_;
};

}  // namespace

void RecomputeCheapValues(Plan& plan, Stages& stages) { Recompute(plan, stages).Run(stages); }

}  // namespace kiln
