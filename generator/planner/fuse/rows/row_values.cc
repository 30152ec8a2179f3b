#include "generator/planner/fuse/rows/row_values.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"
#include "generator/planner/fuse/rows/halves.h"

namespace kiln {
namespace {

/// Statements of a loop over rows, without a pass among them.
struct Values {
  size_t begin, end;
};

/// A function, not merely a division.
bool IsFunction(const Element& e) {
  const auto* operation = As<element::Operation>(e);
  return operation && RowOf(operation->op).cpu == CpuCost::kElementary;
}

/// Whether there is a function of what rows have one of each.
bool CallsFunction(const Stage& stage) {
  bool calls = false;
  const std::function<void(const ElementPtr&)> look = [&](const ElementPtr& e) {
    calls = calls || (IsFunction(*e) && !IsUniform(e));
    ForEachPart(*e, look);
  };
  ForEachPart(stage, Overloaded{[&](const ElementPtr& e) {
                                  if (e) look(e);
                                },
                                Ignore()});
  return calls;
}

/// Whether a pass computes the same from its beginning to its end: from elements that it does not
/// store, which are read wherever the pass is.
bool StaysWithin(const Plan& plan, const Stage& pass, const ElementPtr& e) {
  std::set<VariableId> inside;
  ForEachStage(*BodyOf(pass), [&](const Stage& s) {
    for (const VariableId name : NamesOf(s)) inside.insert(name);
  });
  bool stays = !DependsOn(*e, LoopOf(pass));
  ForEachElement(e, [&](const Element& part) {
    const auto* named = As<element::Named>(part);
    const Place* const loaded = LoadedBy(part);
    stays = stays && !(named && inside.count(named->variable));
    stays = stays && !(loaded && std::any_of(loaded->at.begin(), loaded->at.end(),
                                             [](const Coordinate& c) { return !c.IsPlain(); }));
  });
  const Stage value{pass.span, stage::Assign{{}, e}};
  return stays && !ConflictsOf(plan, {value}, {pass}).any;
}

}  // namespace

void NameFunctionsOfRows(Plan& plan, Stages& body) {
  for (size_t i = 0; i < body.size(); ++i) {
    if (!IsPass(body[i])) continue;
    const Stage pass = body[i];
    std::vector<stage::Define> names;
    ChangeElements(body[i], [&](const ElementPtr& e) -> ElementPtr {
      for (const stage::Define& known : names)
        if (SameElement(known.value, e)) return NamedElement(plan, known.variable);
      if (!IsFunction(*e) || !StaysWithin(plan, pass, e)) return nullptr;
      names.push_back({plan.variables.Add({"fixed", e->dtype, false}), e});
      return NamedElement(plan, names.back().variable);
    });
    for (const stage::Define& name : names)
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i++), {pass.span, name});
  }
}

namespace {

/// Whether neighbouring rows are neighbours in memory.
bool IsColumn(const Plan& plan, const Place& place, LoopId row) {
  const Buffer& buffer = plan[place.buffer];
  size_t d = place.at.size();
  while (d > 0 && !place.at[d - 1].loop && buffer.extents[d - 1].IsOne()) --d;
  if (d == 0 || place.at[d - 1].loop != row || place.at[d - 1].stride != 1) return false;
  const auto depends = [&](const Coordinate& c) {
    return c.around || (c.offset && DependsOn(*c.offset, row));
  };
  return std::none_of(place.at.begin(), place.at.end(), depends) &&
         std::none_of(place.at.begin(), place.at.begin() + static_cast<std::ptrdiff_t>(d - 1),
                      [&](const Coordinate& c) { return c.loop == row; });
}

/// Masked stores are made for neighbours, whatever the extents of a block say: the elements of an
/// output's only column are as far apart as its rows.
bool StoresNeighbours(const Plan& plan, const Stage& stage, LoopId row) {
  const auto* store = As<stage::Store>(stage);
  return !store || !store->mask || AreNeighbours(plan, store->place, row);
}

/// Whether vectors of rows may compute the statements.
bool MayBeLanes(const Plan& plan, const Stages& values, LoopId row) {
  if (!ConflictsOf(plan, values, values, {row}).legal) return false;
  return std::all_of(values.begin(), values.end(), [&](const Stage& stage) {
    bool columns = !HasWide(plan, stage) && StoresNeighbours(plan, stage, row);
    ForEachPlace(stage, [&](const Place& place, bool writes) {
      const bool varies = std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
        return c.loop == row || (c.offset && DependsOn(*c.offset, row));
      });
      columns = columns && (varies ? IsColumn(plan, place, row) : !writes);
    });
    return columns;
  });
}

