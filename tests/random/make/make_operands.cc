#include <algorithm>
#include <cmath>

#include "tests/random/make/maker.h"

/// Operands: arrays that walk the grid, and what their keys can say.
namespace kiln::soak {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

int64_t Elements(const std::vector<DimPlan>& plans) {
  int64_t count = 1;
  for (const DimPlan& plan : plans) count *= std::max<int64_t>(plan.extent, 1);
  return count;
}

bool IsRagged(const RefInfo& ref) {
  return std::any_of(ref.edges.begin(), ref.edges.end(),
                     [](const std::string& edge) { return !edge.empty(); });
}

}  // namespace

/// Those of another operand with something changed, so that shapes agree.
std::vector<DimPlan> Maker::AlikeDims() {
  std::vector<DimPlan> plans = dice_.Pick(plans_);
  if (plans.size() > 1 && dice_.Chance(0.3))
    plans.erase(plans.begin() + dice_.Between(0, static_cast<int64_t>(plans.size()) - 1));
  if (plans.size() > 1 && dice_.Chance(0.2)) std::swap(plans.front(), plans.back());
  if (dice_.Chance(0.35)) {
    const DimPlan more = dice_.Chance(0.7) ? WholeDim() : ConstantDim();
    if (plans.size() < 5 && Elements(plans) * more.extent <= kMostElements)
      plans.insert(plans.begin() + dice_.Between(0, static_cast<int64_t>(plans.size())), more);
  }
  for (DimPlan& plan : plans) {
    if (plan.axis < 0 || !dice_.Chance(0.2)) continue;
    const DimPlan other = Reread(static_cast<size_t>(plan.axis));
    if (Elements(plans) / std::max<int64_t>(plan.extent, 1) * other.extent <= kMostElements)
      plan = other;
  }
  return plans;
}

std::vector<DimPlan> Maker::InputDims() {
  if (!plans_.empty() && dice_.Chance(0.7)) return AlikeDims();
  std::vector<DimPlan> plans;
  const size_t rank = dice_.Weighted({4, 25, 45, 20, 6});
  std::vector<size_t> order;
  for (size_t a = 0; a < axes_.size(); ++a) order.push_back(a);
  if (dice_.Chance(0.3)) {
    for (size_t a = order.size(); a > 1; --a)
      std::swap(order[a - 1],
                order[static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(a) - 1))]);
  }
  for (size_t d = 0, a = 0; d < rank; ++d) {
    if (a < order.size() && dice_.Chance(0.75)) {
      plans.push_back(dice_.Chance(0.75) ? Ride(order[a]) : Reread(order[a]));
      ++a;
    } else {
      plans.push_back(dice_.Chance(0.75) ? WholeDim() : ConstantDim());
    }
    if (Elements(plans) > kMostElements) plans.pop_back();
  }
  return plans;
}

/// Dimensions that walk each of the first `axes` axes once.
std::vector<DimPlan> Maker::OutputDims(size_t axes) {
  std::vector<DimPlan> plans;
  for (size_t a = 0; a < axes; ++a) {
    if (axes_[a].steps == 1 && axes_[a].kind == AxisInfo::Kind::kCount && dice_.Chance(0.3))
      continue;
    plans.push_back(Ride(a));
  }
  const int64_t more = dice_.Chance(0.45) ? 0 : dice_.Between(0, 2);
  for (int64_t d = 0; d < more && plans.size() < 5; ++d) {
    const DimPlan plan = dice_.Chance(0.75) ? WholeDim() : ConstantDim();
    if (Elements(plans) * plan.extent > kMostElements) continue;
    plans.insert(plans.begin() + dice_.Between(0, static_cast<int64_t>(plans.size())), plan);
  }
  if (plans.size() > 1 && dice_.Chance(0.2)) std::swap(plans.front(), plans.back());
  return plans;
}

