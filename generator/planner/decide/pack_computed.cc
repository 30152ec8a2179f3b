#include "generator/planner/decide/pack_computed.h"

#include <algorithm>
#include <optional>

#include "generator/plan/scaled.h"
#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// A nest that computes the elements of a buffer, a vector at a time.
struct Nest {
  LoopId row, lanes;
  Stages defines;
  const stage::Store* store = nullptr;
};

std::optional<Nest> NestOf(const Plan& plan, const Stage& stage) {
  Nest nest;
  const Stages* body = nullptr;
  if (const auto* rows = As<stage::Loop>(stage)) {
    nest.row = rows->loop;
    body = &rows->body;
  }
  if (body == nullptr || body->size() != 1) return std::nullopt;
  const auto* lanes = As<stage::Lanes>(body->front());
  if (lanes == nullptr || lanes->body.empty() || lanes->wide || HasWide(plan, body->front()))
    return std::nullopt;
  nest.lanes = lanes->loop;
  nest.defines = lanes->body;
  nest.defines.pop_back();
  nest.store = As<stage::Store>(lanes->body.back());
  const bool simple = std::all_of(nest.defines.begin(), nest.defines.end(),
                                  [](const Stage& s) { return Is<stage::Define>(s); });
  if (!simple || nest.store == nullptr || nest.store->mask) return std::nullopt;
  return nest;
}

class ComputedPanels {
 public:
  ComputedPanels(const Plan& plan, Stages& body) : plan_(plan), body_(body) {}

  void Run() { List(body_); }

 private:
  void List(Stages& stages) {
    for (size_t i = 0; i < stages.size(); ++i) {
      ForEachList(stages[i], [&](Stages& list) { List(list); });
      auto* pack = As<stage::Pack>(stages[i]);
      if (pack == nullptr || pack->value || pack->low || pack->high || pack->live) continue;
      const std::optional<size_t> at = NestBefore(stages, i, *pack);
      if (!at) continue;
      const SpaceId rows = RowsOfA(stages, *pack);
      if (!rows && plan_[pack->panels].side == Side::kB) continue;  // taps read panels
      Nest nest = *NestOf(plan_, stages[*at]);
      pack->rows = rows;
      pack->row = nest.row;
      pack->col = nest.lanes;
      pack->value = nest.store->value;
      pack->in_place = stage::InPlace::kNever;
      pack->body = std::move(nest.defines);
      pack->scaled = ScaledBy(plan_, *pack).has_value();
      if (pack->scaled) pack->rows_of_call = ChosenExtent(rows);
      FindRowsAhead(*pack);
      stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(*at));
      --i;
    }
  }

  /// Rows of inputs that what is packed is computed from.
  void FindRowsAhead(stage::Pack& pack) const {
    const auto is_in_row = [&](const Place& place) {
      const Ref* ref = plan_.RefOf(place.buffer);
      return ref && ref->role == Role::kInput && place.at.size() >= 2 &&
             place.at.back().loop == pack.col && place.at.back().IsPlain() &&
             std::any_of(place.at.begin(), place.at.end(),
                         [&](const Coordinate& c) { return c.loop == pack.row && c.IsPlain(); });
    };
    std::vector<Place> rows;
    ForEachPlace({Stage{{}, pack}}, [&](const Place& place, bool) {
      const auto same = [&](const Place& other) { return SamePlace(place, other); };
      if (is_in_row(place) && std::none_of(rows.begin(), rows.end(), same)) rows.push_back(place);
    });
    for (Place& place : rows)
      pack.prefetches.push_back({Prefetch::Kind::kRowsAhead, std::move(place), pack.row});
  }

  /// The nest that computes what is packed, if nothing else reads it.
  std::optional<size_t> NestBefore(const Stages& stages, size_t end,
                                   const stage::Pack& pack) const {
    const BufferId buffer = pack.place.buffer;
    if (!IsTemp(plan_, buffer) || plan_[buffer].same_as || plan_[buffer].dense) return {};
    // Nothing may change meanwhile what the nest reads.
    size_t at = end;
    while (at > 0 && Is<stage::Pack, stage::Define>(stages[at - 1])) --at;
    if (at-- == 0) return {};
    const std::optional<Nest> nest = NestOf(plan_, stages[at]);
    if (!nest || nest->store->place.buffer != buffer || UsesOf(buffer) != 2) return {};
    if (!WalksAlike(nest->store->place, pack.place,
                    {{nest->row, pack.row}, {nest->lanes, pack.col}}))
      return {};
    return at;
  }

  /// Of the buffer itself, or by another shape.
  int UsesOf(BufferId buffer) const {
    int uses = 0;
    ForEachPlace(body_, [&](const Place& p, bool) { uses += RootOf(plan_, p.buffer) == buffer; });
    return uses;
  }

  /// Whether two places are the same elements in the same iterations of each pair of loops.
  bool WalksAlike(const Place& a, const Place& b,
                  std::initializer_list<std::pair<LoopId, LoopId>> pairs) const {
    if (a.at.size() != b.at.size()) return false;
    size_t walked = 0;
    for (size_t d = 0; d < a.at.size(); ++d) {
      const Coordinate &of_a = a.at[d], &of_b = b.at[d];
      if (!of_a.loop && !of_b.loop && !of_a.offset && !of_b.offset) continue;
      if (!of_a.IsPlain() || !of_b.IsPlain()) return false;
      const bool pair = std::any_of(pairs.begin(), pairs.end(), [&](const auto& loops) {
        return of_a.loop == loops.first && of_b.loop == loops.second &&
               SameSpace(plan_, loops.first, loops.second);
      });
      if (!pair) return false;
      ++walked;
    }
    return walked == pairs.size();
  }

  /// How many rows of A are multiplied with a B.
  SpaceId RowsOfA(const Stages& stages, const stage::Pack& pack) const {
    for (const Stage& s : stages) {
      const auto* dot = As<stage::Dot>(s);
      if (dot && dot->b.panels == pack.panels) return plan_[dot->row].space;
    }
    return {};
  }

  /// Of an array along a space, if Direct chooses what part of it is a block.
  std::optional<Size> ChosenExtent(SpaceId space) const {
    for (const FreeBlock& block : plan_.free_blocks) {
      if (block.space == space) return block.extent;
    }
    return std::nullopt;
  }

  const Plan& plan_;
  Stages& body_;
};

/// Few rows use a B where it is computed, along rows that are the longer the fewer they are. An
/// operand that is packed would have to be in a cache meanwhile.
void FindLongRows(Plan& plan) {
  FreeBlock *rows = nullptr, *columns = nullptr;
  for (FreeBlock& block : plan.free_blocks) {
    if (block.use == FreeBlock::Use::kRows) rows = &block;
    if (block.use == FreeBlock::Use::kColumns) columns = &block;
  }
  bool computed = false, scaled = true, packed = false;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* pack = As<stage::Pack>(stage);
      if (!pack || plan[pack->panels].side != Side::kB) return;
      (pack->value ? computed : packed) = true;
      scaled = scaled && pack->scaled;
    });
  }
  for (const OperandPlan& operand : plan.operands) {
    packed = packed || operand.layout == OperandPlan::Layout::kPackedB ||
             operand.layout == OperandPlan::Layout::kPackedBT;
  }
  if (!rows || !columns || !computed || packed) return;
  columns->reuse = rows->extent;
  columns->computed = true;
  columns->scaled = scaled;
}

}  // namespace

void PackComputed(Plan& plan) {
  for (BodyPlan& body : plan.bodies) ComputedPanels(plan, body.stages).Run();
  FindLongRows(plan);
}

}  // namespace kiln
