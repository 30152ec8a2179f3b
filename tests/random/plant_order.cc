#include "tests/random/planters.h"

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

bool ReductionOutermost(Draft& draft, const Case& of, Dice&) {
  const int axis = CarriedAxis(draft, of);
  if (axis < 1) return false;
  // Some axis before it is walked by the output that does not walk it.
  for (const OperandDraft& operand : draft.operands) {
    std::vector<Key> keys = operand.keys;
    const Key* index = FindKey(keys, "index");
    if (!operand.output || !index || FindKey(keys, "alias")) continue;
    if (index->value.find(draft.axes[static_cast<size_t>(axis)].name) != std::string::npos)
      continue;
    for (int a = 0; a < axis; ++a) {
      const AxisDraft& before = draft.axes[static_cast<size_t>(a)];
      if (before.parallel || StepsOf(of, before.name) < 2 ||
          index->value.find(before.name) == std::string::npos)
        continue;
      std::swap(draft.axes[static_cast<size_t>(a)], draft.axes[static_cast<size_t>(axis)]);
      return true;
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
      {"parallel axis with a carried dependence", {"race"}, ParallelReduction},
      {"block left and revisited", {"revisit"}, ReductionOutermost},
      {"alias hazard", {"alias", "race"}, AliasedTooLate},
  };
}

}  // namespace kiln::soak
