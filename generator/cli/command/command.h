#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/check/grid/check_grid.h"
#include "generator/cli/command/complain.h"
#include "generator/cli/command/progress.h"
#include "generator/cli/options/option_list.h"
#include "generator/ir/kernel.h"
#include "generator/render/render.h"
#include "generator/system/limits.h"

namespace kiln::cli {

/// Exit statuses, the same for every command.
enum Exit { kFine = 0, kDiagnosed = 1, kUsage = 2, kInternal = 3 };

// Each of these declares the options of a subcommand and leaves what to run in `run`. Adding one is
// an entry in explain/commands.cc, too.
void AddCheck(const OptionList& list, std::function<int()>& run);
void AddRun(const OptionList& list, std::function<int()>& run);
void AddReport(const OptionList& list, std::function<int()>& run);
void AddBench(const OptionList& list, std::function<int()>& run);
void AddTune(const OptionList& list, std::function<int()>& run);
void AddPredict(const OptionList& list, std::function<int()>& run);
void AddGenerate(const OptionList& list, std::function<int()>& run);
void AddGolden(const OptionList& list, std::function<int()>& run);
void AddShow(const OptionList& list, std::function<int()>& run);
void AddSchema(const OptionList& list, std::function<int()>& run);
void AddExplain(const OptionList& list, std::function<int()>& run);
void AddNew(const OptionList& list, std::function<int()>& run);
void AddMachine(const OptionList& list, std::function<int()>& run);
void AddCompile(const OptionList& list, std::function<int()>& run);
void AddCache(const OptionList& list, std::function<int()>& run);
void AddDoctor(const OptionList& list, std::function<int()>& run);
void AddInit(const OptionList& list, std::function<int()>& run);
void AddCompletion(const OptionList& list, std::function<int()>& run);
void AddHelp(const OptionList& list, std::function<int()>& run);

// load.cc ---------------------------------------------------------------------------------------

/// Which lock file, of those that `kiln tune` writes, is read with a spec.
struct LockOptions {
  std::string file;  // empty: the one beside the spec
  bool none = false;

  void Add(const OptionList& list);
};

/// --limit: what a stage of a command (a check of the grid, a prediction, a run) may take of this
/// machine. What would take more is refused before it begins.
struct LimitOptions {
  Limits limits = DefaultLimits();
  bool time_given = false;

  void Add(const OptionList& list);
  /// "predicting 2147483648 steps would take about 40 GiB": false, and that is printed, when it is
  /// more than the limit.
  bool Allow(const std::string& what, const Demand& demand) const;
  /// A check of the grid is not refused: it leaves out what would take too long, and says so.
  GridCheckOptions ForGrid(Progress& progress) const;
};

/// The file of SPEC or SPEC:instance.
std::string SpecFile(const std::string& spec);

/// Whether SPEC is standard input or another pipe: nothing stands beside it.
bool IsPiped(const std::string& spec);

/// What every command that reads a spec accepts.
struct SpecOptions {
  std::string spec;              // SPEC or SPEC:instance
  std::vector<std::string> set;  // k=v
  std::string format = "text";   // diagnostics as text or json
  LockOptions lock;
  LimitOptions limit;  // of commands that take sizes: they add it

  void Add(const OptionList& list);
  void Untangle(std::vector<std::string>& words);
};

/// A spec file on its way through the stages, with its diagnostics.
struct Loaded {
  std::shared_ptr<const Source> source;
  std::unique_ptr<Spec> spec;
  std::unique_ptr<Kernel> kernel;
  CheckOptions options;
  Diagnostics diagnostics;
};

/// How far to take a spec: parsed only, checked by itself, or checked as far as needs no sizes
/// because a binding follows.
enum class Depth { kParse, kCheck, kCheckForSizes };

/// Nullopt after a usage error (already printed).
std::optional<Loaded> Load(const SpecOptions& options, Depth depth);

/// The spec of a kernel that was checked with these options, as its text calls it: without what
/// they set to what it is anyway.
SpecName SpecNameOf(const Loaded& loaded, const Kernel& kernel, const CheckOptions& options);

/// Replaces the kernel by the specialisation that these sizes select, if the spec has variants.
/// False when that one does not check.
bool ChooseSpecialisation(Loaded& loaded, const Inputs& inputs);

/// What is right at the given sizes may be wrong at others: warnings of what the spec alone shows.
void WarnOfOtherSizes(Loaded& loaded);

/// Prints the diagnostics to stderr (text) or stdout (json) and returns kFine or kDiagnosed.
int Report(const Loaded& loaded, const std::string& format);
/// The same, where standard output is for the command's results: warnings alone are text.
int ReportErrors(const Loaded& loaded, const std::string& format);

// outputs.cc ------------------------------------------------------------------------------------

/// A file that a command writes, or reads, and the option that names it.
struct NamedFile {
  std::string option;
  std::string path;
};

/// False, after an error, when two outputs are the same file, or one is what the command reads.
bool AreDistinct(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

// arguments.cc ----------------------------------------------------------------------------------

/// Turns `name=value` words into arrays, scalars and dims: `x=@x.npy`, `y=random:1`, `z=zeros`,
/// `sizes=3,0,5`, `n=300`. Random arrays take the shapes that the other arguments decide.
/// kFine, or the exit status after what is wrong has been printed.
int ParseArguments(const Kernel& kernel, const std::vector<std::string>& words,
                   const LimitOptions& limit, Inputs& inputs);

}  // namespace kiln::cli
