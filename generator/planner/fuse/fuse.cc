#include "generator/planner/fuse/fuse.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"
#include "generator/planner/fuse/into_tiles.h"

namespace kiln {
namespace {

void FuseList(Plan& plan, Stages& stages);

/// Lanes whose values a reduction over the same lanes reads become part of it: one pass over the
/// row.
bool MergeIntoReduction(Plan& plan, Stage& first, const Stage& reduce) {
  auto& lanes = *As<stage::Lanes>(first);
  if (!SameSpace(plan, lanes.loop, LoopOf(reduce))) return false;
  Stage merged = reduce;
  RenameLoop(merged, LoopOf(reduce), lanes.loop);
  const Conflicts conflicts = ConflictsOf(plan, lanes.body, {merged}, {lanes.loop});
  if (!conflicts.any || !conflicts.legal || HasWide(plan, first) != HasWide(plan, reduce)) {
    return false;
  }
  Append(lanes.body, std::move(As<stage::Reduce>(merged)->body));
  As<stage::Reduce>(merged)->body = std::move(lanes.body);
  first = std::move(merged);
  return true;
}

/// Joins a nest with `list[at]`.
bool Merge(Plan& plan, Stages& list, size_t at, const Stage& second) {
  Stage& first = list[at];
  if (Is<stage::Dot>(first))
    return !ChangesItsB(plan, list, at, second) && MergeIntoDot(plan, first, second);
  if (!IsNest(first) || !IsNest(second)) return false;
  // What all turns of one add up, as a sum of rows, is no value of a turn.
  if (UsesNamesOf(second, first) || UsesNamesOf(first, second)) return false;
  const LoopId loop = LoopOf(first);
  if (!SameSpace(plan, loop, LoopOf(second))) return false;
  Stage copy = second;
  RenameLoop(copy, LoopOf(second), loop);
  const Conflicts conflicts = ConflictsOf(plan, *BodyOf(first), *BodyOf(copy), {loop});
  if (!conflicts.legal) return false;
  if (first.what.index() != second.what.index()) {
    // Values of a row: worth leaving the vectors for only if that keeps them in registers.
    if (!conflicts.any) return false;
    first.what = stage::Loop{loop, Stages(std::move(*BodyOf(first)))};
  }
  Append(*BodyOf(first), std::move(*BodyOf(copy)));
  return true;
}

/// Whether vectors of the nest are transposed in registers, as neither side has few elements.
bool IsTransposed(const Plan& plan, const Stage& nest) {
  const auto is_long = [&](LoopId loop) {
    return plan.SpaceOf(loop).extent.Constant().value_or(16) >= 16;
  };
  const auto* row = As<stage::Loop>(nest);
  return row && RunsAcross(plan, *row) && is_long(row->loop) && is_long(LoopOf(row->body.back()));
}

/// The same, and all that can be joined then within. A nest whose vectors are transposed in
/// registers stays apart from what these would have to leave them for.
bool Join(Plan& plan, Stages& list, size_t at, const Stage& second) {
  const bool transposed = IsTransposed(plan, list[at]) || IsTransposed(plan, second);
  const Stage first = transposed ? list[at] : Stage();
  if (!Merge(plan, list, at, second)) return false;
  if (auto* loop = As<stage::Loop>(list[at])) FuseList(plan, loop->body);
  if (!transposed || IsTransposed(plan, list[at])) return true;
  list[at] = first;
  return false;
}

/// A reduction in front of which stand values of the row that it has nothing to do with (such as
/// how much what is kept from earlier steps fades) becomes part of the lanes before those.
bool MergePastValues(Plan& plan, Stages& before, const Stage& reduce) {
  size_t at = before.size();
  for (; at > 0 && Is<stage::Store, stage::Define>(before[at - 1]); --at) {
    const Stage& value = before[at - 1];
    if (UsesNamesOf(reduce, value) || ConflictsOf(plan, {value}, {reduce}).any) return false;
  }
  return at > 0 && Is<stage::Lanes>(before[at - 1]) &&
         MergeIntoReduction(plan, before[at - 1], reduce);
}

/// A nest with checks of its subscripts in front of it, that nothing in the nest before changes:
/// they are made before both. Whoever sees that one failed looks at no output.
bool MergePastRanges(Plan& plan, Stages& before, const Stage& nest) {
  size_t at = before.size();
  while (at > 0 && Is<stage::Range>(before[at - 1])) --at;
  if (at == 0 || at == before.size() || !IsNest(before[at - 1]) || !IsNest(nest)) return false;
  const auto begin = before.begin() + static_cast<std::ptrdiff_t>(at);
  const Stages ranges(begin, before.end());
  const Stage& former = before[at - 1];
  if (ConflictsOf(plan, {former}, ranges, {}).any) return false;
  if (!Join(plan, before, at - 1, nest)) return false;
  std::rotate(begin - 1, begin, before.end());
  return true;
}

/// Whether a stage reads a temporary that an earlier one makes.
bool GoesOnWith(const Plan& plan, const Stage& stage, const Stage& maker) {
  Table<bool, Buffer> made(plan.buffers.size());
  ForEachPlace(maker, [&](const Place& p, bool writes) {
    if (writes && IsTemp(plan, p.buffer)) made[RootOf(plan, p.buffer)] = true;
  });
  bool reads = false;
  ForEachPlace(stage, [&](const Place& p, bool writes) {
    reads = reads || (!writes && made[RootOf(plan, p.buffer)]);
  });
  return reads;
}

/// A nest that goes on with what an earlier one makes, where those between have nothing to do with
/// the earlier one: they are computed before both, whose values need no memory then.
bool MergePastOthers(Plan& plan, Stages& before, const Stage& nest) {
  if (!IsNest(nest)) return false;
  const auto multiplies = [](const Stage& s) { return Is<stage::Dot, stage::Pack, stage::Tap>(s); };
  for (size_t at = before.size(); at-- > 0;) {
    Stage& former = before[at];
    const auto others = before.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const auto is_apart = [&](const Stage& other) { return Independent(plan, former, other); };
    if (GoesOnWith(plan, nest, former) && std::all_of(others, before.end(), is_apart) &&
        Join(plan, before, at, nest)) {
      std::rotate(others - 1, others, before.end());
      return true;
    }
    if (AnyStage({former}, multiplies) || !MayBePassed(former)) return false;
  }
  return false;
}

void FuseList(Plan& plan, Stages& stages) {
  Stages fused;
  for (Stage& stage : stages) {
    ForEachList(stage, [&](Stages& list) { FuseList(plan, list); });
    if (Is<stage::Reduce>(stage) && MergePastValues(plan, fused, stage)) continue;
    if (MergePastRanges(plan, fused, stage)) continue;
    if (!fused.empty() && Join(plan, fused, fused.size() - 1, stage)) continue;
    if (MergePastOthers(plan, fused, stage)) continue;
    if (Is<stage::Dot>(stage)) SinkIntoDot(plan, fused, stage);
    fused.push_back(std::move(stage));
  }
  stages = std::move(fused);
}

/// Within one iteration of a loop: a load of what was just stored becomes the value that was
/// stored.
void ForwardStores(Plan& plan, Stages& body, bool temps_only) {
  for (size_t i = 0; i < body.size(); ++i) {
    auto* store = As<stage::Store>(body[i]);
    if (!store || store->mask) continue;
    if (temps_only && !IsTemp(plan, store->place.buffer)) continue;
    const Place place = store->place;
    size_t end = i + 1;  // up to the next store that may touch the same element
    bool read = false;
    for (bool stored = false; end < body.size() && !stored; ++end) {
      bool reads = false;
      ForEachPlace(body[end], [&](const Place& p, bool writes) {
        stored = stored || (writes && !AreApart(plan, p, place) &&
                            RootOf(plan, p.buffer) == RootOf(plan, place.buffer));
        reads = reads || (!writes && SamePlace(p, place));
      });
      // A single store reads before it writes; what nests may do it the other way around.
      if (stored && !Is<stage::Store>(body[end])) break;
      read = read || reads;
    }
    if (!read) continue;
    ElementPtr value = store->value;
    const bool plain = Is<element::Named>(*value) || Is<element::Constant>(*value);
    if (!plain) {
      const VariableId variable =
          plan.variables.Add({plan[place.buffer].name, value->dtype, false});
      const Stage define{body[i].span, stage::Define{variable, value}};
      value = store->value = NamedElement(plan, variable);
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), define);
      ++i, ++end;
    }
    for (size_t j = i + 1; j < end; ++j) {
      ChangeElements(body[j], [&](const ElementPtr& e) -> ElementPtr {
        const Place* loaded = LoadedBy(*e);
        return loaded && SamePlace(*loaded, place) ? value : nullptr;
      });
    }
  }
}

