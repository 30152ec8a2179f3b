#include "generator/generate/generate.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "generator/check/check_spec.h"
#include "generator/cli/command/command.h"
#include "generator/cli/explain/explain.h"
#include "generator/native/interface.h"
#include "generator/syntax/names.h"
#include "generator/system/write_file.h"
#include "generator/text/utf8.h"

namespace kiln::cli {
namespace {

struct GenerateCommand {
  std::vector<std::string> specs;
  std::vector<std::string> set;
  std::string format = "text";
  std::string out = ".";
  std::string name;
  bool to_stdout = false;
  bool for_module = false;
  bool stats = false, direct_only = false;
  LockOptions lock;

  int Run();
  int RunSpec(const std::string& word);
  bool GenerateInstance(Loaded& loaded, const std::string& instance);
  bool Deliver(const std::string& file, const std::string& text) const;

  std::set<std::string> names;  // of the kernels so far
  int stats_status = kFine;     // of those that were compiled
};

/// `--set` takes every word up to the next option: those that assign nothing are specs.
void Untangle(GenerateCommand& command) {
  const auto is_set = [](const std::string& word) { return word.find('=') != std::string::npos; };
  const auto specs = std::stable_partition(command.set.begin(), command.set.end(), is_set);
  command.specs.insert(command.specs.end(), specs, command.set.end());
  command.set.erase(specs, command.set.end());
}

/// It reaches C++ as it stands.
bool IsGoodName(const std::string& name) {
  Diagnostics found;
  if (CheckNewName({name, Span{}}, found)) return true;
  UsageError("--name: " + found.Sorted().front().message);
  return false;
}

int GenerateCommand::Run() {
  Untangle(*this);
  if (specs.empty()) return UsageError("SPEC is required", "for example: specs/matmul.yaml -o out");
  if (!lock.file.empty() && specs.size() > 1) return UsageError("--lock is for one spec");
  if (!name.empty() && specs.size() > 1) return UsageError("--name is for one kernel");
  if (!name.empty() && !IsGoodName(name)) return kUsage;
  int status = kFine;
  for (const std::string& word : specs) status = std::max(status, RunSpec(word));
  return std::max(status, stats_status);
}

int GenerateCommand::RunSpec(const std::string& word) {
  SpecOptions options;
  options.spec = word;
  options.set = set;
  options.lock = lock;
  auto loaded = Load(options, Depth::kParse);
  if (!loaded) return kUsage;
  if (!loaded->spec) return Report(*loaded, format);

  std::vector<std::string> instances = {loaded->options.instance};
  if (instances[0].empty() && !loaded->spec->instances.empty() && name.empty()) {
    instances.clear();
    for (const InstanceSpec& instance : loaded->spec->instances)
      instances.push_back(instance.name.name);
  }
  bool delivered = true;
  for (const std::string& instance : instances) delivered &= GenerateInstance(*loaded, instance);
  const int status = Report(*loaded, format);
  return delivered ? status : kUsage;
}

/// False after an error of another kind than a diagnostic (printed).
bool GenerateCommand::GenerateInstance(Loaded& loaded, const std::string& instance) {
  CheckOptions options = loaded.options;
  options.instance = instance;
  const auto kernel = CheckSpec(*loaded.spec, options, loaded.diagnostics);
  if (!kernel) return true;
  const SpecName spec = SpecNameOf(loaded, *kernel, options);
  if (!name.empty()) {
    kernel->name = name;
    kernel->instance.clear();
  }
  Generated text;
  if (!Generate(*kernel, spec, loaded.diagnostics, &text)) return true;

  const std::string& called = GeneratedName(*kernel);
  if (!names.insert(called).second) {
    UsageError("two kernels are called `" + called + "`",
               "generate them into different folders, or name instances: " + loaded.source->path() +
                   ":" + called);
    return false;
  }
  if (stats) {
    if (!loaded.diagnostics.HasErrors())
      stats_status = std::max(stats_status, PrintObjectCode(*kernel, text, direct_only));
    return true;
  }
  return Deliver(called + ".h", text.header) && Deliver(called + ".cc", text.source) &&
         (!for_module || (Deliver(called + "_module.cc", ModuleText(*kernel)) &&
                          Deliver(called + "_runner.cc", text.runner)));
}

bool GenerateCommand::Deliver(const std::string& file, const std::string& text) const {
  if (to_stdout) {
    std::cout << "// ==== " << file << "\n" << text;
    return true;
  }
  const std::string path = out == "." ? file : out + "/" + file;
  std::string why;
  const Written written = WriteIfChanged(path, text, &why);
  if (written == Written::kFailed) {
    UsageError(why);
    return false;
  }
  if (format == "text")
    std::cout << (written == Written::kWritten ? "wrote     " : "unchanged ") << OneLine(path)
              << "\n";
  return true;
}

}  // namespace

void AddGenerate(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<GenerateCommand>();
  list.Add("SPEC", command->specs,
           "spec files; FILE:instance for one kernel of a spec that has several");
  list.Add("-o,--out", command->out, "the folder for NAME.h and NAME.cc (default: this one)")
      .Takes("DIR");
  list.Add("--name", command->name,
           "what to call the kernel and its files: of SPEC's first instance, or FILE:instance")
      .Takes("NAME");
  list.Flag(
      "--module", command->for_module,
      "also NAME_module.cc: one function for any arguments, by which programs call kernels that "
      "they load; and NAME_runner.cc: a program that does so with arrays from files");
  const Option to_stdout =
      list.Flag("--stdout", command->to_stdout, "print the text, write no file");
  const Option stats =
      list.Flag("--stats", command->stats,
                "write no file: compile each kernel for all instruction sets, as programs that it "
                "is built into do, and print how large the code of each is")
          .Excludes(to_stdout);
  list.Flag("--direct-only", command->direct_only,
            "with --stats: without the emulator, as DIRECT_ONLY of kiln_add_kernel")
      .Needs(stats);
  list.Add("--set", command->set,
           "parameter values that win over the spec's own: --set bm=256 T=f32")
      .Takes("K=V");
  list.Add("--format", command->format, "diagnostics as text or json (an array for each spec)")
      .OneOf({"text", "json"});
  command->lock.Add(list);
  list.Footer(
      "Examples:\n"
      "  kiln generate specs/matmul.yaml -o out               every instance of it\n"
      "  kiln generate specs/matmul.yaml:matmul_f32 --stdout  one, to read\n"
      "  kiln generate specs/matmul.yaml:matmul_f32 --stats   its size by instruction set\n"
      "A file whose text would stay the same is not touched. Which instruction sets a program "
      "needs,\n"
      "and how to leave some out: docs/embedding.md.");
  run = [command] { return command->Run(); };
}

}  // namespace kiln::cli
