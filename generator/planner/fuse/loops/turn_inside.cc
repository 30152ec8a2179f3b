#include "generator/planner/fuse/loops/turn_inside.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/fuse.h"
#include "generator/planner/fuse/loops/shared_values.h"
#include "generator/planner/fuse/names.h"

namespace kiln {
namespace {

/// Loops around lanes, outermost first, and what the lanes do.
struct Nest {
  std::vector<LoopId> loops;
  Stages* body = nullptr;
};

/// The stage as loops each of which has nothing but the next one; nullopt: it is no such nest, or
/// does more than work on elements one by one.
std::optional<Nest> AsNest(Stage& stage) {
  Nest nest;
  for (Stage* s = &stage; IsNest(*s);) {
    nest.loops.push_back(LoopOf(*s));
    nest.body = BodyOf(*s);
    if (Is<stage::Lanes>(*s)) {
      const bool others = AnyStage(*nest.body, [](const Stage& inner) {
        return !Is<stage::Store, stage::Define, stage::Assign, stage::For>(inner);
      });
      return others ? std::nullopt : std::optional(nest);
    }
    if (nest.body->size() != 1) break;
    s = &nest.body->front();
  }
  return std::nullopt;
}

/// Whether each turn goes to the next element of a row, which the coordinate is along.
bool GoesAlong(const Coordinate& c, VariableId turn) {
  const auto is_turn = [&](const ElementPtr& e) {
    const auto* named = As<element::Named>(*e);
    return named && named->variable == turn;
  };
  if (c.loop || c.around || !c.offset) return false;
  const auto* sum = As<element::Operation>(*c.offset);
  const bool shifted = sum && (sum->op == Op::kAdd || sum->op == Op::kSub) &&
                       is_turn(sum->args[0]) && Is<element::Constant>(*sum->args[1]);
  return is_turn(c.offset) || shifted;
}

/// What an offset of a place depends on.
class Walks {
 public:
  Walks(const Plan& plan, const Nest& nest, const stage::For& loop)
      : plan_(plan), nest_(nest), turn_(loop.variable) {
    turns_.insert(loop.variable);
    ForEachStage(*nest.body, [&](const Stage& s) {
      if (const auto* inner = As<stage::For>(s)) turns_.insert(inner->variable);
      // Whatever is computed may depend on the turn.
      if (const auto* define = As<stage::Define>(s)) turns_.insert(define->variable);
    });
  }

  /// Whether turns find what they read near what other turns read: the same element, the next one
  /// of a row, one in a window, one that all lanes share, or one of few lines that another loop of
  /// the nest reads again.
  bool StayNear(const Place& place, bool writes) const {
    constexpr int64_t kMostLines = 64;
    int64_t lines = 1;
    for (size_t d = 0; d < place.at.size(); ++d) {
      const Coordinate& c = place.at[d];
      if (!DependsOnTurn(c) || (d + 1 == place.at.size() && GoesAlong(c, turn_))) continue;
      if (writes || c.around) return false;
      const std::optional<int64_t> extent = plan_[place.buffer].extents[d].Constant();
      if (!c.loop) lines *= std::min(extent.value_or(kMostLines + 1), kMostLines + 1);
    }
    if (lines == 1 || !WalkedBy(place, nest_.loops.back())) return true;
    return lines <= kMostLines && std::any_of(nest_.loops.begin(), nest_.loops.end() - 1,
                                              [&](LoopId loop) { return !WalkedBy(place, loop); });
  }

 private:
  bool DependsOnTurn(const Coordinate& c) const {
    bool depends = false;
    ForEachElement(c.offset, [&](const Element& e) {
      const auto* named = As<element::Named>(e);
      depends = depends || (named && turns_.count(named->variable) > 0);
    });
    return depends;
  }

  static bool WalkedBy(const Place& place, LoopId loop) {
    return std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
      return c.loop == loop || (c.offset && DependsOn(*c.offset, loop));
    });
  }

  const Plan& plan_;
  const Nest& nest_;
  const VariableId turn_;
  std::set<VariableId> turns_;
};

/// Whether the bounds are the same at each element, whatever turns have stored.
bool AreBoundsFixed(const Plan& plan, const stage::For& loop) {
  bool fixed = true;
  for (const ElementPtr& bound : {loop.low, loop.high}) {
    ForEachLoad(bound, [&](const Place& read) {
      ForEachPlace(loop.body, [&](const Place& p, bool writes) {
        fixed = fixed && !(writes && RootOf(plan, p.buffer) == RootOf(plan, read.buffer));
      });
    });
  }
  return fixed;
}

/// Whether statements compute much that is the same for all elements of a turn: it would be
/// computed for each of them.
class SharedWork {
 public:
  explicit SharedWork(const Nest& nest) : loops_(nest.loops) {
    ForEachStage(*nest.body, [&](const Stage& s) {
      for (const VariableId name : NamesOf(s)) own_.insert(name);
    });
  }

