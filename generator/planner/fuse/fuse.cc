#include "generator/planner/fuse/fuse.h"

#include <algorithm>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/conflicts.h"

namespace kiln {
namespace {

void FuseList(Plan& plan, Stages& stages);

/// Whether a statement works on lanes of 64 bits, of which a vector holds half as many.
bool HasWide(const Plan& plan, const Stage& stage) {
  bool wide = false;
  ForEachElement(stage, [&](const Element& e) { wide = wide || IsWide(e.dtype); });
  ForEachPlace(stage, [&](const Place& p, bool) {
    wide = wide || IsWide(plan.buffers[static_cast<size_t>(p.buffer)].dtype);
  });
  return wide;
}

/// The statements of a nest over exactly a dot's rows and columns, in the dot's loops; empty where
/// it is something else.
Stages InLoopsOfDot(const Plan& plan, const Stage& dot, const Stage& nest,
                    std::vector<int>* loops) {
  const int row_space = plan.loops[static_cast<size_t>(dot.row)];
  Stage copy = nest;
  Stage* lanes = &copy;
  if (copy.kind == Stage::Kind::kLoop) {
    if (copy.body.size() != 1 || !SameSpace(plan, copy.loop, dot.row)) return {};
    RenameLoop(copy, copy.loop, dot.row);
    loops->push_back(dot.row);
    lanes = &copy.body[0];
  } else if (!plan.spaces[static_cast<size_t>(row_space)].extent.IsOne()) {
    return {};
  }
  if (lanes->kind != Stage::Kind::kLanes || !SameSpace(plan, lanes->loop, dot.col)) return {};
  for (const Stage& s : lanes->body) {
    if (s.kind != Stage::Kind::kStore && s.kind != Stage::Kind::kDefine) return {};
    if (HasWide(plan, s) && dot.element != DType::kF64) return {};
  }
  RenameLoop(*lanes, lanes->loop, dot.col);
  loops->push_back(dot.col);
  return std::move(lanes->body);
}

/// A nest over a dot's rows and columns goes on with the sums while they are in registers.
bool MergeIntoDot(Plan& plan, Stage& dot, const Stage& nest) {
  std::vector<int> loops;
  Stages body = InLoopsOfDot(plan, dot, nest, &loops);
  if (body.empty() || !ConflictsOf(plan, {dot}, body, loops).legal) return false;
  Append(dot.body, std::move(body));
  return true;
}

/// A nest in front of a dot that makes what only the dot's tiles go on with (a mask, a scale) moves
/// into them, unless the dot's operands come from it.
void SinkIntoDot(Plan& plan, Stages& before, Stage& dot) {
  size_t at = before.size();
  while (at > 0 && before[at - 1].kind == Stage::Kind::kPack) --at;
  if (at == 0) return;
  const Stage& nest = before[at - 1];
  std::vector<int> loops;
  Stages body = InLoopsOfDot(plan, dot, nest, &loops);
  if (body.empty()) return;
  const bool temps_only = std::all_of(body.begin(), body.end(), [&](const Stage& s) {
    return s.kind != Stage::Kind::kStore ||
           plan.buffers[static_cast<size_t>(s.place.buffer)].ref < 0;
  });
  const Stages packs(before.begin() + static_cast<std::ptrdiff_t>(at), before.end());
  if (!temps_only || ConflictsOf(plan, body, packs, {}).any ||
      !ConflictsOf(plan, body, {dot}, loops).legal) {
    return;
  }
  before.erase(before.begin() + static_cast<std::ptrdiff_t>(at - 1));
  Append(body, std::move(dot.body));
  dot.body = std::move(body);
}

/// Lanes whose values a reduction over the same lanes wants become part of it: one pass over the
/// row.
bool MergeIntoReduction(Plan& plan, Stage& lanes, const Stage& reduce) {
  if (!SameSpace(plan, lanes.loop, reduce.loop)) return false;
  Stage merged = reduce;
  RenameLoop(merged, merged.loop, lanes.loop);
  const Conflicts conflicts = ConflictsOf(plan, lanes.body, {merged}, {lanes.loop});
  if (!conflicts.any || !conflicts.legal || HasWide(plan, lanes) != HasWide(plan, reduce)) {
    return false;
  }
  merged.body = std::move(lanes.body);
  lanes = std::move(merged);
  return true;
}

bool Merge(Plan& plan, Stage& first, const Stage& second) {
  using Kind = Stage::Kind;
  if (first.kind == Kind::kLanes && second.kind == Kind::kReduce)
    return MergeIntoReduction(plan, first, second);
  if (first.kind == Kind::kDot) return MergeIntoDot(plan, first, second);
  const bool loops = (first.kind == Kind::kLoop || first.kind == Kind::kLanes) &&
                     (second.kind == Kind::kLoop || second.kind == Kind::kLanes);
  if (!loops || !SameSpace(plan, first.loop, second.loop)) return false;
  Stage copy = second;
  RenameLoop(copy, copy.loop, first.loop);
  const Conflicts conflicts = ConflictsOf(plan, first.body, copy.body, {first.loop});
  if (!conflicts.legal) return false;
  if (first.kind != second.kind) {
    // Values of a row: worth leaving the vectors for only if that keeps them in registers.
    if (!conflicts.any) return false;
    first.kind = Kind::kLoop;
  }
  Append(first.body, std::move(copy.body));
  return true;
}

void FuseList(Plan& plan, Stages& stages) {
  Stages fused;
  for (Stage& stage : stages) {
    FuseList(plan, stage.body);
    FuseList(plan, stage.orelse);
    if (!fused.empty() && Merge(plan, fused.back(), stage)) {
      if (fused.back().kind == Stage::Kind::kLoop) FuseList(plan, fused.back().body);
      continue;
    }
    if (stage.kind == Stage::Kind::kDot) SinkIntoDot(plan, fused, stage);
    fused.push_back(std::move(stage));
  }
  stages = std::move(fused);
}

/// Within one iteration of a loop: a load of what was just stored becomes the value that was
/// stored.
void ForwardStores(Plan& plan, Stages& body, bool temps_only) {
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i].kind != Stage::Kind::kStore || body[i].mask) continue;
    if (temps_only && !IsTemp(plan, body[i].place.buffer)) continue;
    const Place place = body[i].place;
    size_t end = i + 1;  // up to the next store that may touch the same element
    bool read = false;
    for (bool stored = false; end < body.size() && !stored; ++end) {
      bool reads = false;
      ForEachPlace(body[end], [&](const Place& p, bool writes) {
        stored = stored || (writes && RootOf(plan, p.buffer) == RootOf(plan, place.buffer));
        reads = reads || (!writes && SamePlace(p, place));
      });
      // A single store reads before it writes; what nests may do it the other way around.
      if (stored && body[end].kind != Stage::Kind::kStore) break;
      read = read || reads;
    }
    if (!read) continue;
    ElementPtr value = body[i].value;
    const bool plain =
        value->kind == Element::Kind::kVariable || value->kind == Element::Kind::kConst;
    if (!plain) {
      plan.variables.push_back(
          {plan.buffers[static_cast<size_t>(place.buffer)].name, value->dtype, false});
      auto variable = std::make_shared<Element>();
      variable->kind = Element::Kind::kVariable;
      variable->dtype = value->dtype;
      variable->index = static_cast<int>(plan.variables.size()) - 1;
      Stage define = StageOf(Stage::Kind::kDefine, body[i].span);
      define.variable = variable->index;
      define.value = value;
      body[i].value = variable;
      value = variable;
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), define);
      ++i, ++end;
    }
    for (size_t j = i + 1; j < end; ++j) {
      ChangeElements(body[j], [&](const ElementPtr& e) -> ElementPtr {
        return e->kind == Element::Kind::kLoad && SamePlace(e->place, place) ? value : nullptr;
      });
    }
  }
}

