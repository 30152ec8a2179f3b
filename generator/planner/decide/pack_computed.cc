#include "generator/planner/decide/pack_computed.h"

#include <algorithm>
#include <optional>

#include "generator/plan/scaled.h"
#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// A nest that computes the elements of a buffer, a vector at a time.
struct Nest {
  LoopId run, row, lanes;  // a row, or a row of a run of rows
  Stages defines;
  const stage::Store* store = nullptr;
};

std::optional<Nest> NestOf(const Plan& plan, const Stage& stage) {
  Nest nest;
  const Stages* body = nullptr;
  for (const auto* rows = As<stage::Loop>(stage); rows && !nest.run;
       rows = body->size() == 1 ? As<stage::Loop>(body->front()) : nullptr) {
    nest.run = nest.row;
    nest.row = rows->loop;
    body = &rows->body;
  }
  if (body == nullptr || body->size() != 1) return std::nullopt;
  const auto* lanes = As<stage::Lanes>(body->front());
  if (lanes == nullptr || lanes->body.empty() || lanes->by == Vectors::kDoubles ||
      HasWide(plan, body->front()))
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

/// Runs of rows as one loop over all of them: `run`, and the `row` in it, are a quotient and what
/// remains.
class OneLoop {
 public:
  OneLoop(const Plan& plan, const Nest& nest, LoopId to)
      : run_(nest.run), row_(nest.row), to_(to), count_(*plan.SpaceOf(row_).extent.Constant()) {}

  /// Where the first row of the run is.
  static ElementPtr StartOf(ElementPtr run, int64_t count) {
    return MakeOp(Op::kMul, DType::kIndex, {std::move(run), IndexConstant(count)});
  }

  ElementPtr Changed(const ElementPtr& value) const {
    return kiln::Changed(value, [&](const ElementPtr& e) -> ElementPtr {
      if (const auto* iteration = As<element::Iteration>(e)) {
        if (iteration->loop == run_) return Part(Op::kFloorDiv, e->dtype);
        if (iteration->loop == row_) return Part(Op::kMod, e->dtype);
      }
      const Place* loaded = LoadedBy(*e);
      if (!loaded) return nullptr;
      Place place = *loaded;
      for (Coordinate& c : place.at) Change(c);
      return LoadOf(std::move(place), e->dtype);
    });
  }

 private:
  /// Its offset has been changed already.
  void Change(Coordinate& c) const {
    if (c.loop != run_ && c.loop != row_) return;
    const Op op = c.loop == run_ ? Op::kFloorDiv : Op::kMod;
    const ElementPtr start = StartOf(Part(Op::kFloorDiv, DType::kIndex), count_);
    const bool is_all = c.loop == row_ && c.stride == 1 && SameElement(c.offset, start);
    const auto part = [&] {
      return MakeOp(Op::kMul, DType::kIndex, {Part(op, DType::kIndex), IndexConstant(c.stride)});
    };
    c.offset =
        is_all ? nullptr : AddOffsets(c.offset, c.stride == 1 ? Part(op, DType::kIndex) : part());
    c.loop = is_all ? to_ : LoopId();
    c.stride = 1;
  }

  ElementPtr Part(Op op, DType dtype) const {
    return MakeOp(op, dtype,
                  {MakeElement(dtype, element::Iteration{to_}),
                   ConstantOf(dtype, count_, static_cast<double>(count_))});
  }

  LoopId run_, row_, to_;
  int64_t count_;
};

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
      const Nest nest = *NestOf(plan_, stages[*at]);
      const std::optional<bool> by_columns = IsByColumns(nest, *pack);
      if (!by_columns) continue;
      const SpaceId rows = RowsOfA(stages, *pack);
      if (!rows && plan_[pack->panels].side == Side::kB) continue;  // taps read panels
      pack->by_columns = *by_columns;
      Take(nest, *pack);
      pack->others = rows;
      pack->in_place = stage::InPlace::kNever;
      pack->scaled = ScaledBy(plan_, *pack).has_value();
      if (pack->scaled) pack->rows_of_call = ChosenExtent(rows);
      FindRowsAhead(*pack);
      stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(*at));
      --i;
    }
  }

  /// Packs what the nest computes.
  void Take(Nest nest, stage::Pack& pack) const {
    pack.body = std::move(nest.defines);
    pack.value = nest.store->value;
    if (nest.run) {
      const OneLoop rows(plan_, nest, pack.row);
      for (Stage& stage : pack.body) {
        ElementPtr& value = As<stage::Define>(stage)->value;
        value = rows.Changed(value);
      }
      pack.value = rows.Changed(pack.value);
    } else {
      (pack.by_columns ? pack.col : pack.row) = nest.row;
    }
    const LoopId lanes = LanesOf(pack);
    for (Stage& stage : pack.body) RenameLoop(stage, nest.lanes, lanes);
    pack.value = WithLoop(pack.value, nest.lanes, lanes);
  }

  /// Rows of inputs that what is packed is computed from.
  void FindRowsAhead(stage::Pack& pack) const {
    const LoopId lanes = LanesOf(pack), row = pack.by_columns ? pack.col : pack.row;
    const auto is_in_row = [&](const Place& place) {
      const Ref* ref = plan_.RefOf(place.buffer);
      return ref && ref->role == Role::kInput && place.at.size() >= 2 &&
             place.at.back().loop == lanes && place.at.back().IsPlain() &&
             std::any_of(place.at.begin(), place.at.end(),
                         [&](const Coordinate& c) { return c.loop == row && c.IsPlain(); });
    };
    std::vector<Place> rows;
    ForEachPlace({Stage{{}, pack}}, [&](const Place& place, bool) {
      const auto same = [&](const Place& other) { return SamePlace(place, other); };
      if (is_in_row(place) && std::none_of(rows.begin(), rows.end(), same)) rows.push_back(place);
    });
    for (Place& place : rows)
      pack.prefetches.push_back({Prefetch::Kind::kRowsAhead, std::move(place), row});
  }

  /// The nest that computes what is packed, if nothing else reads it.
  std::optional<size_t> NestBefore(const Stages& stages, size_t end,
                                   const stage::Pack& pack) const {
    const BufferId buffer = pack.place.buffer;
    if (!IsTemp(plan_, buffer)) return {};
    // Nothing may change meanwhile what the nest reads.
    size_t at = end;
    while (at > 0 && Is<stage::Pack, stage::Define>(stages[at - 1])) --at;
    if (at-- == 0) return {};
    const std::optional<Nest> nest = NestOf(plan_, stages[at]);
    if (!nest || RootOf(plan_, nest->store->place.buffer) != RootOf(plan_, buffer)) return {};
    return UsesOf(RootOf(plan_, buffer)) == 2 ? std::optional(at) : std::nullopt;
  }

  /// Whether the rows that the nest computes are columns of what is packed, which only a B may
  /// have; none: they are neither these nor rows.
  std::optional<bool> IsByColumns(const Nest& nest, const stage::Pack& pack) const {
    if (nest.run) return AreRuns(nest, pack) ? std::optional(false) : std::nullopt;
    if (nest.store->place.buffer != pack.place.buffer) return std::nullopt;
    const auto alike = [&](LoopId rows, LoopId lanes) {
      return WalksAlike(nest.store->place, pack.place, {{nest.row, rows}, {nest.lanes, lanes}});
    };
    if (alike(pack.row, pack.col)) return false;
    if (plan_[pack.panels].side == Side::kB && alike(pack.col, pack.row)) return true;
    return std::nullopt;
  }

  /// Whether runs of rows, of a constant number, are side by side what is packed: in its own
  /// buffer, or in one of which it is a view.
  bool AreRuns(const Nest& nest, const stage::Pack& pack) const {
    const std::vector<Coordinate>&of_store = nest.store->place.at, &of_pack = pack.place.at;
    const std::optional<int64_t> count = plan_.SpaceOf(nest.row).extent.Constant();
    const auto is = [](const Coordinate& c, LoopId loop) { return c.loop == loop && c.IsPlain(); };
    const Size rows = plan_.SpaceOf(nest.run).extent * plan_.SpaceOf(nest.row).extent;
    if (!count || of_pack.size() != 2 || !(plan_.SpaceOf(pack.row).extent == rows)) return false;
    if (!is(of_pack[0], pack.row) || !is(of_pack[1], pack.col)) return false;
    if (!is(of_store.back(), nest.lanes) || !SameSpace(plan_, nest.lanes, pack.col)) return false;
    if (nest.store->place.buffer != pack.place.buffer)
      return of_store.size() == 3 && is(of_store[0], nest.run) && is(of_store[1], nest.row);
    const ElementPtr run = MakeElement(DType::kIndex, element::Iteration{nest.run});
    return of_store.size() == 2 && of_store[0].loop == nest.row && of_store[0].stride == 1 &&
           !of_store[0].around && SameElement(of_store[0].offset, OneLoop::StartOf(run, *count));
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
  columns->scaled = scaled;
}

}  // namespace

void PackComputed(Plan& plan) {
  for (BodyPlan& body : plan.bodies) ComputedPanels(plan, body.stages).Run();
  FindLongRows(plan);
}

}  // namespace kiln
