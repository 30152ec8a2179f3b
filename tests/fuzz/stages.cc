#include "tests/fuzz/stages.h"

#include <iterator>

#include "generator/bind/host.h"
#include "generator/check/check_spec.h"
#include "generator/check/grid/check_grid.h"
#include "generator/check/static_rules.h"
#include "generator/check/tpu_rules.h"
#include "generator/elaborate/elaborate.h"
#include "generator/generate/generate.h"
#include "generator/interpret/interpret.h"
#include "generator/planner/make_plan.h"
#include "generator/predict/machine/machine.h"
#include "generator/spec/fields.h"
#include "tests/fuzz/pictures.h"
#include "tests/fuzz/support.h"

namespace kiln::fuzz {
namespace {

// Small enough for a thousand inputs a second; ragged, empty and whole blocks of most specs.
constexpr int64_t kSizes[] = {5, 8, 1, 13, 64, 0, 200};
constexpr int64_t kLargestSize = 4096;        // of a dimension that must be a multiple of something
constexpr int64_t kLargestArray = 1 << 20;    // bytes
constexpr int64_t kMostGridWork = 1'000'000;  // of kMaxGridWork: milliseconds instead of seconds
constexpr int64_t kLongestLoop = 64;
constexpr Limits kMostOfRun = {16 << 20, 1e-3};  // bytes, seconds; a sanitized build takes longer

/// A call: all dimensions, zeros in the arrays that the host reads, and something in the others.
Inputs SmallInputs(const Kernel& kernel, size_t turn) {
  Inputs inputs;
  for (const Dim& dim : kernel.dims) {
    if (dim.fixed) continue;
    int64_t size = kSizes[turn++ % std::size(kSizes)];
    if (dim.multiple_of < kLargestSize)
      size = (size + dim.multiple_of - 1) / dim.multiple_of * dim.multiple_of;
    inputs.dims[dim.name] = size;
  }
  Diagnostics ignored;
  const auto sizes = Bind(kernel, inputs, /*partial=*/true, ignored);
  if (!sizes) return inputs;
  for (const Ref& ref : kernel.refs) {
    const bool host =
        ref.role == Role::kArgument || ref.role == Role::kPrefetch || ref.role == Role::kScalar;
    const bool given = host ? !ref.prepared : ref.role == Role::kInput && ref.view_of < 0;
    if (!given) continue;
    std::vector<int64_t> shape;
    for (const Size& size : ref.array) shape.push_back(Evaluate(size, *sizes).value_or(-1));
    const auto bytes = ByteSize(ref.dtype, shape);
    if (!bytes || *bytes > kLargestArray) continue;
    inputs.arrays[ref.name] =
        host ? Array::Zeros(ref.dtype, shape) : RandomArray(ref.dtype, shape, turn);
  }
  return inputs;
}

/// What loops over data take is known to nobody beforehand.
bool LoopsAreShort(const Actions& actions, const Binding& binding) {
  return !AnyAction(actions, [&](const Action& action) {
    const auto* loop = As<action::For>(action);
    if (const auto* turns = As<action::While>(action)) {
      const auto most = turns->most ? Evaluate(*turns->most, binding) : std::nullopt;
      return !most || *most > kLongestLoop;
    }
    if (!loop) return false;
    const EvalResult low = Evaluate(*loop->low, binding, nullptr);
    const EvalResult high = Evaluate(*loop->high, binding, nullptr);
    const bool known = low.fault == EvalFault::kNone && high.fault == EvalFault::kNone;
    return !known || high.value > kLongestLoop || low.value < -kLongestLoop;
  });
}

/// As `kiln run SPEC m=5 x=random:1 …` does, where that is quick.
void InterpretCall(const Kernel& kernel, const Inputs& inputs, size_t turn, Diagnostics& found) {
  const auto binding = Bind(kernel, inputs, /*partial=*/false, found);
  if (!binding || found.HasErrors()) return;
  if (!LoopsAreShort(kernel.body, *binding) || !LoopsAreShort(kernel.epilogue, *binding)) return;
  InterpretOptions options;
  options.wide = turn % 2 != 0;
  options.shuffle = turn;
  if (kMostOfRun.Allow(InterpretDemand(*binding, options)))
    Interpret(*binding, inputs.arrays, options, found);
}

/// As `kiln predict SPEC m=5 …` and `kiln report` do; of a call at fault, too.
void PredictKernel(const Kernel& kernel, const Inputs& inputs, Diagnostics& found) {
  static const Machine machine = [] {
    MachineFault fault;
    const auto shipped = LoadMachine("v4", &fault);  // its two cores share parallel axes
    Expect(shipped.has_value(), fault.message);
    return *shipped;
  }();
  const auto binding = Bind(kernel, inputs, /*partial=*/true, found);
  if (binding && !found.HasErrors()) PredictCall(*binding, machine, found);
}

/// As `kiln check SPEC m=5 …` does.
void CheckCall(const Kernel& kernel, const Inputs& inputs, Diagnostics& found) {
  ChooseVariant(kernel, inputs);
  const auto binding = Bind(kernel, inputs, /*partial=*/true, found);
  if (!binding) return;
  GridCheckOptions options;
  options.work = kMostGridWork;
  if (!found.HasErrors()) CheckGrid(*binding, options, found);
  if (!found.HasErrors()) CheckStaticRules(kernel, &*binding, found);
  CheckTpuRules(kernel, &*binding, found);
}

/// As `kiln show --stage=plan` and `kiln generate` do.
void Generate(const Kernel& kernel, Diagnostics& found) {
  if (const auto plan = MakePlan(kernel, found)) ToString(*plan);
  Generated text;
  if (!Generate(kernel, "spec.yaml", found, &text)) {
    Expect(found.HasErrors(), "what is not generated has a diagnostic");
    return;
  }
  Expect(text.header.find("#pragma once") != text.header.npos, "a header is generated");
  Expect(text.source.find("#include") != text.source.npos, "a source is generated");
}

}  // namespace

std::unique_ptr<Kernel> RunStages(const Spec& spec, const CheckOptions& options, size_t turn,
                                  Diagnostics& found) {
  auto kernel = CheckSpec(spec, options, found);
  Expect((kernel == nullptr) == found.HasErrors(), "a spec is right unless there are errors");
  if (!kernel) return nullptr;
  ToString(*kernel);
  Diagnostics of_call, of_time, of_run, of_text;
  const Inputs inputs = SmallInputs(*kernel, turn);
  CheckCall(*kernel, inputs, of_call);
  ExpectWellFormed(of_call, *spec.source);
  PredictKernel(*kernel, inputs, of_time);
  ExpectWellFormed(of_time, *spec.source);
  if (!of_call.HasErrors()) InterpretCall(*kernel, inputs, turn, of_run);
  ExpectWellFormed(of_run, *spec.source);
  Generate(*kernel, of_text);
  ExpectWellFormed(of_text, *spec.source);
  return kernel;
}

std::vector<std::string> SpecWords() {
  std::vector<std::string> words;
  for (const SectionInfo& section : Sections()) {
    for (const FieldInfo& field : section.fields) {
      words.push_back(field.name + ":");
      words.push_back("\n  " + field.name + ": " + field.example + "\n");
      words.insert(words.end(), field.form.words.begin(), field.form.words.end());
    }
  }
  for (const BlockForm& form : BlockForms()) words.push_back(form.usage);
  for (const Operation& function : Functions()) words.emplace_back(function.signature);
  for (const std::string& name : HostFunctionNames()) {
    words.push_back(name + "(");
    words.push_back(Signature(*FindHostFunction(name)));
  }
  for (int dtype = 0; dtype <= static_cast<int>(DType::kF64); ++dtype)
    words.emplace_back(Name(static_cast<DType>(dtype)));
  return words;
}

std::vector<std::string> SpecTexts() {
  std::vector<std::string> texts;
  for (const char* folder : {"specs", "examples", "tests/pallas/specs", "tests/errors"}) {
    for (std::string& text : RepositoryTexts(folder, ".yaml")) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace kiln::fuzz
