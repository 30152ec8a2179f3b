#include "generator/planner/decide/in_place.h"

#include <algorithm>
#include <set>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// Types whose elements are words, or pairs of them where the CPU multiplies those. Words of four
/// bytes take longer to make, and need sums of rows; others are converted as they are packed.
bool IsMultipliedAsItLies(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF64:
    case DType::kBF16:
    case DType::kI32:
      return true;
    default:
      return false;
  }
}

std::set<int> SpacesOfRowsThatMeet(const Plan& plan, int right) {
  std::set<int> spaces;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      if (stage.kind == Stage::Kind::kDot && stage.right.ref == right)
        spaces.insert(plan.loops[static_cast<size_t>(stage.row)]);
    });
  }
  return spaces;
}

FreeBlock* FreeBlockOf(Plan& plan, FreeBlock::Use use) {
  const auto found = std::find_if(plan.free_blocks.begin(), plan.free_blocks.end(),
                                  [&](const FreeBlock& block) { return block.use == use; });
  return found == plan.free_blocks.end() ? nullptr : &*found;
}

/// What is packed for few rows or columns of the other operand is soon done with, and blocks of it
/// are small; what lies is read along long pieces, or down columns that are not too long.
void FindWhatIsMet(Plan& plan) {
  using Hold = OperandPlan::Hold;
  using Use = FreeBlock::Use;
  FreeBlock* const rows = FreeBlockOf(plan, Use::kRows);
  FreeBlock* const columns = FreeBlockOf(plan, Use::kColumns);
  FreeBlock* const depth = FreeBlockOf(plan, Use::kDepth);
  if (!rows) return;
  bool packs = false;
  int lies = -1;
  for (size_t r = 0; r < plan.operands.size(); ++r) {
    const OperandPlan& operand = plan.operands[r];
    if (operand.few_rows >= 0) {
      lies = static_cast<int>(r);
    } else if (operand.hold == Hold::kRight || operand.hold == Hold::kRightTransposed) {
      packs = true;
    }
  }
  if (depth && (packs || lies >= 0)) depth->meets = rows->extent;
  if (depth && !packs) depth->lies = lies;
  if (columns && lies >= 0 && !packs) columns->meets = rows->extent;
  if (columns && depth) {
    rows->meets = columns->extent;
    rows->depth = depth->extent;
  }
}

}  // namespace

void FindInPlace(Plan& plan) {
  using Hold = OperandPlan::Hold;
  const Kernel& kernel = *plan.kernel;
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    OperandPlan& operand = plan.operands[r];
    const int ref = static_cast<int>(r);
    const DType type = kernel.refs[r].dtype;
    if (kernel.BorrowerOf(ref) >= 0) continue;  // what lies there may change while it is needed
    if (!IsMultipliedAsItLies(type)) continue;
    operand.lies = operand.hold == Hold::kLeft;
    if (operand.hold != Hold::kRight) continue;
    const std::set<int> spaces = SpacesOfRowsThatMeet(plan, ref);
    if (spaces.size() == 1) operand.few_rows = *spaces.begin();
  }
  FindWhatIsMet(plan);
}

}  // namespace kiln
