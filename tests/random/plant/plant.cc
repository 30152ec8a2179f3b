#include "tests/random/plant/plant.h"

#include <algorithm>

#include "tests/random/plant/planters.h"

/// Each planter looks for a place where its fault is surely one.
namespace kiln::soak {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// Steps that a scalar or a prefetch array says: "c3", "c3[1]".
bool IsOfHost(const std::string& steps) {
  return steps[0] == 'c' && steps[1] >= '0' && steps[1] <= '9';
}

}  // namespace

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

int64_t StepsOf(const Case& of, const std::string& axis) {
  const int a = of.kernel->FindAxis(axis);
  return a < 0 ? 0 : of.binding->steps[static_cast<size_t>(a)];
}

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
        if (entries[d] != axis.name || IsOfHost(axis.steps) || blocks[d].rfind("element", 0) == 0)
          continue;
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

bool AddWitness(Draft& draft, const std::string& type, const Statement& of) {
  // Steps store an element each, which two of 4 bits in a byte forbid: those are stored as bytes.
  std::string dtype = type;
  Statement store = of;
  if (type == "i4" || type == "u4") {
    dtype = type.substr(0, 1) + "8";
    store.text = "wit = " + dtype + "($0)";
  }
  std::vector<std::string> array, block, index;
  for (const AxisDraft& axis : draft.axes) {
    if (IsOfHost(axis.steps)) return false;
    array.push_back(axis.steps);
    block.push_back("null");
    index.push_back(axis.name);
  }
  if (std::any_of(draft.extra.begin(), draft.extra.end(),
                  [](const auto& key) { return key.first == "vmap"; }))
    return false;
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

const std::vector<Planter>& Planters() {
  static const std::vector<Planter> planters = [] {
    std::vector<Planter> all;
    for (const auto& group :
         {IndexPlanters(), OrderPlanters(), ValuePlanters(), MemoryPlanters(), TextPlanters()})
      all.insert(all.end(), group.begin(), group.end());
    return all;
  }();
  return planters;
}

size_t FaultOf(uint64_t number) {
  Dice dice(number ^ 0xFA17);
  return static_cast<size_t>(dice.Between(0, static_cast<int64_t>(Planters().size()) - 1));
}

std::optional<Draft> WithFault(const Draft& draft, uint64_t number, bool any) {
  const auto of = Prepare(draft);
  if (!of->binding || of->found.HasErrors()) return std::nullopt;
  if (of->binding->StepCount() == 0) return std::nullopt;  // where no step comes, little is wrong
  Dice dice(number ^ 0xFA18);
  const std::vector<Planter>& planters = Planters();
  const size_t wanted = FaultOf(number);
  for (size_t p = 0; p < (any ? planters.size() : 1); ++p) {
    const Planter& planter = planters[(wanted + p) % planters.size()];
    Draft faulty = draft;
    if (!planter.plant(faulty, *of, dice)) continue;
    faulty.fault = Fault{planter.kind, planter.rules};
    return faulty;
  }
  return std::nullopt;
}

}  // namespace kiln::soak
