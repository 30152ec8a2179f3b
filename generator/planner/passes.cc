#include "generator/planner/passes.h"

#include <algorithm>
#include <optional>

#include "generator/plan/walk.h"
#include "generator/planner/analyze/alias.h"
#include "generator/planner/analyze/host_calls.h"
#include "generator/planner/analyze/reuse.h"
#include "generator/planner/analyze/stored_again.h"
#include "generator/planner/decide/by_hand.h"
#include "generator/planner/decide/edges.h"
#include "generator/planner/decide/few_columns.h"
#include "generator/planner/decide/free_blocks.h"
#include "generator/planner/decide/in_place.h"
#include "generator/planner/decide/lanes/prefetch.h"
#include "generator/planner/decide/lanes/streams.h"
#include "generator/planner/decide/lanes/widths.h"
#include "generator/planner/decide/live_depth.h"
#include "generator/planner/decide/live_rows.h"
#include "generator/planner/decide/narrow.h"
#include "generator/planner/decide/one_body.h"
#include "generator/planner/decide/pack_computed.h"
#include "generator/planner/decide/pages.h"
#include "generator/planner/decide/watch.h"
#include "generator/planner/fuse/accumulators.h"
#include "generator/planner/fuse/branches.h"
#include "generator/planner/fuse/bring_sums.h"
#include "generator/planner/fuse/fuse.h"
#include "generator/planner/fuse/hoist.h"
#include "generator/planner/fuse/into_tiles.h"
#include "generator/planner/fuse/loops/before_loops.h"
#include "generator/planner/fuse/loops/turn_inside.h"
#include "generator/planner/fuse/loops/unroll.h"
#include "generator/planner/fuse/recompute.h"
#include "generator/planner/fuse/reduced.h"
#include "generator/planner/fuse/rows/across.h"
#include "generator/planner/fuse/rows/chosen_rows.h"
#include "generator/planner/fuse/rows/copied_rows.h"
#include "generator/planner/fuse/rows/four_rows.h"
#include "generator/planner/fuse/rows/one_pass.h"
#include "generator/planner/fuse/rows/read_order.h"
#include "generator/planner/fuse/rows/row_values.h"
#include "generator/planner/fuse/rows/rows_together.h"
#include "generator/planner/fuse/rows/short_rows.h"
#include "generator/planner/fuse/rows/split_rows.h"
#include "generator/planner/fuse/rows/store_rows.h"
#include "generator/planner/fuse/shared_memory.h"
#include "generator/planner/fuse/taps.h"
#include "generator/planner/fuse/widened.h"
#include "generator/planner/lower/lower.h"

namespace kiln {
namespace {

void MarkAssigned(Plan& plan, const Stages& stages) {
  ForEachStage(stages, [&](const Stage& stage) {
    if (const auto* assign = As<stage::Assign>(stage))
      plan.variables[assign->variable].changes = true;
  });
}

bool UsesLast(const Actions& actions) {
  const auto is_last = [](const Node& c) {
    return c.op == Op::kLastStep || c.op == Op::kLastVisit;
  };
  return AnyAction(actions, [&](const Action& action) {
    const auto* when = As<action::When>(action);
    const auto* check = As<action::Assert>(action);
    return (when && is_last(*when->condition)) || (check && is_last(*check->condition));
  });
}

/// Whether some statement is for the last step alone.
bool FinishesInLast(const Kernel& kernel, const Table<bool, Ref>& stored_again) {
  return UsesLast(kernel.body) || !kernel.epilogue.empty() ||
         std::any_of(stored_again.begin(), stored_again.end(), [](bool again) { return again; });
}

Dots FindDots(const Plan& plan) {
  Dots dots;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      if (!Is<stage::Dot>(stage)) return;
      const DType type = As<stage::Dot>(stage)->element;
      dots |= Dots{true, type == DType::kBF16, type == DType::kI8 || type == DType::kU8};
    });
  }
  return dots;
}

/// The bodies of a plan: one, or one for each kind of step of a reduction.
struct StepKind {
  const char* name;
  std::optional<bool> first, last;
};