/// What a reduction adds up comes after its statements.
void ForwardIntoReduction(Plan& plan, stage::Reduce& reduce, bool temps_only) {
  for (const Fold& fold : reduce.folds)
    reduce.body.push_back({fold.span, stage::Assign{{}, fold.value}});
  ForwardStores(plan, reduce.body, temps_only);
  for (size_t k = reduce.folds.size(); k-- > 0;) {
    reduce.folds[k].value = As<stage::Assign>(reduce.body.back())->value;
    reduce.body.pop_back();
  }
}

}  // namespace

void ForwardAll(Plan& plan, Stages& stages, bool temps_only) {
  for (Stage& stage : stages) {
    if (auto* reduce = As<stage::Reduce>(stage)) ForwardIntoReduction(plan, *reduce, temps_only);
    if (Is<stage::Lanes, stage::Dot, stage::Loop>(stage)) {
      ForwardStores(plan, *BodyOf(stage), temps_only);
      EraseOverwritten(plan, *BodyOf(stage), /*temps_only=*/true);
    }
    ForEachList(stage, [&](Stages& list) { ForwardAll(plan, list, temps_only); });
  }
}

void EraseStores(const std::function<bool(const stage::Store&)>& unwanted, Stages& stages) {
  for (Stage& stage : stages)
    ForEachList(stage, [&](Stages& list) { EraseStores(unwanted, list); });
  std::erase_if(stages, [&](const Stage& s) {
    const auto* store = As<stage::Store>(s);
    const auto* when = As<stage::If>(s);
    // Names within a nest are seen by nobody behind it.
    return (IsNest(s) &&
            !AnyStage(*BodyOf(s), [](const Stage& in) { return !Is<stage::Define>(in); })) ||
           (when && when->body.empty() && when->orelse.empty()) || (store && unwanted(*store));
  });
}

