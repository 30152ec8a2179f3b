#include "generator/planner/fuse/taps.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/accumulators.h"

namespace kiln {
namespace {

/// Taps are a list on the stack.
constexpr int64_t kMostTaps = 256;

/// The place to which the dot does nothing but add its sums; null: it does something else.
const Place* AddsTo(const stage::Dot& dot) {
  const auto* store = dot.body.size() == 1 ? As<stage::Store>(dot.body.front()) : nullptr;
  if (!store || store->mask || !IsNamed(*store->value, dot.sum)) return nullptr;
  const Place* const start = dot.start ? LoadedBy(*dot.start) : nullptr;
  return start && SamePlace(*start, store->place) ? &store->place : nullptr;
}

/// What may stand in front of a dot in a loop over its taps: checks, and scalars that do not
/// depend on the sums.
bool MayPrecede(const Plan& plan, const Stage& stage, const Place& sums,
                std::set<VariableId>* variables) {
  if (!Is<stage::Define, stage::Range>(stage)) return false;
  if (const auto* define = As<stage::Define>(stage)) variables->insert(define->variable);
  bool apart = true;
  ForEachPlace(stage, [&](const Place& place, bool) {
    apart = apart && RootOf(plan, place.buffer) != RootOf(plan, sums.buffer);
  });
  return apart;
}

/// The dot over all turns of a loop, if it is the last thing which each of them does.
std::optional<stage::Dot> OverTurns(const Plan& plan, const Stage& of) {
  const auto& loop = *As<stage::For>(of);
  const std::optional<int64_t> turns = TurnsOf(loop);
  const auto* last = loop.body.empty() ? nullptr : As<stage::Dot>(loop.body.back());
  if (!turns || !last || last->taps.empty() || *turns * last->tap_count > kMostTaps) return {};
  const Place* const sums = AddsTo(*last);
  if (!sums) return {};
  std::set<VariableId> changing{loop.variable};
  Stages before(loop.body.begin(), loop.body.end() - 1);
  for (const Stage& stage : before) {
    if (!MayPrecede(plan, stage, *sums, &changing)) return {};
  }
  for (const Coordinate& c : sums->at) {
    for (const VariableId variable : changing) {
      if (Uses(c.offset, variable)) return {};
    }
  }
  stage::Dot dot = *last;
  Append(before, std::move(dot.taps));
  dot.taps = {{of.span, stage::For{loop.variable, loop.low, loop.high, std::move(before)}}};
  dot.tap_count *= *turns;
  return dot;
}

const stage::Tap& FirstTap(const stage::Dot& dot) {
  const stage::Tap* first = nullptr;
  ForEachStage(dot.taps, [&](const Stage& s) {
    if (!first) first = As<stage::Tap>(s);
  });
  return *first;
}

/// Whether windows of both have their rows as far apart.
bool AreAlike(const Plan& plan, const stage::Tap& a, const stage::Tap& b) {
  if (a.place.buffer != b.place.buffer || a.rows.size() != b.rows.size()) return false;
  Place place = b.place;
  RenameLoop(place, b.depth, a.depth);
  for (size_t k = 0; k < a.rows.size(); ++k) {
    if (!SameSpace(plan, a.rows[k], b.rows[k])) return false;
    RenameLoop(place, b.rows[k], a.rows[k]);
  }
  return SameSpace(plan, a.depth, b.depth) &&
         std::equal(place.at.begin(), place.at.end(), a.place.at.begin(), a.place.at.end(),
                    [](const Coordinate& x, const Coordinate& y) {
                      return x.loop == y.loop && x.stride == y.stride;
                    });
}

/// The second dot's taps go to the first, where both add to the same sums.
bool JoinNext(const Plan& plan, Stage& stage, const Stage& next) {
  auto* first = As<stage::Dot>(stage);
  if (!first || !Is<stage::Dot>(next) || first->taps.empty() || first->body.size() != 1)
    return false;
  Stage copy = next;
  RenameLoop(copy, As<stage::Dot>(next)->row, first->row);
  RenameLoop(copy, As<stage::Dot>(next)->col, first->col);
  auto& second = *As<stage::Dot>(copy);
  const Place* const sums = second.taps.empty() ? nullptr : AddsTo(second);
  const auto* store = As<stage::Store>(first->body.front());
  const bool same = sums && store && !store->mask && IsNamed(*store->value, first->sum) &&
                    SamePlace(*sums, store->place) && first->element == second.element &&
                    first->depth == second.depth &&
                    first->tap_count + second.tap_count <= kMostTaps &&
                    SameSpace(plan, As<stage::Dot>(next)->row, first->row) &&
                    SameSpace(plan, As<stage::Dot>(next)->col, first->col) &&
                    AreAlike(plan, FirstTap(*first), FirstTap(second));
  if (!same) return false;
  Append(first->taps, std::move(second.taps));
  first->tap_count += second.tap_count;
  return true;
}

}  // namespace

void JoinTaps(Plan& plan, Stages& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i], [&](Stages& list) { JoinTaps(plan, list); });
    if (Is<stage::For>(stages[i])) {
      if (std::optional<stage::Dot> dot = OverTurns(plan, stages[i]))
        stages[i].what = *std::move(dot);
    }
    if (i > 0 && JoinNext(plan, stages[i - 1], stages[i])) {
      stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(i));
      --i;
    }
    auto* dot = As<stage::Dot>(stages[i]);
    if (dot && dot->gathered && plan[dot->gathered].taps != dot->tap_count) {
      Panels rows = plan[dot->gathered];  // of another body, too, where there may be fewer taps
      rows.taps = dot->tap_count;
      dot->gathered = plan.panels.Add(rows);
    }
    const Place* const sums = dot && !dot->taps.empty() ? AddsTo(*dot) : nullptr;
    if (!sums || !IsWhole(plan, *sums)) continue;
    const BufferId buffer = sums->buffer;
    const std::optional<size_t> zeroing = ZeroingBefore(plan, stages, i, buffer);
    if (!zeroing) continue;
    dot->start = nullptr;
    const size_t before = stages.size();
    EraseStoresOf(stages, *zeroing, buffer);
    i -= before - stages.size();
  }
}

}  // namespace kiln