std::vector<StepKind> StepKinds(const Planning& p, const Table<bool, Ref>& again) {
  if (!p.reduction.accumulator) return {{"", std::nullopt, std::nullopt}};
  if (!FinishesInLast(p.kernel, again))
    return {{"First", true, std::nullopt}, {"Middle", false, std::nullopt}};
  return {{"SingleStep", true, true},
          {"First", true, false},
          {"Middle", false, false},
          {"Last", false, true}};
}

/// Whether the body is of a step after which nobody reads the scratch that a reduction adds up in:
/// an output's sums are wanted, scratch's are not.
bool EndsScratch(const Planning& p, const BodyPlan& body) {
  const RefId accumulator = p.reduction.accumulator;
  if (!accumulator || (body.name != "SingleStep" && body.name != "Last")) return false;
  return p.kernel[accumulator].role == Role::kScratch;
}

void DescribeOperands(Planning& p) {
  Plan& plan = p.plan;
  plan.reduction_axes = p.reduction.axes;
  plan.reduction_stay = p.reduction.stay;
  plan.carried = p.reduction.stay ? RefId() : p.reduction.accumulator;
  plan.operands = PlanOperands(p.kernel);
  plan.spaces = p.spaces.spaces();
  const Table<bool, Ref> reduced = ReducedRefs(p.kernel);
  for (const RefId r : IdsOf(p.kernel.refs)) {
    const Ref& ref = p.kernel[r];
    Buffer buffer;
    buffer.name = ref.name;
    buffer.ref = r;
    buffer.dtype = ref.dtype;
    buffer.extents = ref.view;
    buffer.spaces = p.spaces.SpacesOfRef(r);
    buffer.dropped.assign(ref.view.size(), false);
    plan.buffers.push_back(std::move(buffer));
    OperandPlan& operand = plan.operands[r];
    operand.reuse = FindReuse(p.kernel, ref);
    operand.stays = FindStays(p.kernel, ref);
    operand.reduced = reduced[r];
  }
  plan.cut_axes = CutOrder(p.kernel, plan.operands);
}

void MapBlocks(Planning& p) {
  for (const Axis& axis : p.kernel.axes)
    p.plan.steps.push_back(IndexElement(p.kernel, *axis.steps));
  for (const RefId r : IdsOf(p.kernel.refs)) {
    for (const BlockDim& dim : p.kernel[r].block) {
      p.plan.operands[r].index.dimensions.push_back(
          {IndexElement(p.kernel, *dim.index, true),
           dim.extent ? IndexElement(p.kernel, *dim.extent, true) : nullptr});
    }
  }
}

void PlanHost(Planning& p) { p.plan.host_calls = PlanHostCalls(p.kernel); }

void Lower(Planning& p) {
  const Table<bool, Ref> again = StoredAgain(p.kernel, p.reduction);
  for (const StepKind& kind : StepKinds(p, again)) {
    Stages stages =
        LowerBody(p.plan, p.spaces, {p.reduction, kind.first, kind.last, again}, p.diagnostics);
    p.plan.bodies.push_back({kind.name, std::move(stages)});
  }
  p.plan.spaces = p.spaces.spaces();  // lowering numbers those of its own
  p.plan.dots = FindDots(p.plan);
}

void BringSums(Planning& p) {
  for (BodyPlan& body : p.plan.bodies) BringSumsToRows(p.plan, body.stages);
}

void FuseNests(Planning& p) {
  for (BodyPlan& body : p.plan.bodies) {
    MoveIntoBranches(p.plan, body.stages, p.reduction.accumulator);
    Fuse(p.plan, body.stages);
  }
}

void Carry(Planning& p) {
  Plan& plan = p.plan;
  for (BodyPlan& body : plan.bodies) {
    CarryAccumulators(plan, body.stages, p.reduction.accumulator, EndsScratch(p, body));
    Fuse(plan, body.stages);
  }
}

/// A pass over the stages of each body.
template <auto kPass>
void InEach(Planning& p) {
  for (BodyPlan& body : p.plan.bodies) kPass(p.plan, body.stages);
}

/// The same, where what it leaves may become fewer nests.
template <auto kPass>
void InEachAndFuse(Planning& p) {
  for (BodyPlan& body : p.plan.bodies) {
    kPass(p.plan, body.stages);
    Fuse(p.plan, body.stages);
  }
}

void KeepThroughTurns(Planning& p) {
  InEachAndFuse<TurnInside>(p);
  InEach<ForwardAroundTurns>(p);
}