namespace {

/// Temporaries that nobody loads any more.
void EraseDead(const Plan& plan, Stages& stages) {
  Table<bool, Buffer> loaded(plan.buffers.size());
  ForEachPlace(stages, [&](const Place& p, bool writes) {
    if (!writes) loaded[RootOf(plan, p.buffer)] = true;
  });
  EraseStores(
      [&](const stage::Store& s) {
        return IsTemp(plan, s.place.buffer) && !loaded[RootOf(plan, s.place.buffer)];
      },
      stages);
}

}  // namespace

void EraseOverwritten(const Plan& plan, Stages& body, bool temps_only) {
  for (size_t i = body.size(); i-- > 0;) {
    const auto* store = As<stage::Store>(body[i]);
    if (!store || (temps_only && !IsTemp(plan, store->place.buffer))) continue;
    bool read = false, overwritten = false;
    for (size_t j = i + 1; j < body.size() && !read && !overwritten; ++j) {
      ForEachPlace(body[j], [&](const Place& p, bool writes) {
        read = read || (!writes && RootOf(plan, p.buffer) == RootOf(plan, store->place.buffer));
      });
      const auto* later = As<stage::Store>(body[j]);
      overwritten = later && !later->mask && SamePlace(later->place, store->place);
    }
    if (overwritten && !read) body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void ForwardAroundTurns(Plan& plan, Stages& stages) {
  ChangeStages(stages, [&](Stage& stage) {
    auto* lanes = As<stage::Lanes>(stage);
    const bool turns = lanes && std::any_of(lanes->body.begin(), lanes->body.end(),
                                            [](const Stage& s) { return Is<stage::For>(s); });
    if (!turns) return;
    ForwardStores(plan, lanes->body, /*temps_only=*/false);
    EraseOverwritten(plan, lanes->body, /*temps_only=*/plan.kernel->HasAliases());
  });
}

void JoinNests(Plan& plan, Stages& stages) { FuseList(plan, stages); }

void Fuse(Plan& plan, Stages& stages) {
  FuseList(plan, stages);
  ForwardAll(plan, stages, true);
  EraseDead(plan, stages);
}

}  // namespace kiln
