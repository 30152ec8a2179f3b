#include "generator/planner/fuse/loops/unroll.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/fuse.h"

namespace kiln {
namespace {

/// Statements of all turns together: more would be a long text, and no faster.
constexpr int64_t kMostStatements = 32;

/// Whether all that the loop does is to work on elements one by one.
bool IsElementwise(const Stages& stages) {
  bool nests = true;
  for (const Stage& stage : stages) nests = nests && IsNest(stage);
  return nests && !AnyStage(stages, [](const Stage& s) {
           return !Is<stage::Loop, stage::Lanes, stage::Store, stage::Define>(s);
         });
}

int64_t CountStatements(const Stages& stages) {
  int64_t count = 0;
  ForEachStage(stages, [&](const Stage& s) { count += Is<stage::Store, stage::Define>(s); });
  return count;
}

int64_t CountLanes(const Stages& stages) {
  int64_t count = 0;
  ForEachStage(stages, [&](const Stage& s) { count += Is<stage::Lanes>(s); });
  return count;
}

/// An offset of 0 is none.
void DropZeros(Place& place) {
  for (Coordinate& c : place.at)
    if (c.offset && IsZero(*c.offset)) c.offset = nullptr;
}

/// Index arithmetic with constants, and a cast of one that has the same value in any type of as
/// many bits; null: it stays.
ElementPtr Folded(const Element& e) {
  const auto* operation = As<element::Operation>(e);
  const auto constant = [&](size_t k) -> const element::Constant* {
    const bool index = k < operation->args.size() && operation->args[k]->dtype == DType::kIndex;
    return index ? As<element::Constant>(*operation->args[k]) : nullptr;
  };
  if (!operation || !constant(0)) return nullptr;
  const int64_t first = constant(0)->int_value;
  if (operation->op == Op::kCast) {
    const int64_t most = RowOf(e.dtype).bits < 16 ? 8 : 128;
    if (e.dtype == DType::kBool || first < 0 || first > most - 1) return nullptr;
    return ConstantOf(e.dtype, first, static_cast<double>(first));
  }
  if (e.dtype != DType::kIndex || !constant(1)) return nullptr;
  if (operation->op == Op::kAdd) return IndexConstant(first + constant(1)->int_value);
  if (operation->op == Op::kMul) return IndexConstant(first * constant(1)->int_value);
  return nullptr;
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

/// The body in one turn, with variables of its own.
Stages Turn(Plan& plan, const stage::For& loop, int64_t turn) {
  Stages body = loop.body;
  std::map<VariableId, VariableId> own;
  ChangeStages(body, [&](Stage& stage) {
    auto* define = As<stage::Define>(stage);
    if (!define) return;
    const Variable copy = plan[define->variable];
    const VariableId variable = plan.variables.Add(copy);
    own[define->variable] = variable;
    define->variable = variable;
  });
  ChangeElements(body, [&](const ElementPtr& e) -> ElementPtr {
    if (const auto* named = As<element::Named>(e)) {
      if (named->variable == loop.variable) return ConstantOf(e->dtype, turn, 0);
      const auto found = own.find(named->variable);
      return found == own.end() ? nullptr : NamedElement(plan, found->second);
    }
    const Place* loaded = LoadedBy(*e);
    if (!loaded) return Folded(*e);
    Place place = *loaded;
    DropZeros(place);
    return LoadOf(std::move(place), e->dtype);
  });
  ChangeStages(body, [&](Stage& stage) {
    ForEachPart(stage, Overloaded{[&](Place& place, Access) { DropZeros(place); }, Ignore()});
  });
  return body;
}

/// All turns as nests over all of them; none where they would not become so.
std::optional<Stages> WrittenOut(Plan& plan, const stage::For& loop) {
  const std::optional<int64_t> turns = TurnsOf(loop);
  if (!turns || !IsElementwise(loop.body)) return std::nullopt;
  if (*turns > kMostStatements / std::max<int64_t>(CountStatements(loop.body), 1))
    return std::nullopt;
  const int64_t low = As<element::Constant>(loop.low)->int_value;
  Stages all;
  for (int64_t turn = low; turn < low + *turns; ++turn) Append(all, Turn(plan, loop, turn));
  JoinNests(plan, all);
  if (all.size() > loop.body.size() || CountLanes(all) > CountLanes(loop.body) ||
      CastsConstants(all)) {
    return std::nullopt;
  }
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