/// What a reduction adds up comes after its statements.
void ForwardIntoReduction(Plan& plan, Stage& reduce, bool temps_only) {
  Stage last = StageOf(Stage::Kind::kAssign, reduce.span);
  last.value = reduce.value;
  reduce.body.push_back(last);
  ForwardStores(plan, reduce.body, temps_only);
  reduce.value = reduce.body.back().value;
  reduce.body.pop_back();
}

void ForwardAll(Plan& plan, Stages& stages, bool temps_only) {
  for (Stage& stage : stages) {
    if (stage.kind == Stage::Kind::kReduce) ForwardIntoReduction(plan, stage, temps_only);
    const bool iterates = stage.kind == Stage::Kind::kLanes || stage.kind == Stage::Kind::kDot ||
                          stage.kind == Stage::Kind::kLoop;
    if (iterates) ForwardStores(plan, stage.body, temps_only);
    ForwardAll(plan, stage.body, temps_only);
    ForwardAll(plan, stage.orelse, temps_only);
  }
}

void EraseStores(const std::function<bool(const Stage&)>& unwanted, Stages& stages) {
  for (Stage& stage : stages) {
    EraseStores(unwanted, stage.body);
    EraseStores(unwanted, stage.orelse);
  }
  std::erase_if(stages, [&](const Stage& s) {
    const bool empty_loop =
        (s.kind == Stage::Kind::kLoop || s.kind == Stage::Kind::kLanes) && s.body.empty();
    const bool empty_if = s.kind == Stage::Kind::kIf && s.body.empty() && s.orelse.empty();
    return empty_loop || empty_if || (s.kind == Stage::Kind::kStore && unwanted(s));
  });
}

