#include "generator/planner/fuse/accumulators.h"

#include <algorithm>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/fuse.h"

namespace kiln {
namespace {

/// Whether each element of a dot has a place of its own there, unlike where its rows are added up.
bool HasPlaceForEach(const Plan& plan, const stage::Dot& dot, const Place& place) {
  const auto walks = [&](LoopId loop) {
    return plan.SpaceOf(loop).extent.IsOne() ||
           std::any_of(place.at.begin(), place.at.end(),
                       [&](const Coordinate& c) { return c.loop == loop; });
  };
  return walks(dot.row) && walks(dot.col);
}

/// `buffer[r, c] = buffer[r, c] + sum` as its only use of the sum.
bool StartFromBuffer(const Plan& plan, stage::Dot& dot) {
  stage::Store* add = nullptr;
  ElementPtr start;
  int uses = 0;
  for (Stage& s : dot.body) {
    bool uses_sum = false;
    ForEachPart(s, Overloaded{[&](const ElementPtr& e) { uses_sum = uses_sum || Uses(e, dot.sum); },
                              Ignore()});
    uses += uses_sum;
    auto* store = As<stage::Store>(s);
    const auto* sum = store && !store->mask ? AsOp(*store->value, Op::kAdd) : nullptr;
    if (!sum || !HasPlaceForEach(plan, dot, store->place)) continue;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const Place* loaded = LoadedBy(*sum->args[k]);
      if (loaded && SamePlace(*loaded, store->place) && IsNamed(*sum->args[1 - k], dot.sum)) {
        add = store;
        start = sum->args[k];
      }
    }
  }
  if (!add || uses != 1) {
    dot.start = nullptr;
    return false;
  }
  dot.start = start;
  add->value = MakeElement(add->value->dtype, element::Named{dot.sum});
  return true;
}

}  // namespace

bool IsWhole(const Plan& plan, const Place& place) {
  const Buffer& buffer = plan[place.buffer];
  for (size_t d = 0; d < place.at.size(); ++d) {
    const Coordinate& c = place.at[d];
    const SpaceId space = c.loop ? plan[c.loop].space : SpaceId();
    if (!c.IsPlain() || space != buffer.spaces[d]) return false;
  }
  return true;
}

namespace {

/// Whether all that a nest does with the buffer is to fill the whole of it with such a value.
bool Fills(const Plan& plan, const Stage& nest, BufferId buffer,
           const std::function<bool(const Element&)>& is_wanted) {
  int fills = 0, others = 0;
  ForEachStage({nest}, [&](const Stage& s) {
    const auto* store = As<stage::Store>(s);
    fills += store && !store->mask && store->place.buffer == buffer &&
             IsWhole(plan, store->place) && is_wanted(*store->value);
    others += !Is<stage::Store, stage::Loop, stage::Lanes, stage::Define>(s);
  });
  ForEachPlace(nest, [&](const Place& p, bool) { others += RootOf(plan, p.buffer) == buffer; });
  return fills == 1 && others == 1;
}

}  // namespace