void Maker::FillInput(const std::string& name, DType dtype, Facts& facts) {
  Fill fill;
  fill.share = dice_.Chance(0.15) ? 0.3 : 1;
  if (IsFloat(dtype)) {
    const size_t kind = dice_.Weighted({6, 2, 1.5, 0.7});
    fill.kind = static_cast<Fill::Kind>(kind);
    if (fill.kind == Fill::Kind::kUniform) {
      fill.low = -1;
      fill.high = 1;
    }
    facts.bound = fill.kind == Fill::Kind::kSpecial ? kUnbounded : static_cast<double>(fill.high);
    facts.grain = fill.kind == Fill::Kind::kInteger    ? 1
                  : fill.kind == Fill::Kind::kQuarters ? 0.25
                                                       : 0;
    if (RowOf(dtype).powers) {
      facts.bound = std::exp2(facts.bound);
      facts.grain = fill.kind == Fill::Kind::kSpecial ? 0 : std::exp2(fill.low);
    }
  } else if (dtype != DType::kBool) {
    if (IsUnsigned(dtype)) fill.low = 0;
    if (dice_.Chance(0.15)) fill.kind = Fill::Kind::kSpecial;
    if (fill.kind == Fill::Kind::kInteger) facts.bound = 4;
  }
  draft_.fills[name] = fill;
}

/// `like: o` in place of block and index, if that says the same: every dimension that is not whole
/// is one of the other's, by name.
std::string Maker::LikeWhom(const std::vector<DimPlan>& plans) const {
  for (size_t o = 0; o < plans_.size(); ++o) {
    if (likes_.count(refs_[o].name)) continue;
    bool same = !plans.empty();
    for (size_t d = 0; d < plans.size(); ++d) {
      const DimPlan& plan = plans[d];
      const bool constant = plan.array[0] != 'n';  // a number or a param
      const auto named = [&](const DimPlan& other) { return other.array == plan.array; };
      const auto other = std::find_if(plans_[o].begin(), plans_[o].end(), named);
      const int64_t twice = std::count_if(plans.begin(), plans.end(), named) +
                            std::count_if(plans_[o].begin(), plans_[o].end(), named);
      if (twice > 2 || plan.array.find(' ') != std::string::npos || constant) same = false;
      if (other == plans_[o].end()) {
        same = same && plan.block == "all";
      } else {
        same = same && other->block == plan.block && other->index == plan.index;
      }
    }
    if (same) return refs_[o].name;
  }
  return "";
}

RefInfo Maker::RefOf(const std::string& name, const std::vector<DimPlan>& plans,
                     DType dtype) const {
  RefInfo ref;
  ref.name = name;
  ref.dtype = dtype;
  ref.whole_index = true;
  for (const DimPlan& plan : plans) {
    ref.array.push_back(plan.array);
    if (!plan.view) continue;
    ref.view.push_back(*plan.view);
    ref.edges.push_back(plan.edge);
  }
  ref.facts = FactsOf(dtype, ref.view.size());
  return ref;
}

/// Its block and index.
void Maker::AddWindow(const std::vector<DimPlan>& plans, bool written, std::vector<Key>& keys) {
  std::vector<std::string> block, index;
  for (const DimPlan& plan : plans) {
    block.push_back(plan.block);
    index.push_back(plan.index);
  }
  const bool blocked = std::any_of(plans.begin(), plans.end(),
                                   [](const DimPlan& plan) { return plan.block != "all"; });
  if (plans.empty() || (!blocked && !written)) return;
  const bool list = std::none_of(block.begin(), block.end(), [](const std::string& entry) {
    return entry.find('(') != std::string::npos;
  });
  keys.push_back({"block", list && dice_.Chance(0.15) ? "[" + Join(block) + "]" : Join(block)});
  keys.push_back({"index", Join(index)});
}

void Maker::AddOperand(const std::vector<DimPlan>& plans, DType dtype, bool output) {
  OperandDraft operand;
  operand.name = Name(output ? "o" : "x");
  operand.output = output;
  RefInfo ref = RefOf(operand.name, plans, dtype);
  ref.role = output ? RefInfo::Role::kOutput : RefInfo::Role::kInput;
  ref.readable = !output;
  const std::string type = std::string(kiln::Name(dtype));
  operand.keys.push_back({"array", plans.empty() ? type : type + "[" + Join(ref.array) + "]"});
  const std::string like = !output && Want("key operand.like", 0.15) ? LikeWhom(plans) : "";
  if (!like.empty()) {
    operand.keys.push_back({"like", like});
    likes_.insert(operand.name);
  } else {
    AddWindow(plans, dice_.Chance(0.3), operand.keys);
  }
  if (output) {
    ref.loose =
        IsFloat(dtype) && dice_.Chance(AsksForRounding() || AsksForSpecialFloats() ? 0.95 : 0.3);
    draft_.exact[ref.name] = !ref.loose;
  } else {
    FillInput(ref.name, dtype, ref.facts);
    if (Want("key operand.pad", IsRagged(ref) ? 0.6 : 0.05)) AddPad(ref, operand.keys);
  }
  for (size_t d = 0; d < ref.edges.size(); ++d) {
    if (!ref.edges[d].empty()) ref.facts.edges[d] = {ref.edges[d]};
  }
  if (Want("key operand.buffers", 0.1))
    operand.keys.push_back({"buffers", std::to_string(dice_.Between(1, 3))});
  int64_t elements = 1;
  for (const Extent& extent : ref.view) elements *= extent.value;
  if (elements <= 32 && Want("key operand.memory", 0.1))
    operand.keys.push_back({"memory", PickEntry("word operand.memory", {"smem", "vmem"})});
  if (Want("key operand.if", 0.05)) AddAlternative(operand);
  draft_.operands.push_back(operand);
  refs_.push_back(ref);
  plans_.push_back(plans);
}

