#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/cli/run/report.h"
#include "generator/data/summary.h"
#include "generator/native/call.h"
#include "generator/predict/machine/machine.h"

namespace kiln::cli {

/// Of emulated runs.
inline constexpr const char* kDefaultMachine = "v4";

/// The options of `kiln run`.
struct RunOptions {
  SpecOptions spec;
  std::vector<std::string> words;
  std::string mode = "interpret";
  std::string out;
  bool unchecked = false;
  std::optional<uint64_t> shuffle;
  // The interpreter.
  bool wide = false;
  // Compiled.
  int cores = 0;
  int repeat = 1;
  std::string machine;  // empty: kDefaultMachine
  std::string dma = "on_wait";
  std::string poison = "nan";
  bool compare = false;
  PictureFiles pictures;

  bool compiled() const { return mode != "interpret"; }
};

/// What an engine computed.
struct RunResult {
  std::map<std::string, Array> outputs;
  std::string headline;            // "interpreted: 12 grid steps (i=3, j=4) in 3 ms"
  std::vector<std::string> lines;  // what more there is to say, below the arrays
};

// run_interpret.cc

/// False, and that is printed, when interpreting would take more than the limit.
bool AllowInterpreting(const Binding& binding, const RunOptions& options);
/// Nullopt after an error: it is printed, or in the diagnostics.
std::optional<RunResult> RunInterpreter(Loaded& loaded, const Inputs& inputs,
                                        const Binding& binding, const RunOptions& options);
/// An emulated run knows which element of an output is undefined, but not the statement that made
/// What the interpreter, which keeps a shadow of every element, finds in the call, if that takes it
/// no more than a few seconds: something undefined, or that `rule`.
std::optional<Diagnostic> FindByElement(const Inputs& inputs, const Binding& binding,
                                        const RunOptions& options, RuleLabel rule);

// run_compiled.cc

/// The generated text of a run's kernel, whichever of its variants the sizes select; nullopt when
/// it cannot be generated: that is in the diagnostics.
std::optional<Generated> GenerateForRun(const Kernel& kernel, Loaded& loaded);

/// Compiles with a line of progress. Nullopt after an error, which is printed; then *status is the
/// exit status. *outcome is where the library is.
std::optional<LoadedKernel> CompileForRun(const Kernel& kernel, const Generated& text, int* status,
                                          Compiled* outcome = nullptr);
/// The same of texts that are no kernel at hand, without loading what becomes of them.
std::optional<Compiled> CompileUnit(const Unit& unit, int* status);
/// Says once, on stderr, that there is no cache that can be trusted.
void WarnOfCache();

/// Says that it is `what`, when it takes long.
CallResult CallWithProgress(const std::string& what, const LoadedKernel& loaded,
                            const Binding& binding, const Inputs& inputs, const CallOptions& how);

/// False, and that is printed, when the call would take more than the limit.
bool AllowCall(const Binding& binding, const CallOptions& how, const LimitOptions& limit);

CallOptions CallOptionsOf(const RunOptions& options, const Machine& machine);
/// Nullopt after an error, which is printed.
std::optional<Machine> LoadMachineOrReport(const std::string& name_or_path);

/// Nullopt after an error, which is printed or among the diagnostics; then *status is the exit
/// status. *outcome is what the call said, all but its outputs.
std::optional<RunResult> RunCompiled(const Kernel& kernel, const Generated& text,
                                     const Inputs& inputs, const Binding& binding,
                                     const RunOptions& options, const Machine& machine,
                                     CallResult* outcome, Diagnostics& diagnostics, int* status);

/// Adds a line an output to `result`: how far it is from the interpreter's. False if too far.
bool CompareOutputs(const Binding& binding, const std::map<std::string, Array>& want,
                    RunResult& result);

// run_pictures.cc

/// Writes what `--report` and `--trace` ask for, of a call (null: it was refused before it ran).
/// False after an error, which is printed.
bool WriteRunPictures(const Loaded& loaded, const Binding& binding, const RunOptions& options,
                      const Machine& machine, const CallResult* call);

// run_report.cc

/// "12 s", "3 h"
std::string Age(double seconds);
/// Of a time in seconds since 1970: "3 h ago".
std::string AgeText(int64_t then);
/// Of a machine that is simulated, in three digits: "0.356 us", "11.8 ms".
std::string SimulatedTime(double seconds);
/// In three digits.
std::string Digits(double value);
/// "12 grid steps (i=3, j=4)"
std::string Steps(const Binding& binding);
void PrintSummary(const Kernel& kernel, const Inputs& inputs, const RunResult& result);
/// False after an error, which is printed.
bool WriteOutputs(const RunResult& result, const std::string& folder);

}  // namespace kiln::cli
