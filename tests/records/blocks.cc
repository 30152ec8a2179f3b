// blocks: the kernels of the records with other blocks than those they were recorded with, on every
// engine. `./dev test` runs a slice, `./dev test-all` all of them.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "generator/cli/options/option_list.h"
#include "tests/random/batch.h"
#include "tests/random/batch_run.h"
#include "tests/random/child.h"
#include "tests/random/judge.h"
#include "tests/records/other_blocks.h"

namespace kiln::testing {
namespace {

using soak::Batch;
using soak::Case;
using soak::Verdict;

constexpr int kSecondsToRun = 120;
constexpr int64_t kMostSteps = 20000;  // blocks of one element may mean a grid of millions

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Under a name of its own, as many kernels share a library.
std::unique_ptr<Case> CaseOf(const RecordCase& of, const std::string& name) {
  const std::string path = std::string(KILN_SOURCE_DIR) + "/" + of.spec;
  auto prepared = soak::Prepare(std::make_shared<const Source>(of.spec, ReadText(path)), of.check,
                                [&](const Kernel&) { return ReadRecord(of).inputs; });
  if (!prepared->binding) return prepared;
  for (Kernel* kernel : {prepared->kernel.get(), prepared->specialised.get()}) {
    if (kernel) kernel->instance = name;
  }
  return prepared;
}

/// Empty if its kernel is in the folder, to be compiled.
std::string Generate(const RecordCase& of, const std::string& name, const std::string& folder) {
  const auto prepared = CaseOf(of, name);
  if (!prepared->binding || !prepared->found.empty()) return "refused";
  if (prepared->binding->StepCount() > kMostSteps) return "too many steps";
  Generated text;
  Diagnostics found;
  if (!Generate(*prepared->kernel, of.spec, found, &text)) return "not generated";
  Batch::WriteKernel(folder, *prepared->kernel, text);
  return "";
}

struct Options {
  size_t each = 1;  // which share of the cases
  size_t first = 0;
  size_t batch = 25;
  std::string folder = "build/blocks";
};

class Run {
 public:
  Run(const Options& options, std::vector<RecordCase> cases)
      : options_(options), cases_(std::move(cases)) {
    std::string why;
    const auto tools = FindToolchain(&why);
    if (!tools) throw std::runtime_error(why);
    tools_ = *tools;
    soak::Precompile(options_.folder, tools_, flavour_);
  }

  int All() {
    for (size_t begin = 0; begin < cases_.size(); begin += options_.batch) {
      RunBatch(begin, std::min(begin + options_.batch, cases_.size()));
      std::cerr << (isatty(STDERR_FILENO) ? "\r\033[K" : "") << begin + options_.batch << " of "
                << cases_.size() << (isatty(STDERR_FILENO) ? "" : "\n");
    }
    for (const auto& [what, count] : counts_)
      std::cout << count << "  " << (what.empty() ? "the same on every engine" : what) << "\n";
    return failures_ > 0 ? 1 : 0;
  }

 private:
  void Count(size_t at, const Verdict& verdict) {
    ++counts_[verdict.kind];
    const bool fine = verdict.kind.empty() || verdict.kind == "too many steps" ||
                      soak::IsRefusal(verdict.kind + " ");
    if (fine) return;
    ++failures_;
    std::cout << cases_[at].name << ": " << verdict.kind << "\n" << verdict.detail << "\n";
  }

  void RunBatch(size_t begin, size_t end) {
    // A library may stay loaded, and is then found by its path: so each has its own.
    const std::string folder = options_.folder + "/batch_" + std::to_string(begin);
    const int before = failures_;
    Batch batch(folder, tools_, flavour_);
    std::map<std::string, size_t> names;
    std::vector<std::string> generated;
    for (size_t at = begin; at < end; ++at) {
      const std::string name = "case_" + std::to_string(at);
      const auto outcome =
          soak::RunInChild(kSecondsToRun, [&] { return Generate(cases_[at], name, folder); });
      if (!outcome.died.empty())
        Count(at, {"died in the generator", outcome.died});
      else if (!outcome.text.empty())
        Count(at, {outcome.text, ""});
      else
        names[name] = at, generated.push_back(name);
    }
    std::map<std::string, std::string> refused;
    batch.Compile(generated, &refused);
    for (const auto& [name, at] : names) {
      const auto log = refused.find(name);
      Count(at, log != refused.end() ? Verdict{"does not compile", log->second}
                                     : RunOne(cases_[at], name, batch));
    }
    if (failures_ == before) std::filesystem::remove_all(folder);
  }

  static Verdict RunOne(const RecordCase& of, const std::string& name, const Batch& batch) {
    const auto outcome = soak::RunInChild(kSecondsToRun, [&] {
      return ToText(soak::Judge(soak::Draft(), *CaseOf(of, name), batch.Find(name)));
    });
    return outcome.died.empty() ? soak::ToVerdict(outcome.text)
                                : Verdict{"died in a kernel", outcome.died};
  }

  const Options options_;
  const std::vector<RecordCase> cases_;
  Toolchain tools_;
  const soak::Flavour flavour_ = soak::Flavours()[0];
  std::map<std::string, int> counts_;
  int failures_ = 0;
};

int Main(int argc, char** argv) {
  Options options;
  const cli::Parser parser("The records' kernels with other blocks, on every engine.");
  const cli::OptionList list = parser.list();
  list.Add("--each", options.each, "one of so many cases; 1: all").Positive();
  list.Add("--first", options.first, "which of these is the first");
  list.Add("--batch", options.batch, "kernels that are compiled together");
  list.Add("--folder", options.folder, "where everything is written");
  if (const auto status = parser.Parse(argc, argv)) return *status;
  std::vector<RecordCase> cases;
  const std::vector<RecordCase> every = CasesOfOtherBlocks();
  for (size_t at = options.first; at < every.size(); at += options.each) cases.push_back(every[at]);
  return Run(options, std::move(cases)).All();
}

}  // namespace
}  // namespace kiln::testing

int main(int argc, char** argv) {
  try {
    return kiln::testing::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "blocks: " << error.what() << "\n";
    return 2;
  }
}