void KeepLess(Planning& p) {
  InEach<RecomputeCheapValues>(p);
  InEach<StoreWhereCopied>(p);
}

void VectorsOfRows(Planning& p) {
  for (BodyPlan& body : p.plan.bodies) {
    ComputeRowValues(p.plan, body.stages);
    ScaleInTiles(p.plan, body.stages);
  }
}

void Share(Planning& p) {
  ShareMemory(p.plan);
  for (Variable& variable : p.plan.variables) variable.changes = false;
  for (const BodyPlan& body : p.plan.bodies) MarkAssigned(p.plan, body.stages);
}

void LayOut(Planning& p) { LayOutScratch(p.plan, p.reduction.accumulator); }

void ClipBlocks(Planning& p) {
  Plan& plan = p.plan;
  for (const RefId r : IdsOf(p.kernel.refs)) {
    const Ref& ref = p.kernel[r];
    const std::vector<SpaceId>& spaces = plan[BufferOf(r)].spaces;
    for (size_t a = 0; a < spaces.size() && !ref.block.empty(); ++a)
      plan.operands[r].clipped[ref.view_dims[a]] = spaces[a] && plan[spaces[a]].clipped;
  }
  CopyAliasedInputs(plan);
}

void SkipRowsAndDepths(Planning& p) {
  FindLiveRows(p.plan);
  FindLiveDepths(p.plan);
}

void Watch(Planning& p) { FindWatched(p.plan); }
void FreeBlocks(Planning& p) { FindFreeBlocks(p.plan); }
void Narrow(Planning& p) { NarrowValues(p.plan); }
void ReadUnpacked(Planning& p) { FindInPlace(p.plan); }
void AddPrefetches(Planning& p) { FindPrefetches(p.plan); }
void PlaceSums(Planning& p) { FindSums(p.plan); }
void ShareBody(Planning& p) { MakeOneBody(p.plan); }
void CompareVisits(Planning& p) { FindVisits(p.plan); }
void FindByHand(Planning& p) { SeeCopiesWhereTheyAre(p.plan); }
void Hoist(Planning& p) {
  HoistConstants(p.plan);
  NameMiddles(p.plan);
}
void TurnNests(Planning& p) { TurnAcross(p.plan); }
void ReadWithinEdges(Planning& p) { FindEdges(p.plan); }
void JoinRows(Planning& p) { TakeRowsTogether(p.plan); }
void JoinFourRows(Planning& p) { TakeFourRows(p.plan); }
void FollowInputs(Planning& p) { FollowReads(p.plan); }
void AskAhead(Planning& p) { AskForChosenRows(p.plan); }
void ChooseVectors(Planning& p) { FindVectors(p.plan); }
void Stream(Planning& p) { FindStreams(p.plan); }
void PackFromRegisters(Planning& p) { PackComputed(p.plan); }
void MultiplyByFewColumns(Planning& p) { FindFewColumns(p.plan); }
void StoreRows(Planning& p) { StoreShortRows(p.plan); }
void LeavePages(Planning& p) { FindPages(p.plan); }

