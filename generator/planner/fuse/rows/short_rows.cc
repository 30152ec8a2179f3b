#include "generator/planner/fuse/rows/short_rows.h"

#include <algorithm>
#include <map>
#include <optional>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"
#include "generator/planner/fuse/fuse.h"
#include "generator/planner/fuse/rows/halves.h"
#include "generator/planner/fuse/rows/row_values.h"

namespace kiln {
namespace {

/// Elements of a short row: vectors of more are filled well enough.
constexpr int64_t kMostElements = 8;
/// Elements of rows of which lanes have one each: squares of more are transposed in less time.
constexpr int64_t kMostAcross = 4;
/// Rows that are worth a vector.
constexpr int64_t kFewestRows = 8;
/// Statements of all elements together: more would be a long text.
constexpr int64_t kMostStatements = 64;

std::optional<int64_t> CountOf(const Plan& plan, LoopId loop) {
  const Space& space = plan[plan[loop].space];
  return space.clipped ? std::nullopt : space.extent.Constant();
}

bool IsConstantOffset(const ElementPtr& offset) {
  return !offset || As<element::Constant>(offset) != nullptr;
}

/// Whether lanes may be rows at the place, one row after the other and so close that vectors have
/// several, and whether its elements can be named by constants.
bool MayTurn(const Plan& plan, const Place& place, bool writes, LoopId row) {
  const Buffer& buffer = plan[place.buffer];
  const DType type = buffer.dtype;
  int rows = 0;
  int64_t apart = 1;
  for (size_t d = 0; d < place.at.size(); ++d) {
    const Coordinate& c = place.at[d];
    if (c.around || (c.offset && DependsOn(*c.offset, row))) return false;
    if (c.loop == row) {
      if (c.stride != 1 || c.offset) return false;
      ++rows;
    } else if (rows > 0) {
      if (c.loop && !IsConstantOffset(c.offset)) return false;
      const int64_t extent = buffer.extents[d].Constant().value_or(kMostElements + 1);
      if (extent > kMostElements) return false;
      apart *= extent;
    }
  }
  if (apart > kMostElements) return false;
  return (rows == 1 && !IsPacked(type) && type != DType::kBool) || (rows == 0 && !writes);
}

/// Whether a value is none of the positions within a row, which are loops over it but for
/// coordinates.
bool MayTurn(const Element& e, const std::vector<LoopId>& elements) {
  const auto* iteration = As<element::Iteration>(e);
  return !iteration ||
         std::find(elements.begin(), elements.end(), iteration->loop) == elements.end();
}

/// Whether a pass over a row may be written out.
bool IsShort(const Plan& plan, const Stage& pass) {
  const std::optional<int64_t> count = CountOf(plan, LoopOf(pass));
  if (!count || *count > kMostElements) return false;
  const auto* reduce = As<stage::Reduce>(pass);
  const bool folds =
      !reduce || std::all_of(reduce->folds.begin(), reduce->folds.end(),
                             [](const Fold& f) { return !RowOf(f.op).lane_fold.empty(); });
  const Stages& body = *BodyOf(pass);
  return folds && std::all_of(body.begin(), body.end(),
                              [](const Stage& s) { return Is<stage::Define, stage::Store>(s); });
}

/// Whether lanes may be rows in all statements, and elements be named by constants.
bool MayTurn(const Plan& plan, const Stages& stages, const std::vector<LoopId>& elements,
             LoopId row) {
  bool may = true;
  ForEachStage(stages, [&](const Stage& stage) {
    const auto* store = As<stage::Store>(stage);
    const auto* define = As<stage::Define>(stage);
    may = may && !HasWide(plan, stage) && !(store && store->mask) &&
          !(define && plan[define->variable].dtype == DType::kIndex);
    ForEachElement(stage, [&](const Element& e) { may = may && MayTurn(e, elements); });
  });
  ForEachPlace(stages, [&](const Place& place, bool writes) {
    may = may && MayTurn(plan, place, writes, row);
  });
  return may;
}

bool IsTurned(const Plan& plan, const stage::Loop& loop) {
  const std::optional<int64_t> rows = plan[plan[loop.loop].space].extent.Constant();
  if (!IsOfRows(loop) || (rows && *rows < kFewestRows)) return false;
  std::vector<LoopId> elements;
  int64_t statements = 0;
  for (const Stage& stage : loop.body) {
    if (!IsPass(stage)) continue;
    if (!IsShort(plan, stage)) return false;
    elements.push_back(LoopOf(stage));
    statements += *CountOf(plan, LoopOf(stage)) * (1 + static_cast<int64_t>(BodyOf(stage)->size()));
  }
  if (elements.empty() || statements > kMostStatements) return false;

  return MayTurn(plan, loop.body, elements, loop.loop) &&
         ConflictsOf(plan, loop.body, loop.body, {loop.loop}).legal;
}

/// `for element { for row … { lanes along rows } }`, of short rows that lanes take one element of
/// each; null: it is none.
Stage* LanesAcross(const Plan& plan, stage::Loop& elements) {
  const std::optional<int64_t> count = CountOf(plan, elements.loop);
  if (!count || *count > kMostAcross) return nullptr;
  std::vector<LoopId> loops{elements.loop};
  Stages* body = &elements.body;
  while (body->size() == 1 && Is<stage::Loop>(body->front())) {
    loops.push_back(LoopOf(body->front()));
    body = BodyOf(body->front());
  }
  if (body->size() != 1 || !Is<stage::Lanes>(body->front())) return nullptr;
  const LoopId rows = LoopOf(body->front());
  loops.push_back(rows);
  const Stages& each = *BodyOf(body->front());
  const bool simple = std::all_of(
      each.begin(), each.end(), [](const Stage& s) { return Is<stage::Define, stage::Store>(s); });
  bool across = false;
  ForEachPlace(each, [&](const Place& place, bool writes) {
    across = across || (!writes && place.at.size() > 1 && place.at.back().loop == elements.loop &&
                        DependsOn(*LoadOf(place, DType::kF32), rows));
  });
  const auto statements = static_cast<int64_t>(each.size()) * *count;
  return simple && across && statements <= kMostStatements &&
                 MayTurn(plan, each, {elements.loop}, rows) &&
                 ConflictsOf(plan, elements.body, elements.body, loops).legal
             ? &body->front()
             : nullptr;
}

/// The statements of one element of a row, with variables of their own.
class OneElement {
 public:
  OneElement(Plan& plan, LoopId loop, int64_t element)
      : plan_(plan), loop_(loop), element_(element) {}

