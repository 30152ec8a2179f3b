#include "generator/planner/analyze/alias.h"

#include <algorithm>

#include "generator/plan/stays.h"
#include "generator/plan/walk.h"

namespace kiln {
namespace {

bool SameBlocks(const Kernel& kernel, const Ref& a, const Ref& b) {
  const auto same = [&](const BlockDim& x, const BlockDim& y) {
    return x.kind == y.kind && x.size == y.size && x.halo_low == y.halo_low &&
           x.halo_high == y.halo_high && !x.extent && !y.extent &&
           ToString(*x.index, kernel) == ToString(*y.index, kernel);
  };
  return std::equal(a.block.begin(), a.block.end(), b.block.begin(), b.block.end(), same);
}

bool Touches(const Stage& stage, BufferId input, BufferId output) {
  bool touches = false;
  ForEachPlace(stage, [&](const Place& place, bool) {
    touches = touches || place.buffer == input || place.buffer == output;
  });
  return touches;
}

/// Whether every element of `input` is read before the same element of `output` is stored, and
/// never again: in one innermost loop, all at the same place, and each element once.
bool ReadBeforeWritten(const Stages& loop, BufferId input, BufferId output,
                       const std::vector<LoopId>& around) {
  const Place* first = nullptr;  // of `output`, or of `input` with its coordinates
  bool stored = false, fine = true;
  for (const Stage& stage : loop) {
    const bool simple = Is<stage::Store, stage::Define, stage::Assign>(stage);
    if (!simple && Touches(stage, input, output)) return false;
    ForEachPlace(stage, [&](const Place& place, bool writes) {
      if (place.buffer != input && place.buffer != output) return;
      if (place.buffer == input && stored) fine = false;
      if (!first) first = &place;
      fine = fine && first->at.size() == place.at.size() &&
             std::equal(first->at.begin(), first->at.end(), place.at.begin(), SameCoordinate);
      stored = stored || writes;
    });
  }
  if (!fine || !first) return fine;
  return std::all_of(around.begin(), around.end(), [&](LoopId l) {
    return std::any_of(first->at.begin(), first->at.end(),
                       [&](const Coordinate& c) { return c.loop == l && c.IsPlain(); });
  });
}

/// Whether one innermost loop, or one list of scalar statements, has all that touches the two.
bool IsElementwise(const Stages& stages, BufferId input, BufferId output,
                   std::vector<LoopId>& around) {
  const auto touched = std::count_if(stages.begin(), stages.end(), [&](const Stage& stage) {
    return Touches(stage, input, output);
  });
  if (touched == 0) return true;
  if (touched > 1) return ReadBeforeWritten(stages, input, output, around);
  for (const Stage& stage : stages) {
    if (!Touches(stage, input, output)) continue;
    if (!IsNest(stage)) return ReadBeforeWritten(stages, input, output, around);
    around.push_back(LoopOf(stage));
    const bool fine = IsElementwise(*BodyOf(stage), input, output, around);
    around.pop_back();
    return fine;
  }
  return true;
}

bool NeedsCopy(const Plan& plan, RefId input, RefId output) {
  const Kernel& kernel = *plan.kernel;
  // A stay of one step: no later step reads what this one wrote.
  if (!SameBlocks(kernel, kernel[input], kernel[output]) || !StayIs(kernel, output, {}))
    return true;
  return !std::all_of(plan.bodies.begin(), plan.bodies.end(), [&](const BodyPlan& body) {
    std::vector<LoopId> around;
    return IsElementwise(body.stages, BufferOf(input), BufferOf(output), around);
  });
}

}  // namespace

void CopyAliasedInputs(Plan& plan) {
  const Kernel& kernel = *plan.kernel;
  for (const RefId output : IdsOf(kernel.refs)) {
    const int alias = kernel[output].alias;
    if (alias < 0) continue;
    for (const RefId r : IdsOf(kernel.refs)) {
      const bool reads = kernel[r].role == Role::kInput && kernel[r].memory != Memory::kAny &&
                         kernel.ArrayOf(r.number()) == alias;
      if (reads && NeedsCopy(plan, r, output)) plan.operands[r].copied = true;
    }
  }
}

}  // namespace kiln
