#include "tests/random/plant.h"

#include <algorithm>

/// Each planter looks for a place where its fault is surely one.
namespace kiln::soak {
namespace {

using Block = std::vector<Statement>;

Key* FindKey(std::vector<Key>& keys, const std::string& name) {
  for (Key& key : keys) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else if (c != ' ' || !parts.back().empty())
      parts.back() += c;
  }
  return parts;
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

struct Place {
  size_t operand = 0, dimension = 0, axis = 0;
};

int64_t StepsOf(const Case& of, const std::string& axis) {
  const int a = of.kernel->FindAxis(axis);
  return a < 0 ? 0 : of.binding->steps[static_cast<size_t>(a)];
}

/// Steps that a scalar or a prefetch array says: "c3", "c3[1]".
bool IsOfHost(const std::string& steps) {
  return steps[0] == 'c' && steps[1] >= '0' && steps[1] <= '9';
}

/// Where an operand's index is just an axis of so many steps at least, that walks its dimension.
std::vector<Place> Walks(const Draft& draft, const Case& of, bool output, int64_t least) {
  std::vector<Place> places;
  for (size_t o = 0; o < draft.operands.size(); ++o) {
    if (draft.operands[o].output != output || !draft.operands[o].alternatives.empty()) continue;
    std::vector<Key> keys = draft.operands[o].keys;
    const Key* index = FindKey(keys, "index");
    const Key* block = FindKey(keys, "block");
    if (!index || !block || block->value[0] == '[') continue;
    const std::vector<std::string> entries = Split(index->value), blocks = Split(block->value);
    for (size_t d = 0; d < entries.size(); ++d) {
      for (size_t a = 0; a < draft.axes.size(); ++a) {
        const AxisDraft& axis = draft.axes[a];
        // The steps of host values may be fewer than the array has blocks.
        if (entries[d] != axis.name || IsOfHost(axis.steps) || blocks[d].rfind("element", 0) == 0) continue;
        if (StepsOf(of, axis.name) >= least) places.push_back({o, d, a});
      }
    }
  }
  return places;
}

void SetIndex(Draft& draft, const Place& place, const std::string& text) {
  Key* index = FindKey(draft.operands[place.operand].keys, "index");
  std::vector<std::string> entries = Split(index->value);
  entries[place.dimension] = text;
  index->value = Join(entries);
}

std::string BlockAt(Draft& draft, const Place& place) {
  return Split(FindKey(draft.operands[place.operand].keys, "block")->value)[place.dimension];
}

/// An output of which every step stores its own element: what faults are to reach. False where the
/// grid's steps are not known to shapes.
bool AddWitness(Draft& draft, const std::string& dtype, const Statement& store) {
  std::vector<std::string> array, block, index;
  for (const AxisDraft& axis : draft.axes) {
    if (IsOfHost(axis.steps)) return false;
    array.push_back(axis.steps);
    block.push_back("null");
    index.push_back(axis.name);
  }
  if (std::any_of(draft.extra.begin(), draft.extra.end(), [](const auto& key) { return key.first == "vmap"; })) return false;
  OperandDraft witness;
  witness.name = "wit";
  witness.output = true;
  witness.keys = {{"array", array.empty() ? dtype : dtype + "[" + Join(array) + "]"}};
  if (!array.empty()) {
    witness.keys.push_back({"block", Join(block)});
    witness.keys.push_back({"index", Join(index)});
  }
  draft.operands.push_back(witness);
  draft.body.push_back(store);
  return true;
}

std::string AnyType(Dice& dice) {
  return dice.Pick({"f32", "i32", "bf16", "u8", "f16", "i16", "i64", "f64", "u32", "i8", "u16"});
}

// Index maps.

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
      if (entry[0] == 'q' && draft.fills[entry.substr(0, entry.find('['))].kind == Fill::Kind::kInteger)
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

// Orders.

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
      if (operand.output && !walks && !table && !(memory && memory->value == "any")) return static_cast<int>(a);
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
    if (index->value.find(draft.axes[static_cast<size_t>(axis)].name) != std::string::npos) continue;
    for (int a = 0; a < axis; ++a) {
      const AxisDraft& before = draft.axes[static_cast<size_t>(a)];
      if (before.parallel || StepsOf(of, before.name) < 2 || index->value.find(before.name) == std::string::npos) continue;
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
      if (input.name != alias->value || !index || index->value != FindKey(of_input, "index")->value) continue;
      const AxisDraft& axis = draft.axes[place.axis];
      SetIndex(draft, place, axis.steps + " - 1 - " + axis.name);
      return true;
    }
  }
  return false;
}

