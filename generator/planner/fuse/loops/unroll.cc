#include "generator/planner/fuse/loops/unroll.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/fuse.h"
#include "generator/planner/fuse/loops/folded.h"
#include "generator/planner/fuse/loops/shared_values.h"

namespace kiln {
namespace {

/// Statements of all turns together: more would be a long text, and no faster. Turns that differ in
/// constants, or in what they do, may be more: a loop would look at its number in each of them.
constexpr int64_t kMostStatements = 32, kMostThatDiffer = 96;

/// Whether all that a turn does is to work on elements one by one, and to name what these share.
bool IsElementwise(const Plan& plan, const Stages& stages) {
  return std::all_of(stages.begin(), stages.end(), [&](const Stage& stage) {
    const bool others = AnyStage({stage}, [](const Stage& s) {
      return !Is<stage::Loop, stage::Lanes, stage::Store, stage::Define>(s);
    });
    return IsSharedValue(plan, stage) || (IsNest(stage) && !others);
  });
}

/// What elements are computed by, once for each of them.
struct Work {
  int64_t nests = 0, lanes = 0, statements = 0;
};

Work WorkOf(const Stages& stages) {
  Work work;
  for (const Stage& stage : stages) {
    if (!IsNest(stage)) continue;
    ++work.nests;
    ForEachStage({stage}, [&](const Stage& s) {
      work.lanes += Is<stage::Lanes>(s);
      work.statements += Is<stage::Store, stage::Define>(s);
    });
  }
  return work;
}

/// An offset of 0 is none.
void DropZeros(Place& place) {
  for (Coordinate& c : place.at)
    if (c.offset && IsZero(*c.offset)) c.offset = nullptr;
}

/// Whether some value is made of a constant index: a scalar of 64 bits, for which lanes have no
/// room.
bool CastsConstants(const Stages& stages) {
  bool casts = false;
  ForEachStage(stages, [&](const Stage& stage) {
    ForEachElement(stage, [&](const Element& e) {
      const auto* cast = As<element::Operation>(e);
      casts = casts || (cast && cast->op == Op::kCast && cast->args[0]->dtype == DType::kIndex &&
                        As<element::Constant>(*cast->args[0]));
    });
  });
  return casts;
}

/// The body in one turn, with variables of its own and what is known of it.
class Turn {
 public:
  Turn(Plan& plan, const stage::For& loop, int64_t turn) : plan_(plan) {
    known_[loop.variable] = IndexConstant(turn);
  }

  /// Whether it has branches or constants of its own.
  bool differs() const { return differs_; }

  Stages Of(const Stages& stages) {
    Stages all;
    for (const Stage& of : stages) {
      Stages stage{of};
      Rewrite(stage);
      const auto* define = As<stage::Define>(stage[0]);
      const auto* when = As<stage::If>(stage[0]);
      if (define && IsKnown(*define->value)) {
        known_[define->variable] = define->value;
        differs_ = differs_ || Is<element::Constant>(*define->value);
      } else if (const auto chosen = when ? IntegerOf(when->condition) : std::nullopt) {
        Append(all, Of(*chosen ? when->body : when->orelse));
        differs_ = true;
      } else {
        if (define) Rename(*As<stage::Define>(stage[0]));
        Append(all, std::move(stage));
      }
    }
    return all;
  }

 private:
  /// Whether a name for it says no more than it does.
  bool IsKnown(const Element& e) const {
    const auto* named = As<element::Named>(e);
    return named ? !plan_[named->variable].changes
                 : Is<element::Constant>(e) || Is<element::Scalar>(e);
  }

  /// Values in terms of the turn, and names within nests.
  void Rewrite(Stages& stage) {
    ChangeStages(stage, [&](Stage& s) {
      if (&s != &stage[0] && Is<stage::Define>(s)) Rename(*As<stage::Define>(s));
    });
    ChangeElements(stage, [&](const ElementPtr& e) -> ElementPtr {
      if (const auto* named = As<element::Named>(e)) {
        const auto found = known_.find(named->variable);
        return found == known_.end() ? nullptr : found->second;
      }
      const Place* loaded = LoadedBy(*e);
      if (!loaded) return Folded(*e);
      Place place = *loaded;
      DropZeros(place);
      return LoadOf(std::move(place), e->dtype);
    });
    ChangeStages(stage, [&](Stage& s) {
      ForEachPart(s, Overloaded{[&](Place& place, Access) { DropZeros(place); }, Ignore()});
    });
  }

  void Rename(stage::Define& define) {
    const Variable copy = plan_[define.variable];
    const VariableId variable = plan_.variables.Add(copy);
    known_[define.variable] = NamedElement(plan_, variable);
    define.variable = variable;
  }

  Plan& plan_;
  std::map<VariableId, ElementPtr> known_;
  bool differs_ = false;
};

/// All turns as nests over all of them; none where they would not become so.
std::optional<Stages> WrittenOut(Plan& plan, const stage::For& loop) {
  const std::optional<int64_t> turns = TurnsOf(loop);
  if (!turns || *turns > kMostThatDiffer) return std::nullopt;
  const int64_t low = As<element::Constant>(loop.low)->int_value;
  Stages all;
  Work most;  // of one turn
  for (int64_t number = low; number < low + *turns; ++number) {
    Turn turn(plan, loop, number);
    Stages one = turn.Of(loop.body);
    if (!IsElementwise(plan, one)) return std::nullopt;
    const Work work = WorkOf(one);
    most.nests = std::max(most.nests, work.nests);
    most.lanes = std::max(most.lanes, work.lanes);
    most.statements += work.statements;
    if (most.statements > (turn.differs() ? kMostThatDiffer : kMostStatements)) return std::nullopt;
    Append(all, std::move(one));
  }
  if (!MoveSharedFirst(plan, all)) return std::nullopt;
  JoinNests(plan, all);
  const Work together = WorkOf(all);
  if (together.nests > most.nests || together.lanes > most.lanes || CastsConstants(all))
    return std::nullopt;
  return all;
}

}  // namespace

void UnrollLoops(Plan& plan, Stages& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i], [&](Stages& list) { UnrollLoops(plan, list); });
    const auto* loop = As<stage::For>(stages[i]);
    std::optional<Stages> all = loop ? WrittenOut(plan, *loop) : std::nullopt;
    if (!all) continue;
    const auto at = stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(i));
    stages.insert(at, all->begin(), all->end());
    i += all->size() - 1;
  }
}

}  // namespace kiln
