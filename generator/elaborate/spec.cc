#include <algorithm>

#include "generator/elaborate/elaborate.h"

/// The sections of a spec other than operands.
namespace kiln {
void Elaborator::Lets() {
  for (size_t i = 0; i < spec_.lets.size(); ++i) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::kLet;
    symbol.index = static_cast<int>(i);
    visible_lets_ = static_cast<int>(i) + 1;
    Declare(spec_.lets[i].name, symbol);
  }
}

void Elaborator::CheckLets() {
  Setting setting = kBodySetting;  // the most liberal arithmetic; a use may be stricter
  setting.name = "a let";
  setting.body = false;
  for (size_t i = 0; i < spec_.lets.size(); ++i) {
    visible_lets_ = static_cast<int>(i);
    ++let_depth_;
    Elaborate(*spec_.lets[i].value, setting);
    --let_depth_;
  }
  visible_lets_ = static_cast<int>(spec_.lets.size());
}

void Elaborator::GridAxes() {
  for (const AxisSpec& axis : spec_.grid) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::kAxis;
    symbol.index = static_cast<int>(kernel_.axes.size());
    Declare(axis.name, symbol);
    const bool outside = kernel_.axes.size() < spec_.first_inside.value_or(0);
    kernel_.axes.push_back({axis.name.name, axis.name.span, nullptr, false, outside});
  }
  bool arbitrary = false;
  if (!spec_.semantics.empty() && spec_.semantics.size() != kernel_.axes.size()) {
    Error("key", spec_.semantics_span,
          "dimension_semantics names " + std::to_string(spec_.semantics.size()) +
              " axes and the grid has " + std::to_string(kernel_.axes.size()));
    return;
  }
  for (size_t i = 0; i < spec_.semantics.size(); ++i) {
    const Ident& word = spec_.semantics[i];
    if (word.name == "parallel") {
      if (arbitrary) {
        Error("key", word.span,
              "`" + kernel_.axes[i].name + "` is parallel after an arbitrary axis",
              "parallel axes come first in the grid");
      }
      kernel_.axes[i].parallel = true;
    } else if (word.name == "arbitrary") {
      arbitrary = true;
    } else {
      Error("key", word.span, "`" + word.name + "` is not a dimension semantics",
            DidYouMean(word.name, {"parallel", "arbitrary"}).empty()
                ? "parallel or arbitrary"
                : DidYouMean(word.name, {"parallel", "arbitrary"}));
    }
  }
}

void Elaborator::GridSteps() {
  for (size_t i = 0; i < spec_.grid.size(); ++i) {
    NodePtr steps = ElaborateCount(*spec_.grid[i].steps, kStepsSetting);
    if (steps && ConstInt(steps).value_or(0) < 0) {
      Error("index-range", spec_.grid[i].steps->span,
            "the axis `" + spec_.grid[i].name.name + "` has " + std::to_string(*ConstInt(steps)) +
                " steps");
    }
    kernel_.axes[i].steps = steps ? steps : MakeInt(1, DType::kIndex, spec_.grid[i].name.span);
  }
}

void Elaborator::ArrayShape(const std::vector<ExprPtr>& shape, Ref& ref) {
  if (shape.size() > 8) {
    Error("shape", ref.span,
          "`" + ref.name + "` has rank " + std::to_string(shape.size()) + "; the limit is 8");
  }
  for (const ExprPtr& e : shape) {
    const auto size = ElaborateSize(*e);
    if (size && size->Constant().value_or(0) < 0) {
      Error("shape", e->span, "a negative extent, " + size->ToString());
    }
    if (!size) shapes_known_ = false;
    ref.array.push_back(size.value_or(1));
  }
}

int Elaborator::AddRef(Ref ref) {
  const int index = static_cast<int>(kernel_.refs.size());
  Symbol symbol;
  symbol.kind = Symbol::Kind::kRef;
  symbol.index = index;
  if (ParseDType(ref.name)) {
    Error("name", ref.span, "`" + ref.name + "` is a dtype", "choose another name");
  }
  Declare({ref.name, ref.span}, symbol);
  kernel_.refs.push_back(std::move(ref));
  return index;
}

void Elaborator::Requires() {
  Setting setting = kConditionSetting;
  setting.name = "a `require` condition";
  for (const ExprPtr& expr : spec_.require) {
    NodePtr condition = ElaborateCondition(*expr, setting);
    if (!condition) continue;
    if (const auto known = ConstBool(condition)) {
      if (!*known) Error("call", expr->span, "this requirement can never hold: " + ToString(*expr));
      continue;
    }
    kernel_.require.push_back({condition, ToString(*expr)});
  }
}

void Elaborator::Scratch() {
  for (const ScratchSpec& scratch : spec_.scratch) {
    Ref ref;
    ref.name = scratch.name.name;
    ref.span = scratch.name.span;
    if (!scratch.array) {
      ref.role = Role::kSemaphore;
      ref.memory = Memory::kSmem;
      if (scratch.semaphore.name != "dma") {
        Error("key", scratch.semaphore.span,
              "`" + scratch.semaphore.name + "` is not a kind of semaphore", "there is: dma");
      }
      SemaphoreCounts(scratch, ref);
    } else {
      ref.role = Role::kScratch;
      ref.memory = MemoryNamed(scratch.memory, false);
      ref.dtype = ResolveDType(scratch.array->dtype).value_or(DType::kF32);
      ArrayShape(scratch.array->shape, ref);
      ref.view = ref.array;
    }
    AddRef(std::move(ref));
  }
}