/// Whether what passes on both sides share will still be near.
bool SharesLittle(const Plan& plan, const stage::Loop& loop, const Values& values) {
  std::set<BufferId> before;
  bool little = true;
  for (size_t i = 0; i < loop.body.size(); ++i) {
    if (!IsPass(loop.body[i])) continue;
    ForEachPlace(loop.body[i], [&](const Place& place, bool) {
      const BufferId root = RootOf(plan, place.buffer);
      if (i < values.begin) {
        before.insert(root);
      } else if (before.count(root)) {
        int64_t room = IsTemp(plan, root) ? kMostInBothHalves : 0;  // for elements in each row
        for (const Size& extent : plan[root].extents) room /= extent.Constant().value_or(room + 1);
        little = little && room > 0;
      }
    });
  }
  return little;
}

/// The last values of a loop that are worth it and may be computed apart.
std::optional<Values> FindValues(const Plan& plan, const stage::Loop& loop) {
  const Stages& body = loop.body;
  for (size_t end = body.size(); end > 0; --end) {
    if (IsPass(body[end - 1])) continue;
    size_t begin = end;
    while (begin > 0 && !IsPass(body[begin - 1])) --begin;
    const Values values{begin, end};
    const Stages statements(body.begin() + static_cast<std::ptrdiff_t>(begin),
                            body.begin() + static_cast<std::ptrdiff_t>(end));
    const bool alone = begin == 0 && end == body.size();
    if (!alone && std::any_of(statements.begin(), statements.end(), CallsFunction) &&
        MayBeLanes(plan, statements, loop.loop) && SharesLittle(plan, loop, values) &&
        (begin == 0 || MayCut(plan, loop, begin)) &&
        (end == body.size() || MayCut(plan, loop, end)))
      return values;
    end = begin + 1;
  }
  return std::nullopt;
}

/// Names of what was left in memory: vectors of it have names anyway.
Stages WithoutLoads(const Plan& plan, Stages body) {
  for (size_t i = 0; i < body.size();) {
    const auto* define = As<stage::Define>(body[i]);
    const Place* const loaded = define ? LoadedBy(*define->value) : nullptr;
    if (!loaded || ConflictsOf(plan, {body[i]}, body).any) {
      ++i;
      continue;
    }
    const VariableId name = define->variable;
    const ElementPtr load = define->value;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
    ChangeElements(body, [&](const ElementPtr& e) { return IsNamed(*e, name) ? load : nullptr; });
  }
  return body;
}

/// Puts a loop by vectors in place of the values, and what comes after them behind it.
void Separate(Plan& plan, Stages& stages, size_t at, const Values& values) {
  const Span span = stages[at].span;
  auto* loop = As<stage::Loop>(stages[at]);
  const size_t after = loop->body.size() - values.end;
  if (values.begin > 0) {
    Stage rest = CutOff(plan, *loop, values.begin, span);
    stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(++at), std::move(rest));
    loop = As<stage::Loop>(stages[at]);
  }
  std::optional<Stage> tail;
  if (after > 0) tail = CutOff(plan, *loop, loop->body.size() - after, span);
  stage::Lanes lanes;
  lanes.loop = loop->loop;
  lanes.body = WithoutLoads(plan, std::move(loop->body));
  stages[at].what = std::move(lanes);
  if (tail) stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(at + 1), std::move(*tail));
}

}  // namespace

void ComputeRowValues(Plan& plan, Stages& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i], [&](Stages& list) { ComputeRowValues(plan, list); });
    auto* const rows = As<stage::Loop>(stages[i]);
    if (!rows || !IsOfRows(*rows)) continue;
    NameFunctionsOfRows(plan, rows->body);
    for (const stage::Loop* loop; (loop = As<stage::Loop>(stages[i]));) {
      const std::optional<Values> values = FindValues(plan, *loop);
      if (!values) break;
      Separate(plan, stages, i, *values);
    }
  }
}

}  // namespace kiln