// Values.

bool NoFirstValue(Draft& draft, const Case& of, Dice&) {
  for (size_t s = 0; s + 1 < draft.body.size(); ++s) {
    const Statement& statement = draft.body[s];
    if (statement.text.rfind("when first(", 0) != 0 || statement.body.size() != 1) continue;
    const std::string name = statement.body[0].text.substr(0, statement.body[0].text.find(' '));
    const std::string& next = draft.body[s + 1].text;
    if (next.rfind(name + " +=", 0) != 0 && next.rfind(name + " -=", 0) != 0) continue;
    if (of.binding->StepCount() == 0) continue;
    draft.body.erase(draft.body.begin() + static_cast<long>(s));
    return true;
  }
  return false;
}

bool ScratchNeverSet(Draft& draft, const Case& of, Dice& dice) {
  const std::string type = AnyType(dice);
  draft.scratch.push_back({"unset", {{"", type + "[5]"}}});
  return of.binding->StepCount() > 0 &&
         AddWitness(draft, type, {"wit = $0", {{dice.Pick({"unset[1]", "max(unset)", "unset[ds(2, 1)][0]"}), {}}}, {}, {}});
}

bool SumOverEdge(Draft& draft, const Case& of, Dice& dice) {
  for (const Place& place : Walks(draft, of, false, 1)) {
    OperandDraft& operand = draft.operands[place.operand];
    const int ref = of.kernel->FindRef(operand.name);
    const Ref& input = of.kernel->refs[static_cast<size_t>(ref)];
    const int64_t extent = of.binding->arrays[static_cast<size_t>(ref)][place.dimension];
    const BlockDim& dim = input.block[place.dimension];
    if (dim.kind != BlockDim::Kind::kBlocked || extent % dim.size.Constant().value_or(1) == 0) continue;
    if (FindKey(operand.keys, "pad") || FindKey(operand.keys, "view") || !draft.extra.empty() || !draft.instances.empty()) continue;
    if (input.dtype == DType::kBool) continue;
    const std::string reduce = dice.Pick({"sum", "max", "min"});
    const std::string type = std::string(Name(reduce == "sum" ? ComputeType(input.dtype) : input.dtype));
    return AddWitness(draft, type, {"wit = $0", {{reduce + "($0)", {{operand.name, {}}}}}, {}, {}});
  }
  return false;
}

bool StoredInOneStep(Draft& draft, const Case& of, Dice&) {
  for (const Place& place : Walks(draft, of, true, 2)) {
    OperandDraft& operand = draft.operands[place.operand];
    if (FindKey(operand.keys, "init") || FindKey(operand.keys, "alias")) continue;
    size_t stores = 0;
    Statement* whole = nullptr;
    for (Statement& statement : draft.body) {
      Draft alone;
      alone.body = {statement};
      const bool names = Write(alone).find(operand.name) != std::string::npos;
      stores += names;
      if (statement.text == operand.name + " = $0") whole = &statement;
    }
    if (!whole || stores != 1) continue;
    const Statement store = *whole;
    *whole = {"when " + draft.axes[place.axis].name + " == 0:", {}, {store}, {}};
    return true;
  }
  return false;
}

bool SubscriptPastTheEnd(Draft& draft, const Case& of, Dice& dice) {
  std::vector<int> inputs;
  for (size_t r = 0; r < of.kernel->refs.size(); ++r) {
    const Ref& ref = of.kernel->refs[r];
    if (ref.role == Role::kInput && ref.memory == Memory::kVmem && !ref.view.empty()) inputs.push_back(static_cast<int>(r));
  }
  if (inputs.empty() || of.binding->StepCount() == 0) return false;
  const int r = dice.Pick(inputs);
  const Ref& ref = of.kernel->refs[static_cast<size_t>(r)];
  const int64_t extent = of.binding->views[static_cast<size_t>(r)][0];
  std::string at = std::to_string(extent);
  if (!draft.axes.empty()) at = draft.axes[0].name + " - " + draft.axes[0].name + " + " + at;
  for (size_t d = 1; d < ref.view.size(); ++d) at += ", 0";
  return AddWitness(draft, std::string(Name(ref.dtype)), {"wit = $0", {{ref.name + "[" + at + "]", {}}}, {}, {}});
}

