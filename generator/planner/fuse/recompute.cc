#include "generator/planner/fuse/recompute.h"

#include <algorithm>
#include <map>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

constexpr int kFewOperations = 2;
constexpr int kFewLoads = 2;

/// An input that nothing writes during the body, be it through an output that shares its memory.
bool StaysTheSame(const Plan& plan, BufferId buffer) {
  const Ref* ref = plan.RefOf(buffer);
  return ref && ref->role == Role::kInput && !plan.kernel->HasAliases();
}

class Recompute {
 public:
  Recompute(Plan& plan, Stages& stages) : plan_(plan), stages_(stages) {
    ForEachStage(stages, [&](const Stage& s) {
      if (const auto* assign = As<stage::Assign>(s)) assigned_.insert(assign->variable);
    });
  }

  void Run(Stages& list) {
    for (size_t at = 0; at < list.size(); ++at) {
      ForEachList(list[at], [&](Stages& inner) { Run(inner); });
      if (!IsPass(list[at])) continue;
      const Stages& body = *BodyOf(list[at]);
      for (size_t s = 0; s < body.size();) {
        // Where it succeeds, the store is gone.
        if (!MakeAnew(list, at, body[s])) ++s;
      }
    }
  }

 private:
  /// Replaces a store of the pass `list[at]` by its value where later passes of the list load it.
  bool MakeAnew(Stages& list, size_t at, const Stage& stage) {
    const auto* store = As<stage::Store>(stage);
    if (!store || store->mask || store->place.at.empty()) return false;
    const Place place = store->place;
    const LoopId loop = LoopOf(list[at]);
    Stages& body = *BodyOf(list[at]);
    if (!IsOwn(place.buffer) || place.at.back().loop != loop) return false;
    const ElementPtr value = WithoutNames(store->value, body);
    if (!IsCheap(value, loop) || !LoadedOnlyBehind(list, at, place)) return false;
    if (!LoadsNoMore(list, at, place, value)) return false;
    for (size_t later = at + 1; later < list.size(); ++later) {
      if (!IsPass(list[later])) continue;
      const LoopId there = LoopOf(list[later]);
      const Place place_there = In(there, loop, place);
      const ElementPtr value_there = WithLoop(value, loop, there);
      ChangeElements(list[later], [&](const ElementPtr& e) -> ElementPtr {
        const Place* loaded = LoadedBy(*e);
        return loaded && SamePlace(*loaded, place_there) ? value_there : nullptr;
      });
    }
    std::erase_if(body, [&](const Stage& s) {
      const auto* other = As<stage::Store>(s);
      return other && SamePlace(other->place, place);
    });
    plan_.buffers[place.buffer].in_register = true;  // needs no memory
    return true;
  }

  /// A value with a place of its own, which no other shape looks at.
  bool IsOwn(BufferId buffer) const {
    const auto& of = plan_.buffers;
    const bool shared =
        std::any_of(of.begin(), of.end(), [&](const Buffer& b) { return b.same_as == buffer; });
    return IsTemp(plan_, buffer) && !plan_[buffer].same_as && !shared;
  }

  /// The value with what the pass defines for it put in place of the names, unless that changes.
  ElementPtr WithoutNames(const ElementPtr& value, const Stages& pass) const {
    std::map<VariableId, ElementPtr> defined;
    const auto expanded = [&](const ElementPtr& e) {
      return Changed(e, [&](const ElementPtr& v) -> ElementPtr {
        const auto* named = As<element::Named>(v);
        const auto found = named ? defined.find(named->variable) : defined.end();
        return found == defined.end() ? nullptr : found->second;
      });
    };
    for (const Stage& s : pass) {
      const auto* define = As<stage::Define>(s);
      if (define && assigned_.count(define->variable) == 0)
        defined[define->variable] = expanded(define->value);
    }
    return expanded(value);
  }

