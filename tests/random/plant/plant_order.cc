#include "tests/random/plant/planters.h"

/// Faults of the order in which steps come to a block.
namespace kiln::soak {
namespace {

/// An arbitrary axis that some output does not walk; -1: none.
int CarriedAxis(const Draft& draft, const Case& of) {
  for (size_t a = 0; a < draft.axes.size(); ++a) {
    if (draft.axes[a].parallel || StepsOf(of, draft.axes[a].name) < 2) continue;
    for (const OperandDraft& operand : draft.operands) {
      std::vector<Key> keys = operand.keys;
      const Key* index = FindKey(keys, "index");
      const Key* memory = FindKey(keys, "memory");
      const bool walks = index && index->value.find(draft.axes[a].name) != std::string::npos;
      const bool table = index && index->value.find_first_of("ql") != std::string::npos;
      if (operand.output && !walks && !table && !(memory && memory->value == "any"))
        return static_cast<int>(a);
    }
  }
  return -1;
}

bool ParallelReduction(Draft& draft, const Case& of, Dice&) {
  const int axis = CarriedAxis(draft, of);
  if (axis < 0) return false;
  for (int a = 0; a <= axis; ++a) draft.axes[static_cast<size_t>(a)].parallel = true;
  return true;
}

bool Walks(const OperandDraft& operand, const AxisDraft& axis) {
  std::vector<Key> keys = operand.keys;
  const Key* index = FindKey(keys, "index");
  return index && index->value.find(axis.name) != std::string::npos;
}

/// An axis that an output walks comes to stand inside of one that it does not.
bool ReductionOutermost(Draft& draft, const Case& of, Dice&) {
  const auto has_steps = [&](const AxisDraft& axis) { return StepsOf(of, axis.name) >= 2; };
  for (const OperandDraft& operand : draft.operands) {
    std::vector<Key> keys = operand.keys;
    const Key* memory = FindKey(keys, "memory");
    if (!operand.output || FindKey(keys, "alias") || (memory && memory->value == "any")) continue;
    for (size_t inner = 1; inner < draft.axes.size(); ++inner) {
      AxisDraft& carried = draft.axes[inner];
      if (Walks(operand, carried) || carried.parallel || !has_steps(carried)) continue;
      // A table or a let may stand for the axis.
      const Key* index = FindKey(keys, "index");
      if (!index || index->value.find_first_of("ql") != std::string::npos) continue;
      for (size_t outer = 0; outer < inner; ++outer) {
        AxisDraft& walked = draft.axes[outer];
        if (!Walks(operand, walked) || !has_steps(walked)) continue;
        std::swap(walked, carried);
        // No parallel axis stands behind an arbitrary one.
        for (size_t a = outer; a < draft.axes.size(); ++a) draft.axes[a].parallel = false;
        return true;
      }
    }
  }
  return false;
}

bool AliasedTooLate(Draft& draft, const Case& of, Dice&) {
  for (const OperandDraft& output : draft.operands) {
    std::vector<Key> keys = output.keys;
    const Key* alias = FindKey(keys, "alias");
    if (!alias) continue;
    for (const Place& place : Walks(draft, of, false, 2)) {
      const OperandDraft& input = draft.operands[place.operand];
      std::vector<Key> of_input = input.keys;
      // The output walks as the input does, or does not come to the block that is asked for late.
      const Key* index = FindKey(keys, "index");
      if (input.name != alias->value || !index || index->value != FindKey(of_input, "index")->value)
        continue;
      const AxisDraft& axis = draft.axes[place.axis];
      SetIndex(draft, place, axis.steps + " - 1 - " + axis.name);
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Planter> OrderPlanters() {
  return {
      {"parallel axis with a carried dependence", {"race"}, ParallelReduction, "grid of 2 axes"},
      {"block left and revisited", {"revisit", "alias"}, ReductionOutermost, "grid of 3 axes"},
      {"alias hazard", {"alias", "race"}, AliasedTooLate, "key operand.alias"},
  };
}

}  // namespace kiln::soak
