#include <algorithm>

#include "tests/random/plant/planters.h"

/// Faults of what is read before it is set, or past an edge.
namespace kiln::soak {
namespace {

std::string AnyType(Dice& dice) {
  return dice.Pick({"f32", "i32", "bf16", "u8", "f16", "i16", "i64", "f64", "u32", "i8", "u16",
                    "f8e4m3fn", "f8e5m2", "f8e8m0fnu"});
}

/// Whether statements from that one on may store all of a ref, be it in pieces.
bool IsStored(const std::vector<Statement>& body, size_t from, const std::string& name) {
  for (size_t s = from; s < body.size(); ++s) {
    const std::string& text = body[s].text;
    const bool whole = text.rfind(name + " = ", 0) == 0;
    const bool window = text.rfind(name + "[", 0) == 0 && text.find("] = ") != std::string::npos;
    if (whole || window || IsStored(body[s].body, 0, name) || IsStored(body[s].orelse, 0, name))
      return true;
  }
  return false;
}

bool NoFirstValue(Draft& draft, const Case& of, Dice&) {
  for (size_t s = 0; s + 1 < draft.body.size(); ++s) {
    const Statement& statement = draft.body[s];
    if (statement.text.rfind("when first(", 0) != 0 || statement.body.size() != 1) continue;
    const std::string name = statement.body[0].text.substr(0, statement.body[0].text.find(' '));
    const std::string& next = draft.body[s + 1].text;
    if (next.rfind(name + " +=", 0) != 0 && next.rfind(name + " -=", 0) != 0) continue;
    if (of.binding->StepCount() == 0) continue;
    // Outputs that begin as something, or whose undefined elements are none of our business.
    const int at = of.kernel->FindRef(name);
    if (at >= 0) {
      const Ref& ref = of.kernel->refs[static_cast<size_t>(at)];
      if (ref.init_undefined || ref.init || ref.alias >= 0) continue;
    }
    if (IsStored(draft.body, s + 1, name)) continue;
    // Of numbers, all but one are the same bool.
    const bool logical = std::any_of(
        of.kernel->refs.begin(), of.kernel->refs.end(),
        [](const Ref& r) { return r.role == Role::kOutput && r.dtype == DType::kBool; });
    if (logical) continue;
    draft.body.erase(draft.body.begin() + static_cast<long>(s));
    return true;
  }
  return false;
}

bool ScratchNeverSet(Draft& draft, const Case& of, Dice& dice) {
  const std::string type = AnyType(dice);
  draft.scratch.push_back({"unset", {{"", type + "[5]"}}});
  return of.binding->StepCount() > 0 &&
         AddWitness(draft, type,
                    {"wit = $0",
                     {{dice.Pick({"unset[1]", "max(unset)", "unset[ds(2, 1)][0]"}), {}}},
                     {},
                     {}});
}

bool SumOverEdge(Draft& draft, const Case& of, Dice& dice) {
  for (const Place& place : Walks(draft, of, false, 1)) {
    OperandDraft& operand = draft.operands[place.operand];
    const int ref = of.kernel->FindRef(operand.name);
    const Ref& input = of.kernel->refs[static_cast<size_t>(ref)];
    const int64_t extent = of.binding->arrays[static_cast<size_t>(ref)][place.dimension];
    const BlockDim& dim = input.block[place.dimension];
    if (dim.kind != BlockDim::Kind::kBlocked || extent % dim.size.Constant().value_or(1) == 0)
      continue;
    if (FindKey(operand.keys, "pad") || FindKey(operand.keys, "view") || !draft.extra.empty() ||
        !draft.instances.empty())
      continue;
    if (input.dtype == DType::kBool) continue;
    // NaN, infinities and the least integers are the answer whatever else there is.
    draft.fills[operand.name] = {Fill::Kind::kInteger, 1, 4, 1};
    const std::string reduce = dice.Pick({"sum", "max", "min"});
    const std::string type =
        std::string(Name(reduce == "sum" ? ComputeType(input.dtype) : input.dtype));
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
    if (ref.role == Role::kInput && ref.memory == Memory::kVmem && !ref.view.empty())
      inputs.push_back(static_cast<int>(r));
  }
  if (inputs.empty() || of.binding->StepCount() == 0) return false;
  const int r = dice.Pick(inputs);
  const Ref& ref = of.kernel->refs[static_cast<size_t>(r)];
  const int64_t extent = of.binding->views[static_cast<size_t>(r)][0];
  std::string at = std::to_string(extent);
  if (!draft.axes.empty()) at = draft.axes[0].name + " - " + draft.axes[0].name + " + " + at;
  for (size_t d = 1; d < ref.view.size(); ++d) at += ", 0";
  return AddWitness(draft, std::string(Name(ref.dtype)),
                    {"wit = $0", {{ref.name + "[" + at + "]", {}}}, {}, {}});
}

/// Of a tile of indices one names nothing, be it by one.
bool TakenPastTheEnd(Draft& draft, const Case&, Dice& dice) {
  const std::string ids = dice.Pick({"iota([2]) + 2", "iota([2]) - 1", "clamp(iota([9]), 1, 3)"});
  return AddWitness(draft, "i32", {"wit = sum(take(iota([3]), " + ids + "))", {}, {}, {}});
}

}  // namespace

std::vector<Planter> ValuePlanters() {
  return {
      // Integers have no NaN that separates what is undefined from what is not stored:
      // docs/emulator.md.
      {"missing initialisation", {"undefined", "coverage"}, NoFirstValue},
      {"read of memory that nothing has set", {"undefined", "coverage"}, ScratchNeverSet},
      // So it is where zeros past an edge change nothing of integers.
      {"padding leaks into a reduction", {"tail", "undefined"}, SumOverEdge},
      {"element that no step stores", {"coverage"}, StoredInOneStep},
      {"subscript past the end", {"index-range"}, SubscriptPastTheEnd},
      {"index of take that names nothing", {"index-range"}, TakenPastTheEnd},
  };
}

}  // namespace kiln::soak