  /// Few additions and multiplications of few elements of inputs and of what is the same for the
  /// whole row, which gets a name in front of it (hoist.h).
  bool IsCheap(const ElementPtr& value, LoopId loop) const {
    int operations = 0, loads = 0;
    return value->dtype == DType::kF32 && Count(*value, loop, &operations, &loads) && loads > 0 &&
           loads <= kFewLoads && operations <= kFewOperations;
  }

  /// Whether later passes load at most one of the value's elements in its place, as they have the
  /// others.
  bool LoadsNoMore(const Stages& list, size_t at, const Place& place,
                   const ElementPtr& value) const {
    const LoopId loop = LoopOf(list[at]);
    for (size_t later = at + 1; later < list.size(); ++later) {
      if (!IsPass(list[later]) || !Loads(list[later], In(LoopOf(list[later]), loop, place)))
        continue;
      int missing = 0;
      ForEachLoad(value, [&](const Place& own) {
        missing += !Loads(list[later], In(LoopOf(list[later]), loop, own));
      });
      if (missing > 1) return false;
    }
    return true;
  }
  static bool Loads(const Stage& pass, const Place& place) {
    bool loads = false;
    ForEachPlace(pass, [&](const Place& p, bool writes) {
      loads = loads || (!writes && SamePlace(p, place));
    });
    return loads;
  }

  /// A coordinate that is the loop's, or 0, from an element on that stays the same meanwhile.
  bool IsFixed(const Coordinate& c, LoopId loop) const {
    if (!c.offset) return c.IsPlain();
    bool changes = DependsOn(*c.offset, loop);
    ForEachElement(c.offset, [&](const Element& e) {
      const auto* named = As<element::Named>(e);
      changes = changes || LoadedBy(e) || (named && assigned_.count(named->variable) > 0);
    });
    return !changes && c.stride == 1 && !c.around;
  }

  /// Elements of bf16 are widened by one instruction, a line at a time (Vectors::kEvenOdd).
  static bool IsWidened(const Element& e) {
    const auto* cast = AsOp(e, Op::kCast);
    return cast && e.dtype == DType::kF32 && cast->args[0]->dtype == DType::kBF16;
  }

  /// False where something else is in it.
  bool Count(const Element& e, LoopId loop, int* operations, int* loads) const {
    using namespace element;
    return Match(
        e, [](const OneOf<Constant, Extent, Scalar> auto&) { return true; },
        [&](const Named& named) { return assigned_.count(named.variable) == 0; },
        [&](const Load& load) {
          ++*loads;
          return StaysTheSame(plan_, load.place.buffer) &&
                 std::all_of(load.place.at.begin(), load.place.at.end(),
                             [&](const Coordinate& c) { return IsFixed(c, loop); });
        },
        [&](const element::Operation& operation) {
          const int before = *loads;
          for (const ElementPtr& arg : operation.args) {
            if (!Count(*arg, loop, operations, loads)) return false;
          }
          if (*loads == before) return true;
          const Op op = operation.op;
          if (IsWidened(e)) return true;
          ++*operations;
          return op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kNeg;
        },
        [](const OneOf<Step, Steps, IsStep, IsVisit, Iteration, Edge, NoValue> auto&) {
          return false;
        });
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
      if (!IsPass(pass) || !SameSpace(plan_, LoopOf(pass), LoopOf(list[at]))) continue;
      const Place there = In(LoopOf(pass), LoopOf(list[at]), place);
      ForEachPlace(pass, [&](const Place& p, bool) { behind += SamePlace(p, there); });
    }
    return stores == 1 && loads > 0 && behind == loads;
  }

  /// The place in another loop.
  static Place In(LoopId loop, LoopId from, Place place) {
    RenameLoop(place, from, loop);
    return place;
  }

  Plan& plan_;
  const Stages& stages_;
  std::set<VariableId> assigned_;
};

}  // namespace

void RecomputeCheapValues(Plan& plan, Stages& stages) { Recompute(plan, stages).Run(stages); }

}  // namespace kiln
