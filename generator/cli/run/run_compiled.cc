#include <cstdlib>
#include <iostream>
#include <utility>

#include "generator/cli/run/run.h"
#include "generator/native/cache/folder.h"
#include "generator/native/call_diagnostic.h"
#include "generator/native/compare.h"
#include "generator/native/compiler/toolchain.h"
#include "generator/native/hides.h"
#include "generator/text/utf8.h"

namespace kiln::cli {
namespace {

/// "compiling matmul_f32 … 3 s", which on a terminal counts; else it is written once, with the time
/// when it is known.
class CompileLine {
 public:
  explicit CompileLine(const std::string& name) : text_("compiling " + name + " …") {}

  void Update(double seconds, bool done) {
    if (!line_.terminal() && !shown_) std::cerr << text_ << std::flush;
    shown_ = true;
    if (done)
      line_.End((line_.terminal() ? text_ : "") + " " + Duration(seconds));
    else
      line_.Show(text_ + " " + std::to_string(static_cast<int>(seconds)) + " s");
  }

 private:
  std::string text_;
  StatusLine line_;
  bool shown_ = false;
};

/// What the emulated machine did.
void AddCopies(const CallResult& call, int64_t vmem, RunResult& result) {
  for (const CopyRecord& record : call.copies) {
    const std::string copies = std::to_string(record.copies) +
                               (record.copies == 1 ? " copy, " : " copies, ") +
                               std::to_string(record.skipped) + " skipped";
    // An array that stays in HBM has none.
    const std::string buffers =
        record.buffers == 0
            ? "by hand"
            : std::to_string(record.buffers) + (record.buffers == 1 ? " buffer" : " buffers") +
                  " of " + (record.in_smem ? "SMEM" : "VMEM") + ", " + Bytes(record.memory_bytes);
    result.lines.push_back(
        Row("copied", record.operand, copies, Bytes(record.bytes) + "; " + buffers));
  }
  for (size_t core = 0; core < call.vmem_high.size(); ++core) {
    result.lines.push_back(Row("core " + std::to_string(core), "VMEM", Bytes(call.vmem_high[core]),
                               "of " + Bytes(vmem)));
  }
}

/// How long the machine would have taken.
void AddTime(const CallResult& call, const Binding& binding, const Machine& machine,
             RunResult& result) {
  const auto timeline = TimelineOf(binding, machine, call.recorded);
  if (!timeline) {
    result.lines.push_back(Row("simulated", machine.name, "too many steps to keep",
                               "`kiln predict` estimates the time without running"));
    return;
  }
  std::string cores;
  for (size_t core = 0; core < timeline->cores.size(); ++core) {
    cores += (core == 0 ? "" : ", ") + std::string("core ") + std::to_string(core) + " " +
             SimulatedTime(timeline->cores[core].totals.seconds);
  }
  result.lines.push_back(Row(
      "simulated", machine.name, SimulatedTime(timeline->seconds),
      SimulatedTime(timeline->dispatch) + " of dispatch" + (cores.empty() ? "" : "; ") + cores));
}

/// The diagnostic as the interpreter has it, which knows the statement and where a value comes
/// from. An undefined value may show as anything: the rule is then the interpreter's, too.
Diagnostic AsFoundByElement(Diagnostic diagnostic, const Diagnostic& by_element) {
  if (IsAboutUndefined(by_element.rule)) {
    diagnostic.notes.push_back({diagnostic.span, "element by element: " + by_element.message});
    diagnostic.notes.insert(diagnostic.notes.end(), by_element.notes.begin(),
                            by_element.notes.end());
    diagnostic.rule = by_element.rule;
    diagnostic.hint = by_element.hint;
  }
  diagnostic.span = by_element.span;
  return diagnostic;
}

/// The diagnostic of a failed call; of one that succeeded, what the machine hides. Where undefined
/// values may come to nothing that shows, the interpreter has the last word.
bool HasDiagnostic(const LoadedKernel& loaded, const Kernel& kernel, const Binding& binding,
                   const Inputs& inputs, const RunOptions& options, const CallOptions& how,
                   CallResult& call, Diagnostics& diagnostics) {
  const auto again = [&](const CallOptions& other) {
    return loaded.Call(binding, inputs.arrays, other);
  };
  auto diagnostic = ExamineCall(binding, inputs.arrays, how, again, &call);
  const bool placed = diagnostic.has_value() || call.code == 0;
  if (how.emulate && placed && (diagnostic || HidesUndefined(kernel))) {
    auto by_element =
        FindByElement(inputs, binding, options, diagnostic ? diagnostic->rule : RuleLabel());
    if (by_element)
      diagnostic = diagnostic ? AsFoundByElement(*diagnostic, *by_element) : by_element;
  }
  if (diagnostic) {
    diagnostics.Add(std::move(*diagnostic));
    return true;
  }
  if (call.code != 0) RuleError(call.rule, call.message);
  return call.code != 0;
}

}  // namespace

CallResult CallWithProgress(const std::string& what, const LoadedKernel& loaded,
                            const Binding& binding, const Inputs& inputs, const CallOptions& how) {
  const Progress progress(what);
  return loaded.Call(binding, inputs.arrays, how);
}

std::optional<Generated> GenerateForRun(const Kernel& kernel, Loaded& loaded) {
  Generated text;
  if (!Generate(kernel, SpecNameOf(loaded, kernel, loaded.options), loaded.diagnostics, &text))
    return std::nullopt;
  return text;
}

void WarnOfCache() {
  static bool warned = false;
  if (std::exchange(warned, true)) return;
  const std::string why = TrustCacheFolder(CacheFolder());
  if (!why.empty())
    std::cerr << "kiln: warning: compiled kernels are not kept: " << OneLine(why) << "\n";
}

namespace {

/// Calls `compile(tools, options)`, which fills `compiled`, with a line of progress. False after an
/// error, which is printed; then *status is the exit status.
template <class Compile>
bool WithCompiler(const std::string& name, int* status, const Compile& compile,
                  Compiled& compiled) {
  std::string why;
  const auto tools = FindToolchain(&why);
  if (!tools) {
    *status = UsageError(why);
    return false;
  }
  WarnOfCache();
  CompileLine line(name);
  CompileOptions options;
  options.progress = [&](double seconds, bool done) { line.Update(seconds, done); };
  if (compile(*tools, options)) return true;
  *status = InternalError(compiled.error, compiled.log);
  return false;
}

}  // namespace

std::optional<LoadedKernel> CompileForRun(const Kernel& kernel, const Generated& text, int* status,
                                          Compiled* outcome) {
  Compiled compiled;
  LoadedKernel loaded;
  const auto load = [&](const Toolchain& tools, const CompileOptions& options) {
    loaded = LoadKernel(kernel, text, tools, options, &compiled);
    return static_cast<bool>(loaded);
  };
  if (!WithCompiler(GeneratedName(kernel), status, load, compiled)) return std::nullopt;
  if (outcome) *outcome = std::move(compiled);
  return loaded;
}

std::optional<Compiled> CompileUnit(const Unit& unit, int* status) {
  Compiled compiled;
  const auto compile = [&](const Toolchain& tools, const CompileOptions& options) {
    compiled = CompileCached(unit, tools, options);
    return !compiled.library.empty();
  };
  if (!WithCompiler(unit.name, status, compile, compiled)) return std::nullopt;
  return compiled;
}

std::optional<Machine> LoadMachineOrReport(const std::string& name_or_path) {
  MachineFault fault;
  auto machine = LoadMachine(name_or_path, &fault);
  if (machine) return machine;
  if (fault.source)
    Complain(fault.diagnostics, *fault.source);
  else
    UsageError(fault.message, fault.hint);
  return std::nullopt;
}

bool AllowCall(const Binding& binding, const CallOptions& how, const LimitOptions& limit) {
  return limit.Allow("calling it for " + Steps(binding), CallDemand(binding, how));
}

CallOptions CallOptionsOf(const RunOptions& options, const Machine& machine) {
  CallOptions call;
  call.cores = options.cores;
  call.repeat = options.repeat;
  call.in_place = options.repeat > 1;  // as a program that cares for time calls it
  if (options.mode != "emulate") return call;
  call.emulate = true;
  if (call.cores == 0) call.cores = static_cast<int>(machine.cores);
  call.vmem_bytes = machine.vmem;
  call.smem_bytes = machine.smem;
  call.events = true;
  call.eager = options.dma == "eager";
  call.shuffle = options.shuffle.has_value();
  call.seed = options.shuffle.value_or(0);
  using Poison = CallOptions::Poison;
  call.poison = options.poison == "nan"    ? Poison::kNan
                : options.poison == "zero" ? Poison::kZero
                                           : Poison::kRandom;
  return call;
}

std::optional<RunResult> RunCompiled(const Kernel& kernel, const Generated& text,
                                     const Inputs& inputs, const Binding& binding,
                                     const RunOptions& options, const Machine& machine,
                                     CallResult* outcome, Diagnostics& diagnostics, int* status) {
  const CallOptions how = CallOptionsOf(options, machine);
  if (!AllowCall(binding, how, options.spec.limit)) {
    *status = kUsage;
    return std::nullopt;
  }
  const auto loaded = CompileForRun(kernel, text, status);
  if (!loaded) return std::nullopt;
  CallResult call =
      CallWithProgress(how.emulate ? "emulating" : "calling", *loaded, binding, inputs, how);
  const bool found =
      HasDiagnostic(*loaded, kernel, binding, inputs, options, how, call, diagnostics);
  *outcome = call;
  outcome->outputs.clear();
  if (found) {
    *status = kDiagnosed;
    return std::nullopt;
  }
  RunResult result;
  result.outputs = std::move(call.outputs);
  result.headline = (how.emulate ? "emulated: " : "compiled: ") + Steps(binding) + " in " +
                    Duration(call.seconds) +
                    (how.repeat > 1 ? ", best of " + std::to_string(how.repeat) : "");
  if (how.emulate) {
    AddCopies(call, how.vmem_bytes, result);
    AddTime(call, binding, machine, result);
  }
  return result;
}

bool CompareOutputs(const Binding& binding, const std::map<std::string, Array>& want,
                    RunResult& result) {
  bool same = true;
  for (const Ref& ref : binding.kernel->refs) {
    const auto expected = want.find(ref.name);
    if (expected == want.end()) continue;
    const Difference difference =
        Compare(result.outputs.at(ref.name), expected->second, ToleranceOf(binding, ref));
    same &= difference.elements == 0;
    if (difference.elements > 0) {
      RuleError("compare", "`" + ref.name + "`: " + difference.description);
      continue;
    }
    result.lines.push_back(
        Row("compared", ref.name, difference.worst == 0 ? "equal bit for bit" : "within tolerance",
            difference.worst == 0 ? ""
                                  : Number(difference.worst) + " at " + difference.where + ", " +
                                        Number(difference.allowed) + " is allowed"));
  }
  return same;
}

}  // namespace kiln::cli