// Memory and copies.

bool TooMuchVmem(Draft& draft, const Case&, Dice&) {
  draft.scratch.push_back({"huge", {{"", "f32[2048, 2176]"}}});
  draft.body.push_back({"huge[0, 0] = 1", {}, {}, {}});
  return true;
}

bool TooMuchSmem(Draft& draft, const Case&, Dice&) {
  draft.scratch.push_back({"huge", {{"array", "i32[270000]"}, {"memory", "smem"}}});
  draft.body.push_back({"huge[0] = 1", {}, {}, {}});
  return true;
}

/// The first copy into a buffer that the body itself waits for: where it stands; -1: none.
int CopyIn(const Draft& draft, const Case& of) {
  for (size_t s = 0; s < draft.body.size(); ++s) {
    if (draft.body[s].text.rfind("copy x", 0) == 0 && of.binding->StepCount() > 0) return static_cast<int>(s);
  }
  return -1;
}

std::string BufferOf(const Statement& copy) {
  const size_t at = copy.text.find("-> ") + 3;
  return copy.text.substr(at, copy.text.find(',', at) - at);
}

bool NeverWaited(Draft& draft, const Case& of, Dice&) {
  if (of.binding->StepCount() == 0) return false;
  for (size_t s = 0; s < draft.body.size(); ++s) {
    if (draft.body[s].text.rfind("wait ", 0) != 0) continue;
    draft.body.erase(draft.body.begin() + static_cast<long>(s));
    return true;
  }
  return false;
}

bool NeverStarted(Draft& draft, const Case& of, Dice&) {
  const int at = CopyIn(draft, of);
  if (at < 0) return false;
  draft.body.erase(draft.body.begin() + at);
  return true;
}

bool ReadInFlight(Draft& draft, const Case& of, Dice&) {
  const int at = CopyIn(draft, of);
  if (at < 0) return false;
  const std::string buffer = BufferOf(draft.body[static_cast<size_t>(at)]);
  const int ref = of.kernel->FindRef(buffer);
  if (ref < 0) return false;
  const Ref& scratch = of.kernel->refs[static_cast<size_t>(ref)];
  std::string element = buffer;
  for (size_t d = 0; d < scratch.view.size(); ++d) element += (d == 0 ? "[0" : ", 0");
  if (!scratch.view.empty()) element += "]";
  if (!AddWitness(draft, std::string(Name(scratch.dtype)), {"wit = $0", {{element, {}}}, {}, {}})) return false;
  const Statement store = draft.body.back();
  draft.body.pop_back();
  draft.body.insert(draft.body.begin() + at + 1, store);
  return true;
}

bool WrittenInFlight(Draft& draft, const Case& of, Dice&) {
  const int at = CopyIn(draft, of);
  if (at < 0) return false;
  const std::string buffer = BufferOf(draft.body[static_cast<size_t>(at)]);
  const int ref = of.kernel->FindRef(buffer);
  if (ref < 0) return false;
  const bool logical = of.kernel->refs[static_cast<size_t>(ref)].dtype == DType::kBool;
  draft.body.insert(draft.body.begin() + at + 1, {buffer + (logical ? " = true" : " = 1"), {}, {}, {}});
  return true;
}

// Calls and text.

bool RequireBroken(Draft& draft, const Case&, Dice&) {
  if (draft.sizes.empty()) return false;
  draft.require.push_back(draft.sizes.begin()->first + " > 100000");
  return draft.sizes.begin()->first[0] == 'n';
}

bool AssertBroken(Draft& draft, const Case& of, Dice& dice) {
  if (of.binding->StepCount() == 0 || draft.axes.empty()) return false;
  const std::string& axis = dice.Pick(draft.axes).name;
  draft.body.insert(draft.body.begin(), {"assert " + axis + " > 1000, \"there are many\"", {}, {}, {}});
  return true;
}

bool UnknownName(Draft& draft, const Case&, Dice&) {
  draft.body.push_back({"let other = nowhere + 1", {}, {}, {}});
  return true;
}