std::optional<size_t> FillBefore(const Plan& plan, const Stages& stages, size_t end,
                                 BufferId buffer,
                                 const std::function<bool(const Element&)>& is_wanted) {
  for (size_t i = end; i-- > 0;) {
    if (Fills(plan, stages[i], buffer, is_wanted)) return i;
    bool touched = false;
    ForEachPlace(stages[i], [&](const Place& p, bool) {
      touched = touched || RootOf(plan, p.buffer) == buffer;
    });
    if (touched) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<size_t> ZeroingBefore(const Plan& plan, const Stages& stages, size_t end,
                                    BufferId buffer) {
  return FillBefore(plan, stages, end, buffer, [](const Element& e) { return IsZero(e); });
}

void EraseStoresOf(Stages& stages, size_t at, BufferId buffer) {
  Stages one{std::move(stages[at])};
  EraseStores([&](const stage::Store& s) { return s.place.buffer == buffer; }, one);
  if (one.empty())
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(at));
  else
    stages[at] = std::move(one[0]);
}

namespace {

/// Erases stores to a buffer that nobody reads any more; whether somebody reads what it has before
/// these stages. `wanted`: whether somebody does after them.
bool EraseUnread(Stages& stages, BufferId buffer, bool wanted) {
  const auto loads = [&](const ElementPtr& e) {
    bool any = false;
    ForEachLoad(e, [&](const Place& p) { any = any || p.buffer == buffer; });
    return any;
  };
  for (size_t i = stages.size(); i-- > 0;) {
    if (auto* when = As<stage::If>(stages[i])) {
      const bool before = loads(when->condition);
      const bool body = EraseUnread(when->body, buffer, wanted);
      const bool orelse = EraseUnread(when->orelse, buffer, wanted);
      wanted = before || body || orelse;
      continue;
    }
    // The sums of a tile start from elements that no other tile stores.
    Stage rest = stages[i];
    auto* dot = As<stage::Dot>(rest);
    const bool before = dot && loads(std::exchange(dot->start, nullptr));
    bool within = false;
    ForEachPlace(rest, [&](const Place& p, bool writes) {
      within = within || (!writes && p.buffer == buffer);
    });
    if (!wanted && !within) EraseStoresOf(stages, i, buffer);
    wanted = wanted || before || within;
  }
  return wanted;
}

}  // namespace

void CarryAccumulators(Plan& plan, Stages& stages, RefId accumulator, bool dead) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i],
                [&](Stages& list) { CarryAccumulators(plan, list, accumulator, false); });
    auto* dot = As<stage::Dot>(stages[i]);
    if (!dot || !StartFromBuffer(plan, *dot)) continue;
    if (LoadedBy(*dot->start)->buffer != BufferOf(accumulator)) continue;
    const std::optional<size_t> zeroing = ZeroingBefore(plan, stages, i, BufferOf(accumulator));
    if (!zeroing) continue;
    dot->start = nullptr;
    const size_t before = stages.size();
    EraseStoresOf(stages, *zeroing, BufferOf(accumulator));
    i -= before - stages.size();
  }
  ForwardAll(plan, stages, false);
  if (dead) EraseUnread(stages, BufferOf(accumulator), /*wanted=*/false);
}

namespace {

/// Scratch that lives in register tiles: dots alone start from it and store to it.
bool OnlyDotsTouch(const std::vector<BodyPlan>& bodies, BufferId scratch) {
  bool others = false;
  for (const BodyPlan& body : bodies) {
    for (const Stage& stage : body.stages) {
      const auto* dot = As<stage::Dot>(stage);
      if (dot && !dot->taps.empty()) dot = nullptr;  // whose tiles have a layout of their own
      ForEachPlace(dot ? dot->body : Stages{stage}, [&](const Place& p, bool writes) {
        others = others || (p.buffer == scratch && !(dot && writes));
      });
    }
  }
  return !others;
}

/// Scratch has no use for extents of 1, and its rows are then neighbours; but a manual copy, a wait
/// for one and a check against those in flight look at the shape that the spec gave, and register
/// tiles have rows and columns, be it one.
void DropOnes(Plan& plan) {
  Table<bool, Buffer> copied(plan.buffers.size());
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* copy = As<stage::Copy>(stage);
      const auto* wait = As<stage::Wait>(stage);
      const auto* touch = As<stage::Touch>(stage);
      if (copy) copied[copy->from.begin.buffer] = copied[copy->to.begin.buffer] = true;
      if (wait && wait->window) copied[wait->window->begin.buffer] = true;
      if (touch) copied[touch->window.begin.buffer] = true;
    });
  }
  for (const RefId r : IdsOf(plan.kernel->refs)) {
    if ((*plan.kernel)[r].role != Role::kScratch || copied[BufferOf(r)]) continue;
    Buffer& buffer = plan.buffers[BufferOf(r)];
    const size_t kept = r == plan.accumulator ? 2 : 0;
    for (size_t d = 0; d + kept < buffer.extents.size(); ++d)
      buffer.dropped[d] = buffer.extents[d].IsOne();
  }
}

}  // namespace

void LayOutScratch(Plan& plan, RefId accumulator) {
  if (accumulator && (*plan.kernel)[accumulator].role == Role::kScratch &&
      OnlyDotsTouch(plan.bodies, BufferOf(accumulator))) {
    plan.accumulator = accumulator;
  }
  DropOnes(plan);
}

}  // namespace kiln