constexpr Pass kPasses[] = {
    {"operands", DescribeOperands,
     "an operand that only dots read is packed by its copy; blocks that come back are found"},
    {"host", PlanHost, "host code gets its arguments, and the grid what it makes"},
    {"index", MapBlocks, "each step finds its blocks where the spec's index maps say"},
    {"watch", Watch, "outputs that share memory, or whose blocks overlap, are watched"},
    {"lower", Lower,
     "each statement becomes loops over spaces, for each kind of step; an output that the next "
     "step stores again waits for the last"},
    {"once", InEach<ComputeBeforeLoops>,
     "what every turn of a loop would compute again for its dots is computed once, before it"},
    {"bring", BringSums, "rows are added up behind the nest that makes them, or reads them too"},
    {"fuse", FuseNests, "neighbouring nests over the same spaces become one"},
    {"carry", Carry,
     "a reduction's sums start from the accumulators instead of being added to them"},
    {"taps", InEachAndFuse<JoinTaps>,
     "a window's products with all elements of a filter become one dot, whose sums stay in "
     "registers"},
    {"unroll", InEachAndFuse<UnrollLoops>,
     "a few turns that go on with the same elements, one after the other, become one nest"},
    {"turns", KeepThroughTurns,
     "turns that go on with the same elements are taken by each of these, which stays in "
     "registers"},
    {"short-rows", InEachAndFuse<TurnShortRows>,
     "rows of fewer elements than a vector has lanes are computed for a vector of rows at a time"},
    {"one-pass", InEachAndFuse<ReduceInOnePass>,
     "reductions of a row that do not wait for each other are one pass over it"},
    {"contract", InEach<Contract>, "values that never leave their loops become registers or rows"},
    {"recompute", KeepLess,
     "what is cheap to make again, or only copied, is not kept for the next pass over a row"},
    {"widen", InEach<WidenWhereRead>,
     "blocks of narrow floats are widened where they are read, and not kept"},
    {"split", InEach<SplitRows>,
     "what goes on with the reduction of a row is a loop of its own, as rows would wait for each "
     "other"},
    {"row-values", VectorsOfRows,
     "functions of what rows have one of are computed for a vector of rows at a time"},
    {"share", Share, "bodies of which a step runs one share the memory that each needs"},
    {"scratch", LayOut, "scratch that only dots touch is laid out as register tiles"},
    {"clip", ClipBlocks, "blocks end where their array does if all loops over them do"},
    {"live", SkipRowsAndDepths, "rows and depths that a mask discards are not multiplied"},
    {"free", FreeBlocks, "blocks whose size changes no result get a size that suits the caches"},
    {"narrow", Narrow, "a value that only dots of bf16 read is rounded where it is computed"},
    {"unpacked", ReadUnpacked, "Direct may multiply operands where they are"},
    {"prefetch", AddPrefetches, "what a loop will read or store later is requested early"},
    {"sums", PlaceSums,
     "sums that are only stored go past the caches, or stay in rows that tiles work on"},
    {"one-body", ShareBody, "bodies that differ in their sums alone become one"},
    {"visits", CompareVisits,
     "steps compare blocks where axes alone do not say whether one is new"},
    {"by-hand", FindByHand, "what is copied by hand is read and set where it is in the arrays"},
    {"hoist", Hoist, "what stays the same through a nest gets a name in front of it"},
    {"across", TurnNests,
     "vectors that take an element of each of many rows go on to the next elements of these"},
    {"edges", ReadWithinEdges,
     "blocks beyond their array's edges are read where they are, by parts of a loop"},
    {"rows", JoinRows, "rows that are added up, or share what they read, are taken some at a time"},
    {"four-rows", JoinFourRows,
     "rows whose lanes go through turns, or share windows, are computed four at a time"},
    {"read-order", FollowInputs,
     "rows that are read across an input are taken in its order where it comes from memory"},
    {"chosen", AskAhead, "rows that indices in memory choose are asked for ahead"},
    {"vectors", ChooseVectors,
     "lanes of 64 bits are half as many, and lines of bf16 are taken by their even and odd lanes"},
    {"stream", Stream, "an output that a pass does nothing but write may go past the caches"},
    {"computed", PackFromRegisters,
     "what is computed for nothing but a dot is packed as it is computed"},
    {"columns", MultiplyByFewColumns,
     "Direct may multiply a left operand where it is, if the right one has few columns"},
    {"store-rows", StoreRows,
     "the elements of short rows that lanes have one each of are stored side by side at once"},
    {"pages", LeavePages, "what is copied by hand, and only few rows multiply, stays where it is"},
};

}  // namespace

Axes CutOrder(const Kernel& kernel, const Table<OperandPlan, Ref>& operands) {
  AxisFlags first(kernel.axes.size());
  for (const RefId r : operands.ids()) {
    const bool is_b = operands[r].layout == OperandPlan::Layout::kPackedB ||
                      operands[r].layout == OperandPlan::Layout::kPackedBT;
    if (!is_b) continue;
    const AxisFlags used = AxesOfIndex(kernel, kernel[r]);
    for (const AxisId a : used.ids()) first[a] = first[a] || used[a];
  }
  Axes order;
  for (const bool wanted : {true, false}) {
    for (const AxisId a : first.ids()) {
      if (kernel[a].parallel && first[a] == wanted) order.push_back(a);
    }
  }
  return order;
}

std::span<const Pass> Passes() { return kPasses; }

}  // namespace kiln
