#include "generator/cli/golden/golden.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "generator/cli/run/reference.h"
#include "generator/native/compare.h"

namespace kiln::cli {
namespace {

struct GoldenCommand {
  SpecOptions spec;
  std::string folder;
  bool hashes = false;
  std::vector<std::string> modes = {"interpret", "direct", "emulate"};

  int Record();
  int Check();

 private:
  int Hold(GoldenEntry& entry, const std::map<std::string, Array>& outputs) const;
  int CheckReference(GoldenEntry& entry, const std::map<std::string, Array>& outputs,
                     struct Verdict& verdict) const;

  using Entries = std::vector<std::unique_ptr<GoldenEntry>>;
  /// By kernel, in the order of the spec.
  static std::vector<std::vector<GoldenEntry*>> ByKernel(const Entries& entries);

  bool Has(const char* mode) const {
    return std::find(modes.begin(), modes.end(), mode) != modes.end();
  }
  std::string Folder() const;
};

std::string Title(const GoldenEntry& entry) {
  std::string title = entry.name;
  for (const std::string& word : entry.words) title += " " + word;
  return title;
}

int NoFolder() {
  return UsageError("nothing stands beside a spec that comes through a pipe",
                    "name the folder of the records: -o golden");
}

std::string GoldenCommand::Folder() const {
  if (!folder.empty()) return folder;
  return (std::filesystem::path(spec.spec).parent_path() / "golden").string();
}

std::vector<std::vector<GoldenEntry*>> GoldenCommand::ByKernel(const Entries& entries) {
  std::vector<std::vector<GoldenEntry*>> kernels;
  for (const auto& entry : entries) {
    if (kernels.empty() || kernels.back().front()->name != entry->name) kernels.emplace_back();
    kernels.back().push_back(entry.get());
  }
  return kernels;
}

// Record ------------------------------------------------------------------------------------------

/// What the interpreter computes; nullopt when it finds something: then *status is the exit status.
std::optional<std::map<std::string, Array>> Oracle(GoldenEntry& entry, const SpecOptions& spec,
                                                   int* status) {
  RunOptions options;
  options.spec.limit = spec.limit;
  auto result = RunInterpreter(entry.loaded, entry.inputs, *entry.binding, options);
  *status = result ? ReportErrors(entry.loaded, spec.format) : static_cast<int>(kUsage);
  if (*status != kFine) return std::nullopt;
  return std::move(result->outputs);
}

GoldenRecord RecordOf(const GoldenEntry& entry, std::map<std::string, Array> outputs, bool hashes) {
  GoldenRecord record;
  record.words = entry.words;
  for (const auto& [name, array] : entry.inputs.arrays) record.inputs[name] = HashOf(array);
  for (const Ref& ref : entry.binding->kernel->refs) {
    const auto output = outputs.find(ref.name);
    if (output == outputs.end()) continue;
    GoldenOutput& golden = record.outputs[ref.name];
    golden.dtype = ref.dtype;
    golden.shape = output->second.shape;
    golden.tolerance = ToleranceOf(*entry.binding, ref);
    golden.sha256 = HashOf(output->second);
    if (!hashes) golden.array = std::move(output->second);
  }
  return record;
}

/// What is recorded is what the references say: kFine, or the exit status after an error, which is
/// printed.
int GoldenCommand::Hold(GoldenEntry& entry, const std::map<std::string, Array>& outputs) const {
  Diagnostics& found = entry.loaded.diagnostics;
  const auto verdicts =
      CompareWithReference(*entry.binding, entry.inputs, outputs, spec.limit, found);
  if (verdicts) ReportVerdicts(*verdicts, found);
  if (found.HasErrors()) return Report(entry.loaded, spec.format);
  return verdicts ? kFine : kUsage;
}

int GoldenCommand::Record() {
  int status = kFine;
  if (folder.empty() && IsPiped(spec.spec)) return NoFolder();
  const auto entries = GoldenEntries(spec, &status);
  if (!entries) return status;
  for (const auto& kernel : ByKernel(*entries)) {
    std::vector<GoldenRecord> records;
    for (GoldenEntry* entry : kernel) {
      auto outputs = Oracle(*entry, spec, &status);
      if (!outputs) return status;
      if ((status = Hold(*entry, *outputs)) != kFine) return status;
      records.push_back(RecordOf(*entry, std::move(*outputs), hashes));
      if (spec.format == "text") std::cout << "recorded " << Title(*entry) << "\n";
    }
    if (!WriteGolden(Folder(), kernel.front()->name, records)) return kUsage;
  }
  return kFine;
}

// Check -------------------------------------------------------------------------------------------

/// One line a fact, and whether all of them are good. Programs get those that are not.
struct Verdict {
  bool text = true;
  bool good = true;
  std::string title;