/// Temporaries that nobody loads any more.
void EraseDead(const Plan& plan, Stages& stages) {
  std::vector<bool> loaded(plan.buffers.size());
  ForEachPlace(stages, [&](const Place& p, bool writes) {
    if (!writes) loaded[static_cast<size_t>(RootOf(plan, p.buffer))] = true;
  });
  EraseStores(
      [&](const Stage& s) {
        return IsTemp(plan, s.place.buffer) &&
               !loaded[static_cast<size_t>(RootOf(plan, s.place.buffer))];
      },
      stages);
}

}  // namespace

void Fuse(Plan& plan, Stages& stages) {
  FuseList(plan, stages);
  ForwardAll(plan, stages, true);
  EraseDead(plan, stages);
}

namespace {

/// `buffer[r, c] = buffer[r, c] + sum` as its only use of the sum.
bool StartFromBuffer(Stage& dot) {
  Stage* add = nullptr;
  int uses = 0;
  for (Stage& s : dot.body) {
    uses += Uses(s.value, dot.variable) || Uses(s.mask, dot.variable);
    if (s.kind != Stage::Kind::kStore || s.mask || s.value->kind != Element::Kind::kOp ||
        s.value->op != Op::kAdd) {
      continue;
    }
    for (size_t k : {size_t{0}, size_t{1}}) {
      const ElementPtr& load = s.value->args[k];
      const ElementPtr& sum = s.value->args[1 - k];
      if (load->kind == Element::Kind::kLoad && SamePlace(load->place, s.place) &&
          sum->kind == Element::Kind::kVariable && sum->index == dot.variable) {
        add = &s;
        dot.start = load;
      }
    }
  }
  if (!add || uses != 1) {
    dot.start = nullptr;
    return false;
  }
  auto sum = std::make_shared<Element>();
  sum->kind = Element::Kind::kVariable;
  sum->dtype = add->value->dtype;
  sum->index = dot.variable;
  add->value = sum;
  return true;
}

/// Whether the place is every element of its buffer, each in an iteration of its own.
bool IsWhole(const Plan& plan, const Place& place) {
  const Buffer& buffer = plan.buffers[static_cast<size_t>(place.buffer)];
  for (size_t d = 0; d < place.at.size(); ++d) {
    const Coordinate& c = place.at[d];
    const int space = c.loop < 0 ? -1 : plan.loops[static_cast<size_t>(c.loop)];
    if (c.offset || c.around || space != buffer.spaces[d]) return false;
  }
  return true;
}

/// Whether all that a nest does with the buffer is to fill the whole of it with 0.
bool Zeroes(const Plan& plan, const Stage& nest, int buffer) {
  int zeros = 0, others = 0;
  ForEachStage({nest}, [&](const Stage& s) {
    const bool zero = s.kind == Stage::Kind::kStore && !s.mask && s.place.buffer == buffer &&
                      IsWhole(plan, s.place) && s.value->kind == Element::Kind::kConst &&
                      s.value->int_value == 0 && s.value->float_value == 0;
    zeros += zero;
    others += s.kind != Stage::Kind::kStore && s.kind != Stage::Kind::kLoop &&
              s.kind != Stage::Kind::kLanes && s.kind != Stage::Kind::kDefine;
  });
  ForEachPlace(nest, [&](const Place& p, bool) { others += RootOf(plan, p.buffer) == buffer; });
  return zeros == 1 && others == 1;
}

/// The stage that fills the whole of a buffer with 0, among those before `end`.
int ZeroingBefore(const Plan& plan, const Stages& stages, size_t end, int buffer) {
  for (size_t i = end; i-- > 0;) {
    if (Zeroes(plan, stages[i], buffer)) return static_cast<int>(i);
    bool touched = false;
    ForEachPlace(stages[i], [&](const Place& p, bool) {
      touched = touched || RootOf(plan, p.buffer) == buffer;
    });
    if (touched) return -1;
  }
  return -1;
}

/// Erases what stage `at` stores to a buffer, and the stage if nothing is left.
void EraseStoresOf(Stages& stages, size_t at, int buffer) {
  Stages one{std::move(stages[at])};
  EraseStores([&](const Stage& s) { return s.place.buffer == buffer; }, one);
  if (one.empty())
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(at));
  else
    stages[at] = std::move(one[0]);
}