  bool IsIn(const Stages& stages) const {
    bool any = false;
    ForEachStage(stages, [&](const Stage& s) {
      ForEachPart(s, Overloaded{[&](const ElementPtr& e) { any = any || IsIn(e); }, Ignore()});
    });
    return any;
  }

 private:
  /// A few instructions of integers, which vectors do not wait for.
  static bool DividesByConstant(const Element& e) {
    const auto* operation = As<element::Operation>(e);
    return operation && IsDivision(operation->op) && !IsFloat(e.dtype) &&
           Is<element::Constant>(*operation->args[1]);
  }

  bool IsIn(const ElementPtr& e) const {
    if (!e) return false;
    bool any = false;
    if (!DiffersIn(*e)) {
      ForEachElement(e, [&](const Element& part) {
        any = any || (IsCostly(part) && !DividesByConstant(part));
      });
      return any;
    }
    ForEachPart(*e, [&](const ElementPtr& part) { any = any || IsIn(part); });
    return any;
  }

  bool DiffersIn(const Element& e) const {
    bool differs =
        std::any_of(loops_.begin(), loops_.end(), [&](LoopId loop) { return DependsOn(e, loop); });
    const auto is_own = [&](const Element& x) {
      const auto* named = As<element::Named>(x);
      differs = differs || (named && own_.count(named->variable) > 0);
    };
    is_own(e);
    ForEachPart(e, [&](const ElementPtr& part) { ForEachElement(part, is_own); });
    return differs;
  }

  const std::vector<LoopId>& loops_;
  std::set<VariableId> own_;
};

bool IsFixed(const Coordinate& c) { return !c.offset || Is<element::Constant>(*c.offset); }

/// Whether each iteration of the nest has an element of its own there, or one for each turn.
bool IsOwnElement(const Place& place, const std::vector<LoopId>& loops, VariableId turn) {
  const auto walks = [&](LoopId loop) {
    return std::any_of(place.at.begin(), place.at.end(),
                       [&](const Coordinate& c) { return c.loop == loop && !c.around; });
  };
  return std::all_of(loops.begin(), loops.end(), walks) &&
         std::all_of(place.at.begin(), place.at.end() - 1, IsFixed) &&
         (IsFixed(place.at.back()) || GoesAlong(place.at.back(), turn));
}

/// The elements that each turn stores anew, if each iteration stores and reads its own alone; else
/// nullopt.
std::optional<std::vector<Place>> StoredPlaces(const Plan& plan, const Nest& nest,
                                               VariableId turn) {
  const Stages& stages = *nest.body;
  std::vector<Place> stored;
  const auto of_same_root = [&](const Place& place) {
    return std::find_if(stored.begin(), stored.end(), [&](const Place& p) {
      return RootOf(plan, p.buffer) == RootOf(plan, place.buffer);
    });
  };
  ForEachPlace(stages, [&](const Place& place, bool writes) {
    if (writes && of_same_root(place) == stored.end()) stored.push_back(place);
  });
  bool own = true;
  ForEachPlace(stages, [&](const Place& place, bool) {
    const auto found = of_same_root(place);
    own = own && (found == stored.end() || (SamePlace(*found, place) && !place.at.empty() &&
                                            IsOwnElement(place, nest.loops, turn)));
  });
  if (!own) return std::nullopt;
  const auto one_a_turn = [](const Place& place) { return !IsFixed(place.at.back()); };
  stored.erase(std::remove_if(stored.begin(), stored.end(), one_a_turn), stored.end());
  return stored;
}

/// How many operations stand between a value and those of the turn before.
using Steps = std::map<VariableId, int>;

int StepsTo(const ElementPtr& e, const Steps& steps) {
  if (const auto* named = As<element::Named>(e)) {
    const auto found = steps.find(named->variable);
    return found == steps.end() ? 0 : found->second;
  }
  int most = 0;
  bool waits = false;
  ForEachPart(*e, [&](const ElementPtr& part) {
    most = std::max(most, StepsTo(part, steps));
    ForEachElement(part, [&](const Element& x) {
      const auto* named = As<element::Named>(x);
      waits = waits || (named && steps.count(named->variable) > 0);
    });
  });
  return most + (waits && Is<element::Operation>(*e) ? 1 : 0);
}

/// Whether a turn has more to do than its values wait for those of the turn before: an operation
/// takes some four cycles, a value that goes through memory as many instructions, and elements of
/// rows, one of each, one at the least for each lane.
bool IsWide(const stage::For& loop) {
  constexpr int kCycles = 4, kThroughMemory = 4, kOneByOne = 8;
  Steps steps;
  ForEachStage(loop.body, [&](const Stage& s) {
    if (const auto* assign = As<stage::Assign>(s)) steps[assign->variable] = 0;
  });
  int chain = 0, work = 0;
  ForEachPlace(loop.body, [&](const Place& place, bool) {
    if (place.at.size() > 1 && GoesAlong(place.at.back(), loop.variable)) work += kOneByOne;
  });
  ForEachStage(loop.body, [&](const Stage& s) {
    ForEachElement(s, [&](const Element& e) { work += Is<element::Operation>(e); });
    const auto* define = As<stage::Define>(s);
    if (define && StepsTo(define->value, steps) > 0)
      steps[define->variable] = StepsTo(define->value, steps);
    const auto* assign = As<stage::Assign>(s);
    if (!assign) return;
    work += kThroughMemory;
    chain = std::max(chain, steps[assign->variable] = StepsTo(assign->value, steps));
  });
  return kCycles * chain <= work;
}

