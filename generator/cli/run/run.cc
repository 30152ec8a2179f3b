#include "generator/cli/run/run.h"

#include <iostream>

#include "generator/check/grid/check_grid.h"

namespace kiln::cli {
namespace {

/// Options of the other engine are mistakes, not decoration. Empty: all apply.
std::string Misplaced(const RunOptions& options) {
  const bool emulate = options.mode == "emulate";
  const std::pair<bool, const char*> cases[] = {
      {options.compiled() && options.wide, "--wide"},
      {options.mode == "direct" && options.shuffle.has_value(), "--shuffle"},
      {!options.compiled() && options.cores != 0, "--cores"},
      {!options.compiled() && options.repeat != 1, "--repeat"},
      {!options.compiled() && options.compare, "--compare"},
      {!emulate && !options.machine.empty(), "--machine"},
      {!emulate && options.dma != "on_wait", "--dma"},
      {!emulate && options.poison != "nan", "--init"},
      {!emulate && !options.pictures.page.empty(), "--report"},
      {!emulate && !options.pictures.trace.empty(), "--trace"},
  };
  for (const auto& [wrong, name] : cases) {
    if (wrong) return name;
  }
  return "";
}

void CheckTheGrid(const Binding& binding, const RunOptions& options, const Machine& machine,
                  Diagnostics& diagnostics) {
  Progress progress("checking the grid");
  GridCheckOptions check = options.spec.limit.ForGrid(progress);
  if (options.mode == "emulate") {
    check.vmem_bytes = machine.vmem;
    check.smem_bytes = machine.smem;
  }
  CheckGrid(binding, check, diagnostics);
}

/// Every engine that takes part.
bool AllowRun(const Binding& binding, const RunOptions& options, const Machine& machine) {
  if (options.compiled() &&
      !AllowCall(binding, CallOptionsOf(options, machine), options.spec.limit))
    return false;
  return (options.compiled() && !options.compare) || AllowInterpreting(binding, options);
}

int Finish(const Loaded& loaded, const Inputs& inputs, const RunResult& result,
           const RunOptions& options) {
  if (options.spec.format == "text") PrintSummary(*loaded.kernel, inputs, result);
  if (!options.out.empty() && !WriteOutputs(result, options.out)) return kUsage;
  return kFine;
}

int Interpreted(Loaded& loaded, const Inputs& inputs, const Binding& binding,
                const RunOptions& options) {
  const auto result = RunInterpreter(loaded, inputs, binding, options);
  if (!result) return kUsage;
  if (!loaded.diagnostics.HasErrors()) WarnOfOtherSizes(loaded);
  const int status = Report(loaded, options.spec.format);
  return status == kFine ? Finish(loaded, inputs, *result, options) : status;
}

int RunCompiled(Loaded& loaded, const Kernel& whole, const Generated& text, const Inputs& inputs,
                const Binding& binding, const RunOptions& options, const Machine& machine) {
  if (const int status = Report(loaded, options.spec.format)) return status;
  int status = kFine;
  CallResult outcome;
  auto result = RunCompiled(whole, text, inputs, binding, options, machine, &outcome,
                            loaded.diagnostics, &status);
  const bool called = result || outcome.code != 0;
  if (called && !WriteRunPictures(loaded, binding, options, machine, &outcome)) return kUsage;
  if (!result) {
    if (loaded.diagnostics.HasErrors()) Report(loaded, options.spec.format);
    return status;
  }
  bool same = true;
  if (options.compare) {
    const auto want = RunInterpreter(loaded, inputs, binding, options);
    if (!want) return kUsage;
    if (loaded.diagnostics.HasErrors()) return Report(loaded, options.spec.format);
    same = CompareOutputs(binding, want->outputs, *result);
  }
  status = Finish(loaded, inputs, *result, options);
  return status == kFine && !same ? static_cast<int>(kDiagnosed) : status;
}

int Run(const RunOptions& options) {
  if (const std::string name = Misplaced(options); !name.empty()) {
    return UsageError(name + " has no meaning with --mode=" + options.mode);
  }
  if (!options.pictures.AreDistinct("--report", options.spec, options.machine)) return kUsage;
  std::optional<Machine> machine = Machine();
  if (options.mode == "emulate")
    machine = LoadMachineOrReport(options.machine.empty() ? kDefaultMachine : options.machine);
  if (!machine) return kUsage;
  auto loaded = Load(options.spec, Depth::kCheckForSizes);
  if (!loaded) return kUsage;
  if (!loaded->kernel) return Report(*loaded, options.spec.format);
  Inputs inputs;
  if (const int status = ParseArguments(*loaded->kernel, options.words, options.spec.limit, inputs))
    return status;

  // The whole kernel, that chooses between its variants by itself, outlives the specialisation.
  std::optional<Generated> text;
  std::unique_ptr<Kernel> whole;
  if (options.compiled()) {
    text = GenerateForRun(*loaded->kernel, *loaded);
    if (!text) return Report(*loaded, options.spec.format);
    whole = std::make_unique<Kernel>(*loaded->kernel);
  }
  if (!ChooseSpecialisation(*loaded, inputs)) return Report(*loaded, options.spec.format);
  const auto binding = Bind(*loaded->kernel, inputs, /*partial=*/false, loaded->diagnostics);
  if (!binding || loaded->diagnostics.HasErrors()) return Report(*loaded, options.spec.format);
  if (!AllowRun(*binding, options, *machine)) return kUsage;
  if (!options.unchecked) {
    CheckTheGrid(*binding, options, *machine, loaded->diagnostics);
    if (loaded->diagnostics.HasErrors()) {
      if (!WriteRunPictures(*loaded, *binding, options, *machine, nullptr)) return kUsage;
      return Report(*loaded, options.spec.format);
    }
  }
  return options.compiled()
             ? RunCompiled(*loaded, *whole, *text, inputs, *binding, options, *machine)
             : Interpreted(*loaded, inputs, *binding, options);
}

}  // namespace

void AddRun(const OptionList& list, std::function<int()>& run) {
  auto options = std::make_shared<RunOptions>();
  options->spec.Add(list);
  options->spec.limit.Add(list);
  list.Add("ARGUMENTS", options->words,
           "x=@x.npy      an array from a file (floats of 8 and 16 bits travel as uint8 and "
           "uint16 bits)\n"
           "y=random:1    seeded values; the shape follows from the other arguments\n"
           "z=zeros, ones the same, constant\n"
           "ids=3,0,5     a short array; n=300 a dimension or a scalar");
  list.Add("-o,--out", options->out, "writes DIR/<output>.npy").Takes("DIR");
  list.Add("--mode", options->mode,
           "the engine. interpret: the oracle; direct: generated C++, compiled for this\n"
           "machine; emulate: the same text on an emulated TPU")
      .OneOf({"interpret", "direct", "emulate"});
  list.Flag("--no-grid-check", options->unchecked, "let the engine alone find what is wrong");
  list.Add("--shuffle", options->shuffle,
           "interpret, emulate: visit the parallel axes in a random order with this seed;\n"
           "emulate: the same seed makes --init=random")
      .Takes("SEED");
  list.Flag("--wide", options->wide,
            "interpret: compute floats in f64; nothing rounds until the outputs");
  list.Add("--cores", options->cores,
           "compiled: how many cores share the parallel axes (all of this machine, or of the\n"
           "emulated one)")
      .Between(1, 4096)
      .Takes("N");
  list.Add("--repeat", options->repeat, "compiled: call it N times, print the best time")
      .Between(1, 1000000)
      .Takes("N");
  list.Flag("--compare", options->compare,
            "compiled: interpret as well, and compare with a tolerance that the body implies");
  list.Add("--machine", options->machine,
           "emulate: the TPU, by name or as a file such as runtime/machines/v5e.yaml;\n"
           "v4 unless given")
      .Takes("M");
  list.Add("--dma", options->dma,
           "emulate: when copies move their bytes: on_wait finds who reads too early, eager who\n"
           "relies on a copy being late")
      .OneOf({"on_wait", "eager"});
  list.Add("--init", options->poison,
           "emulate: what undefined memory holds while the outputs are made: NaN, random,\n"
           "or zeros; what NaN finds is an error under all three")
      .OneOf({"nan", "random", "zero"});
  options->pictures.Add(list, "--report", "emulate: ");
  list.Footer(
      "Examples:\n"
      "  kiln run specs/add_vectors.yaml x=random:1 y=random:2 n=1000\n"
      "  kiln run specs/matmul.yaml:matmul_f32 x=@x.npy y=@y.npy bias=zeros -o out\n"
      "  kiln run specs/gmm.yaml:gmm_f32 lhs=random:1 rhs=random:2 sizes=3,0,5 group_offset=0 "
      "shard=3\n"
      "           m=8 k=16 n=16 --set tm=8\n"
      "  kiln run specs/matmul.yaml:matmul_f32 x=random:1 y=random:2 bias=zeros m=256 n=256 "
      "k=2048\n"
      "           --mode=emulate --machine=v5e --cores=2 --shuffle=7 --report=run.html\n"
      "An emulated run checks for errors that a TPU does not report: memory (index-range, tier),\n"
      "undefined values (undefined, tail, coverage), order (race, revisit, alias) and semaphores\n"
      "(sync); docs/emulator.md.\n"
      "Compiled kernels are kept in $XDG_CACHE_HOME/kiln or ~/.cache/kiln (`kiln cache`); CXX "
      "chooses "
      "the\ncompiler.");
  run = [options] {
    options->spec.Untangle(options->words);
    return Run(*options);
  };
}

}  // namespace kiln::cli
