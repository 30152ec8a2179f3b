#include <algorithm>

#include "tests/random/make/maker.h"

namespace kiln::soak {
namespace {

constexpr double kFocus = 25;

}  // namespace

double Maker::Weight(const std::string& entry, double base) const {
  return focus_.count(entry) ? base * kFocus : base;
}

bool Maker::AsksFor(const std::string& prefix) const {
  const auto at = focus_.lower_bound(prefix);
  return at != focus_.end() && at->rfind(prefix, 0) == 0;
}

bool Maker::AsksForRounding() const {
  return std::any_of(RoundedFunctions().begin(), RoundedFunctions().end(),
                     [&](const std::string& name) {
                       return focus_.count("function " + name) || focus_.count("op " + name);
                     });
}

bool Maker::AsksForSpecialFloats() const {
  return focus_.count("literal nan") > 0 || focus_.count("literal inf") > 0;
}

bool Maker::Want(const std::string& entry, double probability) {
  return dice_.Chance(focus_.count(entry) ? 0.85 : probability);
}

DType Maker::PickDType(const std::vector<DType>& of) {
  std::vector<double> weights;
  for (const DType dtype : of)
    weights.push_back(Weight("dtype " + std::string(kiln::Name(dtype)),
                             IsFloat(dtype) && AsksForRounding() ? 4 : 1));
  return of[dice_.Weighted(weights)];
}

DType Maker::AnyDType() {
  static const std::vector<DType> all = {
      DType::kF32,    DType::kF32, DType::kF32,      DType::kBF16, DType::kBF16, DType::kF8E4M3FN,
      DType::kF8E5M2, DType::kF16, DType::kF64,      DType::kI32,  DType::kI32,  DType::kU32,
      DType::kI64,    DType::kI8,  DType::kU8,       DType::kI16,  DType::kU16,  DType::kBool,
      DType::kI4,     DType::kU4,  DType::kF8E8M0FNU};
  return PickDType(all);
}

DType Maker::OutputDType(const std::vector<DimPlan>& plans) {
  const DType dtype = AnyDType();
  if (!IsPacked(dtype) || plans.empty()) return dtype;
  const std::string& block = plans.back().block;
  const bool number = !block.empty() && block.find_first_not_of("0123456789") == std::string::npos;
  if (block == "all" || (number && std::stoll(block) % 2 == 0)) return dtype;
  return IsUnsigned(dtype) ? DType::kU8 : DType::kI8;
}

std::string Maker::PickEntry(const std::string& prefix, const std::vector<std::string>& of) {
  std::vector<double> weights;
  for (const std::string& text : of) weights.push_back(Weight(prefix + " " + text, 1));
  return of[dice_.Weighted(weights)];
}

Draft Maker::Make() {
  if (Want("varied other block", 0.03) || Want("key spec.reference", 0)) return MakePlain();
  Grid();
  AddScalars();
  const int64_t outputs = dice_.Chance(0.7) ? 1 : dice_.Between(1, 3);
  const int64_t inputs = dice_.Between(outputs == 1 && dice_.Chance(0.05) ? 0 : 1, 4);
  for (int64_t o = 0; o < outputs; ++o) AddOutput();
  for (int64_t i = 0; i < inputs; ++i) AddInput();
  if (Want("function dot", 0.2)) AddFactors();
  if (Want("key operand.view", 0.12)) AddView();
  BindDims();
  Body();
  AddConstraints();
  AddVariants();
  AddBatching();
  WriteAsPipeline();
  return std::move(draft_);
}

/// A pipeline over what is in HBM is another way to write a grid.
void Maker::WriteAsPipeline() {
  const bool asked = AsksFor("key pipeline.") || AsksFor("key over.") || AsksFor("word over.");
  if (!Want("key spec.pipeline", asked ? 0.85 : 0.08)) return;
  for (const OperandDraft& operand : draft_.operands) {
    if (!operand.alternatives.empty()) return;
  }
  size_t parallel = 0;
  while (parallel < draft_.axes.size() && draft_.axes[parallel].parallel) ++parallel;
  draft_.outside = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(parallel)));
}

/// Some array has to bind each dimension.
void Maker::BindDims() {
  std::vector<DimInfo> unbound;
  for (const DimInfo& dim : dims_) {
    const auto binds = [&](const RefInfo& ref) {
      return std::find(ref.array.begin(), ref.array.end(), dim.name) != ref.array.end();
    };
    if (std::none_of(refs_.begin(), refs_.end(), binds)) unbound.push_back(dim);
  }
  for (const DimInfo& dim : unbound) {
    DimPlan plan;
    plan.array = dim.name;
    plan.extent = dim.size;
    plan.block = "all";
    plan.index = "0";
    plan.view = Extent{dim.name, dim.size};
    AddOperand({plan}, AnyDType(), false);
  }
}

/// Elements that the body sees, in all steps together.
double Maker::Work() const {
  double steps = 1, elements = 0;
  for (const AxisInfo& axis : axes_) steps *= static_cast<double>(axis.steps);
  for (const RefInfo& ref : refs_) {
    double view = 1;
    for (const Extent& extent : ref.view) view *= static_cast<double>(extent.value);
    elements += view;
  }
  return steps * elements;
}

Draft MakeDraft(uint64_t seed, const Focus& focus) {
  // Large ones take seconds on the interpreter, in which a dozen small ones run.
  constexpr double kMostWork = 250'000;
  constexpr uint64_t kTries = 8;
  for (uint64_t attempt = 0;; ++attempt) {
    Maker maker(seed + (attempt << 48), focus);
    Draft draft = maker.Make();
    draft.seed = seed;
    if (maker.Work() <= kMostWork || attempt == kTries) return draft;
  }
}

}  // namespace kiln::soak