  Stage Of(Stage stage) {
    ChangeElements(stage, [&](const ElementPtr& e) { return Changed(e); });
    ForEachPart(stage, Overloaded{[&](Place& place, Access) { place = At(place); }, Ignore()});
    if (auto* define = As<stage::Define>(stage)) {
      const Variable copy = plan_[define->variable];
      define->variable = own_[define->variable] = plan_.variables.Add(copy);
    }
    return stage;
  }

  ElementPtr Of(const ElementPtr& value) {
    return kiln::Changed(value, [&](const ElementPtr& e) { return Changed(e); });
  }

 private:
  ElementPtr Changed(const ElementPtr& e) {
    if (const auto* named = As<element::Named>(*e)) {
      const auto found = own_.find(named->variable);
      return found == own_.end() ? nullptr : NamedElement(plan_, found->second);
    }
    const Place* const loaded = LoadedBy(*e);
    return loaded ? LoadOf(At(*loaded), e->dtype) : nullptr;
  }

  Place At(Place place) const {
    for (Coordinate& c : place.at) {
      if (c.loop != loop_) continue;
      const auto* offset = As<element::Constant>(c.offset);
      const int64_t at = element_ * c.stride + (offset ? offset->int_value : 0);
      const ElementPtr constant = at == 0 ? nullptr : IndexConstant(at);
      c = {{}, offset ? constant : AddOffsets(c.offset, constant), {}};
    }
    return place;
  }

  Plan& plan_;
  LoopId loop_;
  int64_t element_;
  std::map<VariableId, VariableId> own_;
};

std::vector<OneElement> ElementsOf(Plan& plan, LoopId loop) {
  std::vector<OneElement> elements;
  for (int64_t k = 0; k < *CountOf(plan, loop); ++k) elements.emplace_back(plan, loop, k);
  return elements;
}

Stages OfAll(std::vector<OneElement>& elements, const Stages& stages) {
  Stages all;
  for (const Stage& stage : stages)
    for (OneElement& element : elements) all.push_back(element.Of(stage));
  return all;
}

/// A pass over the elements of a row, written out: each statement for all elements, as vectors of
/// them have it.
Stages WrittenOut(Plan& plan, const Stage& pass) {
  std::vector<OneElement> elements = ElementsOf(plan, LoopOf(pass));
  Stages all = OfAll(elements, *BodyOf(pass));
  const auto* reduce = As<stage::Reduce>(pass);
  for (size_t f = 0; reduce && f < reduce->folds.size(); ++f) {
    const Fold& fold = reduce->folds[f];
    const DType type = fold.value->dtype;
    // A sum of nothing but -0 is 0, so it begins with that.
    const Op op = Folding(AsFold(fold.op));  // what divides a mean is another statement
    ElementPtr value = op == Op::kAdd ? ConstantOf(type, 0, 0) : nullptr;
    for (OneElement& element : elements) {
      const ElementPtr next = element.Of(fold.value);
      value = value ? MakeOp(op, type, {value, next}) : next;
    }
    all.push_back({fold.span, stage::Define{fold.variable, value}});
  }
  return all;
}

}  // namespace

void TurnShortRows(Plan& plan, Stages& stages) {
  for (Stage& stage : stages) {
    ForEachList(stage, [&](Stages& list) { TurnShortRows(plan, list); });
    auto* const loop = As<stage::Loop>(stage);
    Stage* const across = loop ? LanesAcross(plan, *loop) : nullptr;
    if (across) {
      std::vector<OneElement> elements = ElementsOf(plan, loop->loop);
      *BodyOf(*across) = OfAll(elements, *BodyOf(*across));
      Stages rows = std::move(loop->body);
      stage = std::move(rows.front());
      continue;
    }
    if (!loop || !IsTurned(plan, *loop)) continue;
    NameFunctionsOfRows(plan, loop->body);
    stage::Lanes lanes;
    lanes.loop = loop->loop;
    for (const Stage& inner : loop->body) {
      if (IsPass(inner))
        Append(lanes.body, WrittenOut(plan, inner));
      else
        lanes.body.push_back(inner);
    }
    stage.what = std::move(lanes);
  }
}

}  // namespace kiln