/// Whether rows may take their turns four at a time.
bool HasRows(const Plan& plan, const Nest& nest) {
  if (nest.loops.size() < 2) return false;
  const std::optional<int64_t> rows =
      plan.SpaceOf(nest.loops[nest.loops.size() - 2]).extent.Constant();
  return !rows || *rows >= kFourRows;
}

/// { turns over place } as { let value = place; turns over value; place = value }.
Stages InRegisters(Plan& plan, Stage turns, const std::vector<Place>& places) {
  Stages before, after;
  for (const Place& place : places) {
    const DType dtype = plan[place.buffer].dtype;
    const VariableId variable =
        plan.variables.Add({plan[place.buffer].name, dtype, /*changes=*/true});
    const ElementPtr value = NamedElement(plan, variable);
    Stages list{std::move(turns)};
    ChangeStages(list, [&](Stage& stage) {
      const auto* store = As<stage::Store>(stage);
      if (!store || !SamePlace(store->place, place)) return;
      const ElementPtr next = store->mask
                                  ? MakeOp(Op::kWhere, dtype, {store->mask, store->value, value})
                                  : store->value;
      stage.what = stage::Assign{variable, next};
    });
    ChangeElements(list, [&](const ElementPtr& e) -> ElementPtr {
      const Place* loaded = LoadedBy(*e);
      return loaded && SamePlace(*loaded, place) ? value : nullptr;
    });
    turns = std::move(list.front());
    before.push_back({turns.span, stage::Define{variable, LoadOf(place, dtype)}});
    after.push_back({turns.span, stage::Store{place, value, nullptr}});
  }
  before.push_back(std::move(turns));
  Append(before, std::move(after));
  return before;
}

/// The loop as the nest with turns inside; nullopt: it has to stay.
std::optional<Stage> TurnedInside(Plan& plan, const Stage& of) {
  stage::For loop = *As<stage::For>(of);
  if (!MoveSharedFirst(plan, loop.body)) return std::nullopt;
  JoinNests(plan, loop.body);
  if (loop.body.empty() || !AreBoundsFixed(plan, loop)) return std::nullopt;
  Stage whole = std::move(loop.body.back());
  loop.body.pop_back();
  const std::optional<Nest> nest = AsNest(whole);
  const bool alone = std::all_of(loop.body.begin(), loop.body.end(),
                                 [&](const Stage& s) { return IsSharedValue(plan, s); });
  if (!nest || !alone) return std::nullopt;
  const SharedWork shared(*nest);
  if (shared.IsIn(loop.body) || shared.IsIn(*nest->body)) return std::nullopt;
  // Each vector computes again what elements share.
  nest->body->insert(nest->body->begin(), loop.body.begin(), loop.body.end());
  const Walks walks(plan, *nest, loop);
  bool near = true;
  ForEachPlace(*nest->body,
               [&](const Place& p, bool writes) { near = near && walks.StayNear(p, writes); });
  const std::optional<std::vector<Place>> stored = StoredPlaces(plan, *nest, loop.variable);
  if (!near || !stored) return std::nullopt;
  EraseOverwritten(plan, *nest->body, /*temps_only=*/plan.kernel->HasAliases());
  loop.body = std::move(*nest->body);
  Stages inside = InRegisters(plan, {of.span, std::move(loop)}, *stored);
  const auto& turns = *As<stage::For>(inside[stored->size()]);
  if (!IsWide(turns) && !(IsShortTurn(turns) && HasRows(plan, *nest))) return std::nullopt;
  *nest->body = std::move(inside);
  return whole;
}

}  // namespace

bool IsShortTurn(const stage::For& loop) {
  constexpr int kMostStatements = 8;
  constexpr int kMostOperations = 32;
  int statements = 0, operations = 0;
  ForEachStage(loop.body, [&](const Stage& s) {
    statements += !Is<stage::For>(s);
    ForEachElement(s, [&](const Element& e) { operations += Is<element::Operation>(e); });
  });
  return statements <= kMostStatements && operations <= kMostOperations;
}

void TurnInside(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    ForEachList(stage, [&](Stages& list) { TurnInside(plan, list); });
    if (!Is<stage::For>(stage)) continue;
    if (std::optional<Stage> nest = TurnedInside(plan, stage)) stage = std::move(*nest);
  }
}

}  // namespace kiln
