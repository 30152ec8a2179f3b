#include "generator/planner/decide/in_place.h"

#include <algorithm>
#include <set>

#include "generator/plan/walk.h"
#include "generator/planner/decide/unpacked.h"

namespace kiln {
namespace {

using stage::InPlace;

std::set<SpaceId> SpacesOfRowsPerB(const Plan& plan, RefId b) {
  std::set<SpaceId> spaces;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* dot = As<stage::Dot>(stage);
      if (dot && dot->b.ref == b) spaces.insert(plan[dot->row].space);
      const auto* tap = As<stage::Tap>(stage);
      if (tap && tap->b.ref == b) spaces.insert(SpaceId());  // read from panels
    });
  }
  return spaces;
}

/// How many products with B there are in a step, as far as the plan knows how often loops turn.
int64_t ProductsWith(const Stages& stages, RefId b) {
  int64_t products = 0;
  for (const Stage& stage : stages) {
    const auto* dot = As<stage::Dot>(stage);
    if (dot && dot->b.ref == b) ++products;
    const auto* loop = As<stage::For>(stage);
    const int64_t turns = loop ? TurnsOf(*loop).value_or(1) : 1;
    ForEachList(stage, [&](const Stages& list) { products += turns * ProductsWith(list, b); });
  }
  return products;
}

/// Whether a mask bounds the rows that each dot multiplies it with.
bool HasLiveRows(const Plan& plan, RefId b) {
  bool bounded = true;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* dot = As<stage::Dot>(stage);
      if (dot && dot->b.ref == b) bounded &= dot->low && dot->high;
    });
  }
  return bounded;
}

FreeBlock* FreeBlockOf(Plan& plan, FreeBlock::Use use) {
  const auto found = std::find_if(plan.free_blocks.begin(), plan.free_blocks.end(),
                                  [&](const FreeBlock& block) { return block.use == use; });
  return found == plan.free_blocks.end() ? nullptr : &*found;
}

/// A panel that few rows or columns of the other operand use is packed in small blocks; an unpacked
/// B is read along long rows, or down columns that are not too long.
void FindReuseOfB(Plan& plan) {
  using Layout = OperandPlan::Layout;
  using Use = FreeBlock::Use;
  FreeBlock* const rows = FreeBlockOf(plan, Use::kRows);
  FreeBlock* const columns = FreeBlockOf(plan, Use::kColumns);
  FreeBlock* const depth = FreeBlockOf(plan, Use::kDepth);
  if (!rows) return;
  bool packs = false;
  RefId unpacked;
  for (const RefId r : plan.operands.ids()) {
    const OperandPlan& operand = plan.operands[r];
    if (operand.rows_per_b) {
      unpacked = r;
    } else if (operand.layout == Layout::kPackedB || operand.layout == Layout::kPackedBT) {
      packs = true;
    }
  }
  if (depth && (packs || unpacked)) depth->reuse = rows->extent;
  if (depth && !packs) depth->unpacked = unpacked;
  if (columns && unpacked && !packs) columns->reuse = rows->extent;
  if (columns && depth) {
    rows->reuse = columns->extent;
    rows->depth = depth->extent;
  }
}

/// Whether a matrix has at most so many rows and columns.
InPlace IfSmall(const Plan& plan, const stage::Pack& pack, int64_t most) {
  InPlace in_place = InPlace::kAlways;
  for (const LoopId loop : {pack.row, pack.col}) {
    const std::optional<int64_t> extent = plan.SpaceOf(loop).extent.Constant();
    if (extent && *extent > most) return InPlace::kNever;
    if (!extent) in_place = InPlace::kIfSmall;
  }
  return in_place;
}

/// A matrix that the body takes out of an input may be so small that it stays in the L1 whichever
/// way it is read. One of its own, of a size that the spec has, may be as large as 64 KiB: it is in
/// the L2 at the farthest, where even few rows, or a thousand, are as fast without panels.
InPlace SmallInPlace(const Plan& plan, const stage::Pack& pack) {
  constexpr int64_t kMost = 64;  // SmallA and SmallB have the same
  const Buffer& buffer = plan[pack.place.buffer];
  const Ref* ref = plan.RefOf(pack.place.buffer);
  if (!ref || ref->role == Role::kScratch) {
    const bool stays = !IsStoredMeanwhile(plan, pack.panels, pack.place.buffer);
    const int64_t most = !ref && buffer.dtype == DType::kF32 ? 2 * kMost : kMost;
    const bool small = IfSmall(plan, pack, most) == InPlace::kAlways;
    return stays && small ? InPlace::kAlways : InPlace::kNever;
  }
  const bool lent = plan.kernel->BorrowerOf(buffer.ref.number()) >= 0;
  return ref->role == Role::kInput && !lent ? IfSmall(plan, pack, kMost) : InPlace::kNever;
}