void Maker::AddPad(RefInfo& ref, std::vector<Key>& keys) {
  std::vector<std::string> values = {"0", "0", "1", "3"};
  if (IsFloat(ref.dtype)) values.insert(values.end(), {"-inf", "inf", "0.5", "nan"});
  if (ref.dtype == DType::kBool) values = {"false", "true"};
  if (RowOf(ref.dtype).powers) values = {"1", "0.5", "2", "nan"};
  const std::string value = dice_.Pick(values);
  keys.push_back({"pad", value});
  const bool finite = value.find("inf") == std::string::npos && value != "nan";
  if (!finite && IsRagged(ref)) ref.facts.bound = kUnbounded;
  ref.facts.bound = std::max(ref.facts.bound, 3.0);
  ref.facts.grain = std::min(ref.facts.grain, 0.5);
  for (std::string& edge : ref.edges) edge.clear();
}

/// Another array that would be there if a param were another: dropped before anything is looked at.
void Maker::AddAlternative(OperandDraft& operand) {
  const std::string param = Name("p");
  const int64_t value = dice_.Between(1, 3);
  draft_.params.push_back({param, std::to_string(value)});
  std::vector<Key> other = {{"if", param + " > " + std::to_string(value)},
                            {"array", "i64[" + param + ", 2]"}};
  operand.alternatives.push_back(other);
  if (dice_.Chance(0.5))
    operand.keys.insert(operand.keys.begin(), {"if", param + " == " + std::to_string(value)});
}

void Maker::AddInput() {
  std::vector<DType> known;
  for (const RefInfo& ref : refs_) known.push_back(ref.dtype);
  const DType dtype = !known.empty() && dice_.Chance(0.35) ? dice_.Pick(known) : AnyDType();
  AddOperand(InputDims(), dtype, false);
}

/// The two factors of a product that some output could be the sum of, in either order of their
/// dimensions.
void Maker::AddFactors() {
  std::vector<std::vector<DimPlan>> results;
  for (size_t r = 0; r < plans_.size(); ++r) {
    std::vector<DimPlan> seen;
    for (const DimPlan& plan : plans_[r]) {
      if (plan.view) seen.push_back(plan);
    }
    if (refs_[r].role == RefInfo::Role::kOutput && seen.size() >= 2) results.push_back(seen);
  }
  if (results.empty()) return;
  const std::vector<DimPlan> result = dice_.Pick(results);
  const DimPlan row = result[result.size() - 2], col = result.back();
  // What is summed over: an axis that the output does not walk, if there is one.
  std::vector<size_t> free;
  for (size_t a = output_axes_.empty() ? 0 : output_axes_[0]; a < axes_.size(); ++a)
    free.push_back(a);
  DimPlan inner = !free.empty() && dice_.Chance(0.8) ? Ride(dice_.Pick(free))
                  : dice_.Chance(0.5)                ? WholeDim()
                                                     : ConstantDim();
  if (!inner.view) return;
  const std::vector<DType> types =
      dice_.Chance(0.75)
          ? std::vector<DType>{DType::kF32,  DType::kBF16,     DType::kF16,   DType::kF32,
                               DType::kBF16, DType::kF8E4M3FN, DType::kF8E5M2}
          : std::vector<DType>{DType::kI8, DType::kU8, DType::kI32, DType::kF64};
  DType dtype = PickDType(types);
  for (const bool left : {true, false}) {
    std::vector<DimPlan> plans(result.begin(), result.end() - 2);
    if (left)
      plans.insert(plans.end(), {row, inner});
    else
      plans.insert(plans.end(), {inner, col});
    if (dice_.Chance(0.3)) std::swap(plans[plans.size() - 1], plans[plans.size() - 2]);
    if (Elements(plans) > 2 * kMostElements) return;
    AddOperand(plans, dtype, false);
    if (dtype != DType::kF64 && dice_.Chance(0.25)) dtype = dice_.Pick(types);
  }
}

