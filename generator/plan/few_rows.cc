#include "generator/plan/few_rows.h"

#include <algorithm>
#include <set>

#include "generator/plan/walk.h"

namespace kiln {
namespace {

/// Types of which words are soon made on the way. Four bytes a word take longer, and others are
/// converted as they are packed.
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

/// Where some right operand is packed however few rows meet it, Direct's depth depends on them.
void FindRowsOfDepth(Plan& plan) {
  using Hold = OperandPlan::Hold;
  const bool packs =
      std::any_of(plan.operands.begin(), plan.operands.end(), [](const OperandPlan& operand) {
        return operand.hold == Hold::kRightTransposed ||
               (operand.hold == Hold::kRight && operand.few_rows < 0);
      });
  const auto rows =
      std::find_if(plan.free_blocks.begin(), plan.free_blocks.end(),
                   [](const FreeBlock& block) { return block.use == FreeBlock::Use::kRows; });
  if (!packs || rows == plan.free_blocks.end()) return;
  for (FreeBlock& block : plan.free_blocks) {
    if (block.use == FreeBlock::Use::kDepth) block.rows = rows->extent;
  }
}

}  // namespace

void FindFewRows(Plan& plan) {
  const Kernel& kernel = *plan.kernel;
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    OperandPlan& operand = plan.operands[r];
    const int ref = static_cast<int>(r);
    if (operand.hold != OperandPlan::Hold::kRight) continue;
    if (!IsMultipliedAsItLies(kernel.refs[r].dtype)) continue;
    if (kernel.BorrowerOf(ref) >= 0) continue;  // what lies there may change while it is needed
    const std::set<int> spaces = SpacesOfRowsThatMeet(plan, ref);
    if (spaces.size() == 1) operand.few_rows = *spaces.begin();
  }
  FindRowsOfDepth(plan);
}

}  // namespace kiln