/// Whether it is an A in a buffer of the body's own, whose rows are close: tiles read it as fast as
/// panels.
bool IsValueAsA(const Plan& plan, const stage::Pack& pack) {
  return plan[pack.panels].side == Side::kA && IsTemp(plan, pack.place.buffer) &&
         !IsStoredMeanwhile(plan, pack.panels, pack.place.buffer);
}

/// Whether tiles read a matrix where it is: its elements are k-groups, or parts of one that is
/// contiguous, and so are its rows. To pack it would take longer than it gains.
InPlace ReadInPlace(const Plan& plan, const stage::Pack& pack) {
  if (pack.value || pack.low || pack.high || pack.live) return InPlace::kNever;
  const DType element = plan[pack.panels].element;
  if (plan[pack.place.buffer].dtype != element) return InPlace::kNever;
  const bool as_pairs = element == DType::kBF16 && plan[pack.panels].side == Side::kA;
  if (element != DType::kF32 && element != DType::kF64 && !as_pairs) return InPlace::kNever;
  const Coordinate& last = pack.place.at.back();
  if (last.loop != pack.col || last.stride != 1 || last.around) return InPlace::kNever;
  return IsValueAsA(plan, pack) ? InPlace::kAlways : SmallInPlace(plan, pack);
}

bool IsOfTaps(const Plan& plan, PanelsId panels) {
  bool of_taps = false;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* tap = As<stage::Tap>(stage);
      of_taps = of_taps || (tap && tap->b.panels == panels);
    });
  }
  return of_taps;
}

/// Whether few rows may multiply it, and it is not so small that packing it is nothing to them. A
/// block of more rows can have few of them where its array ends; that is looked at for a B that is
/// widened alone, whose dots have no operand that Direct reads in place by itself.
bool MayBeForFew(const Plan& plan, const stage::Pack& pack, const Size& rows) {
  constexpr int64_t kMaxFewRows = 64;  // FewRows, at the most, and IsSmallMatrix
  const auto is_small = [&](LoopId loop) {
    const std::optional<int64_t> count = plan.SpaceOf(loop).extent.Constant();
    return count && *count <= kMaxFewRows;
  };
  if (is_small(pack.row) && is_small(pack.col)) return false;
  const std::optional<int64_t> count = rows.Constant();
  return !count || *count <= kMaxFewRows ||
         IsWidened(plan[pack.place.buffer].dtype, plan[pack.panels].element);
}

/// The rows of A that each B is multiplied with which they may read in place if they are few: one
/// that is packed right before its dot, and only for that.
void FindRowsOfB(const Plan& plan, Stages& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    ForEachList(stages[i], [&](Stages& list) { FindRowsOfB(plan, list); });
    auto* pack = As<stage::Pack>(stages[i]);
    const bool is_b = pack && plan[pack->panels].side == Side::kB;
    if (!is_b || pack->in_place == InPlace::kAlways || !StaysAsItIs(plan, *pack)) continue;
    const auto* dot = DotAfter(stages, i);
    const bool is_its = dot && dot->b.panels == pack->panels;
    if (is_its && MayBeForFew(plan, *pack, plan.SpaceOf(dot->row).extent))
      pack->others = plan[dot->row].space;
  }
}

void FindMatricesInPlace(Plan& plan) {
  for (BodyPlan& body : plan.bodies) {
    ChangeStages(body.stages, [&](Stage& stage) {
      auto* pack = As<stage::Pack>(stage);
      if (pack && !IsOfTaps(plan, pack->panels)) pack->in_place = ReadInPlace(plan, *pack);
    });
    FindRowsOfB(plan, body.stages);
  }
}

}  // namespace

void FindInPlace(Plan& plan) {
  using Layout = OperandPlan::Layout;
  const Kernel& kernel = *plan.kernel;
  for (const RefId ref : IdsOf(kernel.refs)) {
    OperandPlan& operand = plan.operands[ref];
    if (kernel.BorrowerOf(ref.number()) >= 0)
      continue;  // an output writes there while it is needed
    if (!IsMultipliedUnpacked(kernel[ref].dtype)) continue;
    operand.unpacked = operand.layout == Layout::kPackedA;
    const bool is_b = operand.layout == Layout::kPackedB || operand.layout == Layout::kPackedBT;
    if (!is_b) continue;
    const std::set<SpaceId> spaces = SpacesOfRowsPerB(plan, ref);
    if (spaces.size() != 1 || kernel[ref].view.size() != 2) continue;
    operand.rows_per_b = *spaces.begin();
    for (const BodyPlan& body : plan.bodies)
      operand.products = std::max(operand.products, ProductsWith(body.stages, ref));
    operand.live_rows = HasLiveRows(plan, ref);
  }
  FindReuseOfB(plan);
  FindMatricesInPlace(plan);
}

}  // namespace kiln