/// Another window on an input.
void Maker::AddView() {
  std::vector<size_t> inputs;
  for (size_t r = 0; r < plans_.size(); ++r) {
    if (refs_[r].role == RefInfo::Role::kInput && !plans_[r].empty() &&
        !views_.count(refs_[r].name))
      inputs.push_back(r);
  }
  if (inputs.empty()) return;
  const size_t of = dice_.Pick(inputs);
  for (const OperandDraft& operand : draft_.operands) {
    if (operand.name == refs_[of].name && !operand.alternatives.empty()) return;
  }
  std::vector<DimPlan> plans = plans_[of];
  for (DimPlan& plan : plans) {
    if (plan.axis < 0 || !dice_.Chance(0.7)) continue;
    const DimPlan other = Reread(static_cast<size_t>(plan.axis));
    if (other.array == plan.array) plan = other;
  }
  OperandDraft operand;
  operand.name = Name("x");
  operand.keys.push_back({"view", refs_[of].name});
  AddWindow(plans, true, operand.keys);
  RefInfo ref = RefOf(operand.name, plans, refs_[of].dtype);
  ref.role = RefInfo::Role::kInput;
  ref.facts.bound = refs_[of].facts.bound;
  ref.facts.grain = refs_[of].facts.grain;
  // The pad is that of the input, unless it has one of its own.
  for (const OperandDraft& input : draft_.operands) {
    for (const Key& key : input.keys) {
      if (input.name != refs_[of].name || key.name != "pad") continue;
      AddPad(ref, operand.keys);
    }
  }
  for (size_t d = 0; d < ref.edges.size(); ++d) {
    if (!ref.edges[d].empty()) ref.facts.edges[d] = {ref.edges[d]};
  }
  draft_.operands.push_back(operand);
  views_.insert(ref.name);
  refs_.push_back(ref);
  plans_.push_back(plans);
}

void Maker::AddOutput() {
  size_t least = 0;
  for (size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].parallel) least = a + 1;
  }
  const size_t axes = dice_.Chance(0.55)
                          ? axes_.size()
                          : static_cast<size_t>(dice_.Between(static_cast<int64_t>(least),
                                                              static_cast<int64_t>(axes_.size())));
  const std::vector<DimPlan> plans = OutputDims(axes);
  AddOperand(plans, OutputDType(plans), true);
  output_axes_.push_back(axes);
  OperandDraft& output = draft_.operands.back();
  const bool partial =
      std::any_of(axes_.begin(), axes_.end(), [](const AxisInfo& axis) { return axis.partial; });
  if (Want("key operand.alias", 0.06)) {
    AddTakenOver(plans);
    return;
  }
  if (partial) {
    inits_.insert(output.name);
    if (Want("literal undefined", 0.1))
      output.keys.push_back({"init", "undefined"});
    else
      StartWith(output, refs_.back());
  }
}

/// An `init`, and what it makes of the facts.
void Maker::StartWith(OperandDraft& output, RefInfo& ref) {
  const std::string start = ref.dtype == DType::kBool ? "true"
                            : RowOf(ref.dtype).powers ? dice_.Pick({"1", "2", "4"})
                                                      : dice_.Pick({"0", "1", "7"});
  output.keys.push_back({"init", start});
  ref.facts.bound = ref.dtype == DType::kBool ? 1 : 7;
  ref.facts.grain = 1;
}

/// An input like the output, whose memory it takes over.
void Maker::AddTakenOver(const std::vector<DimPlan>& plans) {
  const std::string output = refs_.back().name;
  const DType dtype = refs_.back().dtype;
  AddOperand(plans, dtype, false);
  OperandDraft& input = draft_.operands.back();
  input.alternatives.clear();
  for (OperandDraft& operand : draft_.operands) {
    if (operand.name != output) continue;
    operand.alternatives.clear();
    operand.keys.push_back({"alias", input.name});
  }
  inits_.insert(output);
  views_.insert(input.name);  // no other window, which would see some blocks changed
}

}  // namespace kiln::soak