  void Begin(const std::string& of) {
    title = of;
    if (text) std::cout << title << "\n";
  }
  void Say(bool fine, const std::string& engine, const std::string& what) {
    good &= fine;
    if (text)
      (fine ? std::cout : std::cerr)
          << "  " << engine << (fine ? ": " : ": error[golden]: ") << what << "\n";
    else if (!fine)
      RuleError("golden", title + ": " + engine + ": " + what);
  }
};

/// The sizes and the inputs are those of the record.
void CheckInputs(const GoldenEntry& entry, const GoldenRecord& record, Verdict& verdict) {
  if (entry.words != record.words) {
    verdict.Say(false, "inputs", "the spec's golden sizes are not those that were recorded");
    return;
  }
  for (const auto& [name, hash] : record.inputs) {
    const auto input = entry.inputs.arrays.find(name);
    if (input == entry.inputs.arrays.end() || HashOf(input->second) != hash)
      verdict.Say(false, "inputs", "`" + name + "` is not what was recorded");
  }
}

std::string Distance(const Difference& difference) {
  if (difference.elements > 0) return difference.description;
  if (difference.worst == 0) return "equal";
  return "within tolerance, " + Number(difference.worst) + " of " + Number(difference.allowed);
}

/// The oracle's functions are those of the C library, so another machine may give other last bits.
/// A hash forgives nothing.
void CheckOracle(const std::map<std::string, Array>& outputs, const GoldenRecord& record,
                 Verdict& verdict) {
  for (const auto& [name, golden] : record.outputs) {
    const Array& output = outputs.at(name);
    if (golden.array) {
      const Difference difference = Compare(output, *golden.array, golden.tolerance);
      verdict.Say(difference.elements == 0, "interpret", "`" + name + "` " + Distance(difference));
    } else {
      const bool same = HashOf(output) == golden.sha256;
      verdict.Say(same, "interpret",
                  "`" + name + "` " + (same ? "has" : "has not") + " the recorded hash");
    }
  }
}

/// Against the recorded arrays; where only a hash was recorded, against the oracle.
void CheckClose(const std::string& engine, const std::map<std::string, Array>& outputs,
                const std::map<std::string, Array>& oracle, const GoldenRecord& record,
                Verdict& verdict) {
  for (const auto& [name, golden] : record.outputs) {
    const Array& want = golden.array ? *golden.array : oracle.at(name);
    const Difference difference = Compare(outputs.at(name), want, golden.tolerance);
    verdict.Say(difference.elements == 0, engine, "`" + name + "` " + Distance(difference));
  }
}

/// Bit by bit.
void CheckEqual(const std::string& engine, const std::map<std::string, Array>& outputs,
                const std::map<std::string, Array>& first, const std::string& of,
                Verdict& verdict) {
  for (const auto& [name, array] : first) {
    const bool same = outputs.at(name).bytes == array.bytes;
    verdict.Say(same, engine,
                "`" + name + "` " + (same ? "has" : "has not") + " the bits of " + of);
  }
}

/// Every compiled engine and number of cores, against the record and against each other.
void CheckCompiled(const GoldenEntry& entry, const GoldenRecord& record,
                   const std::map<std::string, Array>& oracle, const LoadedKernel& kernel,
                   const std::vector<std::string>& modes, const LimitOptions& limit,
                   Verdict& verdict) {
  std::optional<std::map<std::string, Array>> first;
  std::string of;
  const auto machine = LoadMachineOrReport(kDefaultMachine);
  if (!machine) return verdict.Say(false, "emulate", "no machine");
  for (const std::string& mode : modes) {
    for (const int cores : {1, 2}) {
      RunOptions options;
      options.mode = mode;
      options.cores = cores;
      const std::string engine =
          mode + ", " + std::to_string(cores) + (cores > 1 ? " cores" : " core");
      const CallOptions how = CallOptionsOf(options, *machine);
      if (!AllowCall(*entry.binding, how, limit)) return verdict.Say(false, engine, "not called");
      CallResult result = CallWithProgress("calling", kernel, *entry.binding, entry.inputs, how);
      if (result.code != 0) {
        verdict.Say(false, engine, "[" + result.rule + "] " + result.message);
        continue;
      }
      if (first) {
        CheckEqual(engine, result.outputs, *first, of, verdict);
        continue;
      }
      CheckClose(engine, result.outputs, oracle, record, verdict);
      first = std::move(result.outputs);
      of = engine;
    }
  }
}

/// Not kFine: after an error, which is printed.
int GoldenCommand::CheckReference(GoldenEntry& entry, const std::map<std::string, Array>& outputs,
                                  Verdict& verdict) const {
  Diagnostics& found = entry.loaded.diagnostics;
  const auto verdicts =
      CompareWithReference(*entry.binding, entry.inputs, outputs, spec.limit, found);
  if (!verdicts) return found.HasErrors() ? Report(entry.loaded, spec.format) : int{kUsage};
  for (const ReferenceVerdict& of : *verdicts)
    verdict.Say(of.difference.elements == 0, "reference", TextOf(of));
  return kFine;
}

bool NeedsOracle(const GoldenEntry& entry, const GoldenRecord& record) {
  if (!entry.binding->kernel->references.empty()) return true;
  for (const auto& [name, golden] : record.outputs) {
    if (!golden.array) return true;
  }
  return false;
}

int GoldenCommand::Check() {
  int status = kFine;
  if (folder.empty() && IsPiped(spec.spec)) return NoFolder();
  const auto entries = GoldenEntries(spec, &status);
  if (!entries) return status;
  std::vector<std::string> compiled;
  for (const std::string& mode : modes) {
    if (mode != "interpret") compiled.push_back(mode);
  }

  Verdict verdict;
  verdict.text = spec.format == "text";
  for (const auto& kernel : ByKernel(*entries)) {
    const std::string& name = kernel.front()->name;
    const auto records = ReadGolden(Folder(), name);
    if (!records) return kUsage;
    if (records->size() != kernel.size()) {
      return UsageError("`" + Folder() + "/" + name + ".json` has " +
                            std::to_string(records->size()) + " records, the spec " +
                            std::to_string(kernel.size()) + " golden sizes",
                        "`kiln golden record` writes it again");
    }
    std::optional<LoadedKernel> loaded;
    if (!compiled.empty()) {
      GoldenEntry& first = *kernel.front();
      const auto text = GenerateForRun(*first.whole, first.loaded);
      if (!text) return Report(first.loaded, spec.format);
      loaded = CompileForRun(*first.whole, *text, &status);
      if (!loaded) return status;
    }
    for (size_t i = 0; i < kernel.size(); ++i) {
      GoldenEntry& entry = *kernel[i];
      const GoldenRecord& record = (*records)[i];
      verdict.Begin(Title(entry));
      CheckInputs(entry, record, verdict);
      std::map<std::string, Array> oracle;
      if (Has("interpret") || NeedsOracle(entry, record)) {
        auto outputs = Oracle(entry, spec, &status);
        if (!outputs) return status;
        oracle = std::move(*outputs);
        CheckOracle(oracle, record, verdict);
        if ((status = CheckReference(entry, oracle, verdict)) != kFine) return status;
      }
      if (loaded) CheckCompiled(entry, record, oracle, *loaded, compiled, spec.limit, verdict);
    }
  }
  return verdict.good ? kFine : kDiagnosed;
}

void AddOptions(const OptionList& list, GoldenCommand& command) {
  command.spec.Add(list);
  command.spec.limit.Add(list);
  list.Add("-o,--out", command.folder, "the folder of the records (default: golden/ beside SPEC)")
      .Takes("DIR");
}

}  // namespace

void AddGolden(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<GoldenCommand>();
  const OptionList record =
      list.Part("record", "records what the oracle computes at the golden sizes of SPEC");
  AddOptions(record, *command);
  record.Flag("--hashes", command->hashes, "keep no arrays; a check then runs the oracle again");
  const OptionList check = list.Part(
      "check", "holds every engine against the record, and compiled ones against each other");
  AddOptions(check, *command);
  check.Add("--mode", command->modes, "the engines; all three unless given")
      .DividedBy(',')
      .OneOf({"interpret", "direct", "emulate"});
  list.Footer(
      "Examples:\n"
      "  kiln golden record specs/add_2d.yaml -o golden\n"
      "  kiln golden check specs/add_2d.yaml -o golden --mode=interpret");
  run = [command, record] {
    std::vector<std::string> none;
    command->spec.Untangle(none);
    return record.given() ? command->Record() : command->Check();
  };
}

}  // namespace kiln::cli