/// Erases stores to a buffer that nobody reads any more; whether somebody reads what it has before
/// these stages. `wanted`: whether somebody does after them.
bool EraseUnread(Stages& stages, int buffer, bool wanted) {
  const auto is_buffer = [&](const Place& p) { return p.buffer == buffer; };
  for (size_t i = stages.size(); i-- > 0;) {
    Stage& stage = stages[i];
    bool before = false, within = false;  // is it read
    if (stage.kind == Stage::Kind::kIf) {
      ForEachLoad(stage.value, [&](const Place& p) { before = before || is_buffer(p); });
      const bool body = EraseUnread(stage.body, buffer, wanted);
      const bool orelse = EraseUnread(stage.orelse, buffer, wanted);
      wanted = before || body || orelse;
      continue;
    }
    // The sums of a tile start from elements that no other tile stores.
    ForEachLoad(stage.start, [&](const Place& p) { before = before || is_buffer(p); });
    Stage rest = stage;
    rest.start = nullptr;
    ForEachPlace(
        rest, [&](const Place& p, bool writes) { within = within || (!writes && is_buffer(p)); });
    if (!wanted && !within) EraseStoresOf(stages, i, buffer);
    wanted = wanted || before || within;
  }
  return wanted;
}

}  // namespace

void CarryAccumulators(Plan& plan, Stages& stages, int accumulator, bool dead) {
  for (size_t i = 0; i < stages.size(); ++i) {
    Stage& dot = stages[i];
    CarryAccumulators(plan, dot.body, accumulator, false);
    CarryAccumulators(plan, dot.orelse, accumulator, false);
    if (dot.kind != Stage::Kind::kDot || !StartFromBuffer(dot)) continue;
    if (dot.start->place.buffer != accumulator) continue;
    const int zeroing = ZeroingBefore(plan, stages, i, accumulator);
    if (zeroing < 0) continue;
    dot.start = nullptr;
    const size_t before = stages.size();
    EraseStoresOf(stages, static_cast<size_t>(zeroing), accumulator);
    i -= before - stages.size();
  }
  ForwardAll(plan, stages, false);
  if (dead) EraseUnread(stages, accumulator, /*wanted=*/false);
}

}  // namespace kiln