void Elaborator::SemaphoreCounts(const ScratchSpec& scratch, Ref& ref) {
  if (scratch.count.empty()) return;
  constexpr int64_t kMost = int64_t{1} << 31;
  constexpr size_t kMostDimensions = 8;
  if (scratch.count.size() > kMostDimensions) {
    Error("key", scratch.count[kMostDimensions]->span, "semaphores have at most 8 dimensions");
    return;
  }
  ref.counts.clear();
  for (const ExprPtr& expr : scratch.count) {
    const int64_t count = ElaborateStaticInt(*expr, "the count of semaphores").value_or(1);
    if (count < 1) Error("key", scratch.name.span, "there must be at least one semaphore");
    const bool fits = count <= kMost / ref.CountOfSemaphores();
    if (!fits) Error("key", expr->span, "there can be no more than 2147483648 semaphores");
    ref.counts.push_back(fits ? std::max<int64_t>(count, 1) : 1);
  }
}

Memory Elaborator::MemoryNamed(const Ident& name, bool any_allowed) {
  if (name.name.empty() || name.name == "vmem") return Memory::kVmem;
  if (name.name == "smem") return Memory::kSmem;
  if (name.name == "any" && any_allowed) return Memory::kAny;
  const std::string known = any_allowed ? "vmem, smem, any" : "vmem, smem";
  std::string hint = DidYouMean(name.name, {"vmem", "smem", "any"});
  Error("key", name.span,
        "`" + name.name + "` is not a memory " + (name.name == "any" ? "for scratch" : "space"),
        hint.empty() || name.name == "any" ? "there are: " + known : hint);
  return Memory::kVmem;
}

void Elaborator::Body() {
  shapes_known_ = shapes_known_ && blocks_known_;
  kernel_.body = ElaborateBlock(spec_.body);
  if (spec_.epilogue.empty()) return;
  assigned_.clear();
  kernel_.epilogue = ElaborateBlock(spec_.epilogue);
  for (int ref : assigned_) {
    const bool output = kernel_[RefId(ref)].role == Role::kOutput;
    auto& list = kernel_.epilogue_outputs;
    if (output && std::find(list.begin(), list.end(), ref) == list.end()) list.push_back(ref);
  }
  std::sort(kernel_.epilogue_outputs.begin(), kernel_.epilogue_outputs.end());
  if (kernel_.epilogue_outputs.empty() && !diagnostics_.HasErrors()) {
    Error("key", spec_.epilogue.front().span, "the epilogue assigns no output",
          "it runs when an output it assigns is written back; move this to the body");
  }
}

void Elaborator::AddVariant(const VariantSpec& variant, std::shared_ptr<const Source> lock) {
  Setting setting = kConditionSetting;
  setting.name = "a variant's condition";
  const auto names = ParamNames();
  Variant out;
  out.span = variant.span;
  out.lock = std::move(lock);
  out.fixed_blocks = variant.fixed_blocks;
  out.when =
      variant.when ? ElaborateCondition(*variant.when, setting) : MakeBool(true, variant.span);
  for (const ParamSpec& set : variant.set) {
    if (std::find(names.begin(), names.end(), set.name.name) == names.end()) {
      Error("key", set.name.span,
            "the variant sets `" + set.name.name + "`, which is not a parameter",
            DidYouMean(set.name.name, names));
    } else if (out.lock) {
      CheckParamValue(set);
    }
    out.set.emplace_back(set.name.name, ToString(*set.value));
  }
  if (out.when) kernel_.variants.push_back(std::move(out));
}

void Elaborator::Variants() {
  if (spec_.lock) {
    Diagnostics found;
    Elaborator of_lock(*this, found);
    for (const LockEntry& entry : spec_.lock->variants) {
      if (entry.instance.name == kernel_.instance) of_lock.AddVariant(entry, spec_.lock->source);
    }
    for (Diagnostic& diagnostic : found.Sorted()) {
      diagnostic.source = spec_.lock->source;
      diagnostics_.Add(std::move(diagnostic));
    }
  }
  for (const VariantSpec& variant : spec_.variants) AddVariant(variant, nullptr);
}

/// What a golden entry names exists: a misspelt size would otherwise be left out unnoticed.
void Elaborator::Golden() {
  std::vector<std::string> names = {"seed"};
  for (const Dim& dim : kernel_.dims) names.push_back(dim.name);
  for (const Ref& ref : kernel_.refs) names.push_back(ref.name);
  for (const Param& param : kernel_.params) names.push_back(param.name);
  for (const GoldenSpec& golden : spec_.golden) {
    for (const auto& [name, value] : golden.sizes) {
      if (Find(name.name) || name.name == "seed") continue;
      Error("key", name.span,
            "`" + name.name + "` is neither a dimension nor an argument of this kernel",
            DidYouMean(name.name, names));
    }
  }
}

}  // namespace kiln
