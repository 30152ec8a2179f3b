#include "tests/random/plant/planters.h"

/// Faults of index maps and of the tables that they read.
namespace kiln::soak {
namespace {

std::string BlockAt(Draft& draft, const Place& place) {
  return Split(FindKey(draft.operands[place.operand].keys, "block")->value)[place.dimension];
}

bool IndexPlusOne(Draft& draft, const Case& of, Dice& dice) {
  const std::vector<Place> places = Walks(draft, of, false, 1);
  if (places.empty()) return false;
  const Place place = dice.Pick(places);
  SetIndex(draft, place, draft.axes[place.axis].name + " + 1");
  return true;
}

bool IndexMinusOne(Draft& draft, const Case& of, Dice& dice) {
  const std::vector<Place> places = Walks(draft, of, dice.Chance(0.3), 1);
  if (places.empty()) return false;
  const Place place = dice.Pick(places);
  SetIndex(draft, place, draft.axes[place.axis].name + " - 1");
  return true;
}

bool IndexInElements(Draft& draft, const Case& of, Dice& dice) {
  std::vector<Place> places;
  for (const Place& place : Walks(draft, of, false, 2)) {
    const std::string block = BlockAt(draft, place);
    const Key* param = FindKey(draft.params, block);
    const int64_t size = std::atoll((param ? param->value : block).c_str());
    if (size >= 2 && draft.instances.empty() && draft.extra.empty()) places.push_back(place);
  }
  if (places.empty()) return false;
  const Place place = dice.Pick(places);
  SetIndex(draft, place, draft.axes[place.axis].name + " * " + BlockAt(draft, place));
  return true;
}

bool IndexConstant(Draft& draft, const Case& of, Dice& dice) {
  std::vector<Place> places;
  for (const Place& place : Walks(draft, of, true, 2)) {
    std::vector<Key> keys = draft.operands[place.operand].keys;
    if (!FindKey(keys, "init") && !FindKey(keys, "alias")) places.push_back(place);
  }
  if (places.empty()) return false;
  SetIndex(draft, dice.Pick(places), "0");
  return true;
}

bool TableTooLarge(Draft& draft, const Case& of, Dice& dice) {
  std::vector<std::string> tables;
  for (const OperandDraft& operand : draft.operands) {
    std::vector<Key> keys = operand.keys;
    const Key* index = FindKey(keys, "index");
    if (!index || operand.output || !operand.alternatives.empty()) continue;
    for (const std::string& entry : Split(index->value)) {
      if (entry[0] == 'q' &&
          draft.fills[entry.substr(0, entry.find('['))].kind == Fill::Kind::kInteger)
        tables.push_back(entry.substr(0, entry.find('[')));
    }
  }
  if (tables.empty() || of.binding->StepCount() == 0) return false;
  Fill& fill = draft.fills[dice.Pick(tables)];
  fill.low = fill.high = 100;
  return true;
}

bool TableReadPastItsEnd(Draft& draft, const Case& of, Dice&) {
  for (OperandDraft& operand : draft.operands) {
    Key* index = FindKey(operand.keys, "index");
    if (!index || operand.output || !operand.alternatives.empty()) continue;
    for (const AxisDraft& axis : draft.axes) {
      const std::string at = "[" + axis.name + "]";
      const size_t found = index->value.find(at);
      if (found == std::string::npos || StepsOf(of, axis.name) < 1) continue;
      index->value.replace(found, at.size(), "[" + axis.name + " + 1]");
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Planter> IndexPlanters() {
  return {
      // With an input that the output takes over, [alias] comes first.
      {"block index past the end", {"index-range", "race", "alias"}, IndexPlusOne},
      {"block index before the start", {"index-range"}, IndexMinusOne},
      {"index map in elements", {"index-range"}, IndexInElements},
      {"output that stays where it is",
       {"coverage", "race", "revisit", "undefined"},
       IndexConstant},
      {"table of blocks that are not there",
       {"index-range"},
       TableTooLarge,
       "layout lookup in an index map"},
      // Steps before the last have another block than masks are made for.
      {"table read past its end",
       {"index-range", "tail", "undefined", "race", "alias"},
       TableReadPastItsEnd,
       "layout lookup in an index map"},
  };
}

}  // namespace kiln::soak