bool MixedTypes(Draft& draft, const Case&, Dice& dice) {
  draft.body.push_back({dice.Pick({"let other = i32(1) + f32(2)", "let other = u32(1) * i32(2)", "let other = 1.5 & 3",
                                   "let other = exp(i32(2))", "let other = i32(3) / i32(2)", "let other = mean(iota([4]))"}),
                        {}, {}, {}});
  return true;
}

bool OtherShapes(Draft& draft, const Case&, Dice& dice) {
  draft.body.push_back({dice.Pick({"let other = iota([3]) + iota([4])", "let other = sum(iota([3]), axis=1)",
                                   "let other = dot(f32(iota([2, 3], 0)), f32(iota([2, 3], 0)))",
                                   "let other = reshape(iota([6]), [4])", "let other = iota([3, 2], 0).mT + iota([3, 2], 0)"}),
                        {}, {}, {}});
  return true;
}

bool UnknownKey(Draft& draft, const Case&, Dice& dice) {
  draft.operands[static_cast<size_t>(dice.Between(0, static_cast<int64_t>(draft.operands.size()) - 1))].keys.push_back({"blok", "1"});
  return true;
}

bool BrokenText(Draft& draft, const Case&, Dice& dice) {
  draft.body.push_back({dice.Pick({"let other = (1 + ", "let = 3", "other ==", "for r in range:", "when true", "let other = 1 < 2 & 3 < 4"}), {}, {}, {}});
  return true;
}

bool SplitByYaml(Draft& draft, const Case&, Dice&) {
  draft.scratch.push_back({"split", {{"", "{array: f32[3, 4]}"}}});
  return true;
}

}  // namespace

const std::vector<Planter>& Planters() {
  static const std::vector<Planter> planters = {
      {"block index past the end", {"index-range"}, IndexPlusOne},
      {"block index before the start", {"index-range"}, IndexMinusOne},
      {"index map in elements", {"index-range"}, IndexInElements},
      {"output that stays where it is", {"coverage", "race", "revisit"}, IndexConstant},
      {"table of blocks that are not there", {"index-range"}, TableTooLarge},
      {"table read past its end", {"index-range"}, TableReadPastItsEnd},
      {"parallel axis with a carried dependence", {"race"}, ParallelReduction},
      {"block left and revisited", {"revisit"}, ReductionOutermost},
      {"alias hazard", {"alias", "race"}, AliasedTooLate},
      {"missing initialisation", {"undefined"}, NoFirstValue},
      // Integers have no NaN that tells what is undefined from what is not stored: docs/emulator.md.
      {"read of memory that nothing has set", {"undefined", "coverage"}, ScratchNeverSet},
      {"padding leaks into a reduction", {"tail"}, SumOverEdge},
      {"element that no step stores", {"coverage"}, StoredInOneStep},
      {"subscript past the end", {"index-range"}, SubscriptPastTheEnd},
      {"VMEM over budget", {"tier"}, TooMuchVmem},
      {"SMEM over budget", {"tier"}, TooMuchSmem},
      {"semaphore never waited", {"sync"}, NeverWaited},
      {"semaphore never signalled", {"sync"}, NeverStarted},
      {"read before wait", {"sync"}, ReadInFlight},
      {"slot overwritten in flight", {"sync"}, WrittenInFlight},
      {"call that `require` refuses", {"call"}, RequireBroken},
      {"assertion that does not hold", {"assert"}, AssertBroken},
      {"unknown name", {"name"}, UnknownName},
      {"mixed types", {"type"}, MixedTypes},
      {"shapes that do not fit", {"shape"}, OtherShapes},
      {"unknown key", {"key"}, UnknownKey},
      {"broken text", {"syntax"}, BrokenText},
      {"value that YAML splits", {"yaml-split"}, SplitByYaml},
  };
  return planters;
}

Draft WithFault(const Draft& draft, uint64_t number) {
  const auto of = Prepare(draft);
  if (!of->binding || of->found.HasErrors()) return draft;
  Dice dice(number ^ 0xFA17);
  const std::vector<Planter>& planters = Planters();
  for (size_t p = 0; p < planters.size(); ++p) {
    const Planter& planter = planters[(number + p) % planters.size()];
    Draft faulty = draft;
    if (!planter.plant(faulty, *of, dice)) continue;
    faulty.fault = Fault{planter.kind, planter.rules};
    return faulty;
  }
  return draft;
}

}  // namespace kiln::soak
