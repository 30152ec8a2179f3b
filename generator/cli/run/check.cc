#include <iostream>

#include "generator/check/grid/check_grid.h"
#include "generator/check/static_rules.h"
#include "generator/check/tpu_rules.h"
#include "generator/cli/run/reference.h"
#include "generator/cli/run/run.h"
#include "generator/cli/run/simulate.h"

namespace kiln::cli {
namespace {

struct CheckCommand {
  SpecOptions spec;
  std::vector<std::string> words;
  bool tpu = false;
  bool quiet = false;
  bool reference = false;
  double vmem_mib = 0;  // 0: the machine's

  int Run() const;

 private:
  /// The call that the words describe.
  struct Call {
    Inputs inputs;
    std::optional<Binding> binding;
    bool whole = true;              // all of the grid was checked
    std::vector<std::string> held;  // what was found of the references
  };
  int CheckCall(Loaded& loaded, Call& call) const;
  int HoldReference(Loaded& loaded, Call& call) const;
};

GridCheckOptions GridOptions(const LimitOptions& limit, double vmem_mib, Progress& progress) {
  GridCheckOptions options = limit.ForGrid(progress);
  if (vmem_mib > 0) options.vmem_bytes = static_cast<int64_t>(vmem_mib * (1 << 20));
  return options;
}

std::string Summary(const Kernel& kernel, const std::optional<Binding>& binding, bool whole) {
  std::string name = kernel.name + (kernel.instance.empty() ? "" : ":" + kernel.instance);
  if (!binding)
    return name + ": the spec is fine; give sizes to check the grid, e.g. " +
           (kernel.dims.empty() ? std::string("x=@x.npy") : kernel.dims.front().name + "=1000");
  if (binding->steps.size() != kernel.axes.size()) {
    return name + ": fine as far as the given sizes go; the grid's steps are not known yet";
  }
  std::string grid;
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    grid += (a ? " x " : "") + kernel.axes[a].name + "=" + std::to_string(binding->steps[a]);
  }
  return name + (whole ? ": fine over the whole grid (" : ": fine as far as it is checked (") +
         (grid.empty() ? "1 step" : grid) + ")";
}

/// [tier] of what the spec itself fixes: no size makes a constant block smaller. (A variant may.)
void CheckConstantBlocks(const Kernel& kernel, const LimitOptions& limit, double vmem_mib,
                         Diagnostics& diagnostics) {
  Diagnostics unused;  // conditions on sizes are for a call that has some
  const Inputs none;
  auto binding = Bind(kernel, none, /*partial=*/true, unused);
  if (!binding || !kernel.variants.empty()) return;
  binding->steps.clear();  // the grid was tried by the static rules
  Progress progress("checking memory");
  CheckGrid(*binding, GridOptions(limit, vmem_mib, progress), diagnostics);
}

int CheckCommand::Run() const {
  if (reference && words.empty())
    return UsageError("--reference needs the sizes of a call", "for example: m=200 n=100");
  auto loaded = Load(spec, words.empty() ? Depth::kCheck : Depth::kCheckForSizes);
  if (!loaded) return kUsage;
  Call call;
  if (loaded->kernel && words.empty())
    CheckConstantBlocks(*loaded->kernel, spec.limit, vmem_mib, loaded->diagnostics);
  if (loaded->kernel && tpu && words.empty())
    CheckTpuRules(*loaded->kernel, nullptr, loaded->diagnostics);
  if (loaded->kernel && !words.empty()) {
    if (const int status = CheckCall(*loaded, call)) return status;
  }
  if (loaded->kernel && tpu) {
    CheckTpuRules(*loaded->kernel, call.binding ? &*call.binding : nullptr, loaded->diagnostics);
  }
  if (reference && call.binding && !loaded->diagnostics.HasErrors()) {
    if (const int status = HoldReference(*loaded, call)) return status;
  }
  const int status = Report(*loaded, spec.format);
  if (status == kFine && !quiet && spec.format == "text") {
    std::cout << Summary(*loaded->kernel, call.binding, call.whole) << "\n";
    for (const std::string& line : call.held) std::cout << "  " << line << "\n";
  }
  return status;
}

/// Diagnostics are in `loaded`; not 0: the exit status after what is wrong has been printed.
int CheckCommand::CheckCall(Loaded& loaded, Call& call) const {
  if (reference && loaded.kernel->references.empty())
    return UsageError("`" + loaded.source->path() + "` has no reference",
                      "say what its outputs ought to be, for example: reference: {z: \"x + y\"}");
  const auto all = reference ? WithRandomInputs(*loaded.kernel, words) : words;
  if (const int status = ParseArguments(*loaded.kernel, all, spec.limit, call.inputs))
    return status;
  if (!ChooseSpecialisation(loaded, call.inputs)) return kFine;
  call.binding = Bind(*loaded.kernel, call.inputs, /*partial=*/!reference, loaded.diagnostics);
  Progress progress("checking the grid");
  if (call.binding && !loaded.diagnostics.HasErrors())
    call.whole =
        CheckGrid(*call.binding, GridOptions(spec.limit, vmem_mib, progress), loaded.diagnostics);
  if (loaded.diagnostics.HasErrors()) return kFine;
  CheckStaticRules(*loaded.kernel, &*call.binding, loaded.diagnostics);
  WarnOfOtherSizes(loaded);
  return kFine;
}

/// As CheckCall.
int CheckCommand::HoldReference(Loaded& loaded, Call& call) const {
  RunOptions how;
  how.spec.limit = spec.limit;
  const auto result = RunInterpreter(loaded, call.inputs, *call.binding, how);
  if (!result) return kUsage;
  if (loaded.diagnostics.HasErrors()) return kFine;
  const auto verdicts = CompareWithReference(*call.binding, call.inputs, result->outputs,
                                             spec.limit, loaded.diagnostics);
  if (!verdicts) return loaded.diagnostics.HasErrors() ? kFine : kUsage;
  ReportVerdicts(*verdicts, loaded.diagnostics);
  for (const ReferenceVerdict& verdict : *verdicts) call.held.push_back(TextOf(verdict));
  return kFine;
}

}  // namespace

void AddCheck(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<CheckCommand>();
  command->spec.Add(list);
  command->spec.limit.Add(list);
  list.Add("ARGUMENTS", command->words,
           "sizes and prefetch arrays: m=4096 ids=@ids.npy; with them every index map is\n"
           "evaluated over the whole grid");
  list.Flag("--tpu", command->tpu, "also the shapes and operations that a real TPU accepts");
  list.Flag("--reference", command->reference,
            "also interpret the call, and compare its outputs with the spec's `reference`;\n"
            "inputs that are not given are random");
  list.Flag("-q,--quiet", command->quiet, "say nothing when all is fine");
  list.Add("--vmem", command->vmem_mib, "VMEM budget in MiB (default 16)").Takes("MIB");
  list.Footer(
      "Examples:\n"
      "  kiln check specs/matmul.yaml                       the spec by itself\n"
      "  kiln check specs/matmul.yaml m=200 n=100 k=300     and the whole grid at these sizes\n"
      "  kiln check gather.yaml ids=@ids.npy --format=json  diagnostics for a program\n"
      "  kiln check specs/matmul.yaml m=200 n=100 k=300 --reference  and what it computes\n"
      "`kiln explain RULE` says more about a diagnostic.");
  run = [command] {
    command->spec.Untangle(command->words);
    return command->Run();
  };
}

}  // namespace kiln::cli
