// soak: random kernels on every engine; ./dev soak runs it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "generator/cli/options/option_list.h"
#include "tests/random/batch_run.h"
#include "tests/random/child.h"
#include "tests/random/keep.h"
#include "tests/random/shrink.h"

namespace kiln::soak {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double minutes = 0;  // 0: as many specs as `count` says
  uint64_t count = 200;
  uint64_t first = 1;
  int jobs = 0;         // processes; 0: as the machine has cores
  uint64_t batch = 50;  // specs in a unit of compilation
  std::string folder = "build/soak";
  std::string replay;   // a folder of specs
  std::string flavour;  // part of a name; empty: mostly the cheapest
  uint64_t goal = 100;
  double refused = 0.2;  // the share that may be
  double faults = 0.1;   // the share that gets a fault
  bool quiet = false;
  Which which = Which::kAll;
  bool stop = false;  // at the first failure
  bool shrink = true;
  double shrink_seconds = 90;  // of the first failure of each kind
};

/// The others get a share: it is the rules that differ between them that are looked for, and these
/// are few.
const Flavour& FlavourOf(const std::vector<Flavour>& flavours, uint64_t batch,
                         const Options& options) {
  for (const Flavour& flavour : flavours) {
    if (!options.flavour.empty() && flavour.name.find(options.flavour) != std::string::npos)
      return flavour;
  }
  constexpr uint64_t kEvery = 4;
  if (batch % kEvery != kEvery - 1) return flavours[0];
  return flavours[1 + batch / kEvery % (flavours.size() - 1)];
}

class Soak {
 public:
  explicit Soak(const Options& options) : options_(options), start_(Clock::now()) {
    std::string why;
    auto tools = FindToolchain(&why);
    if (!tools) throw std::runtime_error(why);
    tools_ = *tools;
    if (options_.jobs == 0)
      options_.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }

  int Run() {
    std::filesystem::create_directories(options_.folder);
    if (!options_.replay.empty()) Replay();
    for (uint64_t b = 0; More(b) || !running_.empty();) {
      while (static_cast<int>(running_.size()) < options_.jobs && More(b)) Start(b++);
      WaitForAny(children_);
      for (size_t c = 0; c < children_.size();) {
        if (!children_[c].Poll()) {
          ++c;
          continue;
        }
        Take(running_[c], children_[c].Finish());
        children_.erase(children_.begin() + static_cast<long>(c));
        running_.erase(running_.begin() + static_cast<long>(c));
      }
      Progress();
    }
    return Summary();
  }

 private:
  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  bool More(uint64_t batch) const {
    if (options_.stop && failures_ > 0) return false;
    if (options_.minutes > 0) return Seconds() < options_.minutes * 60;
    return batch * options_.batch < options_.count;
  }

  /// Spread evenly, and always the same numbers.
  bool IsFaulty(uint64_t number) const {
    return std::floor(static_cast<double>(number + 1) * options_.faults) >
           std::floor(static_cast<double>(number) * options_.faults);
  }
  Draft DraftFor(uint64_t number) const { return DraftOf(number, IsFaulty(number)); }

  /// What was found once, before anything new.
  void Replay() {
    Precompile(options_.folder, tools_, flavours_[0]);
    precompiled_.insert(flavours_[0].name);
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.replay)) {
      if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Job> jobs;
    for (const std::string& path : paths) jobs.push_back({jobs.size(), ReadDraft(path)});
    for (const Result& result :
         RunBatch(jobs, options_.folder + "/replay", tools_, flavours_[0], options_.which)) {
      ++kinds_[result.verdict.kind];
      if (result.verdict.kind.empty()) continue;
      ++failures_;
      Erase();
      std::cout << paths[result.number] << ": " << result.verdict.kind << "\n"
                << result.verdict.detail << "\n";
    }
  }

  void Start(uint64_t batch) {
    const Flavour& flavour = FlavourOf(flavours_, batch, options_);
    if (precompiled_.insert(flavour.name).second) Precompile(options_.folder, tools_, flavour);
    std::vector<Job> jobs;
    const uint64_t begin = batch * options_.batch;
    const uint64_t end = options_.minutes > 0 ? begin + options_.batch
                                              : std::min(begin + options_.batch, options_.count);
    for (uint64_t n = begin; n < end; ++n) jobs.push_back({options_.first + n, {}});
    const int kMostSeconds = std::getenv("KILN_EMULATOR") ? 7200 : 900;
    const std::string folder = options_.folder + "/batch_" + std::to_string(batch % 16);
    children_.emplace_back(kMostSeconds, [=, this, &flavour] {
      std::vector<Job> drafts = jobs;
      for (Job& job : drafts) job.draft = DraftOf(job.number, IsFaulty(job.number));
      return ToText(RunBatch(drafts, folder, tools_, flavour, options_.which));
    });
    running_.push_back(batch);
  }

  void Take(uint64_t batch, const Outcome& outcome) {
    if (!outcome.died.empty()) {
      Fail({options_.first + batch * options_.batch, {"the batch died", outcome.died}, {}});
      return;
    }
    for (const Result& result : ToResults(outcome.text)) {
      ++specs_;
      changed_ += !result.used.empty();
      ++kinds_[result.verdict.kind];
      for (const std::string& entry : result.used) ++coverage_[entry];
      if (result.verdict.kind.empty()) continue;
      if (IsRefusal(result.verdict.kind)) ++refused_;
      if (!IsRefusal(result.verdict.kind) || options_.quiet == false) Fail(result);
    }
  }

  /// The first few of each kind are printed at once.
  void Fail(const Result& result) {
    constexpr int kTold = 3;
    const bool refusal = IsRefusal(result.verdict.kind);
    failures_ += !refusal;
    if (told_[result.verdict.kind]++ >= (refusal ? 1 : kTold)) return;
    Erase();
    std::cout << "spec " << result.number << ": " << result.verdict.kind << "\n"
              << result.verdict.detail << "\n";
    if (refusal) return;
    std::cout << "kept in " << Keep(DraftFor(result.number), result, options_.folder) << "\n\n";
    if (told_[result.verdict.kind] == 1 && !DraftFor(result.number).fault) first_.push_back(result);
  }

  /// The smallest spec for the first failure of each kind.
  void ShrinkFirst() {
    constexpr size_t kMost = 5;
    if (!options_.shrink) return;
    for (size_t f = 0; f < std::min(first_.size(), kMost); ++f) {
      const Result& result = first_[f];
      const uint64_t batch = (result.number - options_.first) / options_.batch;
      ShrinkOptions how{options_.folder, FlavourOf(flavours_, batch, options_),
                        options_.shrink_seconds, nullptr};
      how.progress = [&](size_t characters) {
        Erase();
        std::cerr << "making spec " << result.number << " smaller: " << characters << " characters"
                  << (isatty(STDERR_FILENO) ? "" : "\n");
      };
      const Draft smallest = Shrink(DraftFor(result.number), result.verdict, tools_, how);
      Erase();
      std::cout << "the smallest spec for \"" << result.verdict.kind << "\":\n" << Write(smallest);
      for (const auto& [name, size] : smallest.sizes)
        std::cout << "# " << name << "=" << size << "\n";
      std::cout << "kept in "
                << Keep(smallest, {result.number, result.verdict, {}},
                        options_.folder + "/smallest")
                << "\n\n";
    }
  }

  void Erase() const {
    if (isatty(STDERR_FILENO)) std::cerr << "\r\033[K" << std::flush;
  }

  void Progress() {
    const double seconds = Seconds();
    const bool terminal = isatty(STDERR_FILENO) != 0;
    if (!terminal && seconds < last_printed_ + 30) return;
    last_printed_ = seconds;
    char line[200];
    std::snprintf(
        line, sizeof line, "%s%llu specs in %.0f s (%.0f a minute), %llu refused, %llu failures%s",
        terminal ? "\r\033[K" : "", static_cast<unsigned long long>(specs_), seconds,
        static_cast<double>(specs_) / seconds * 60, static_cast<unsigned long long>(refused_),
        static_cast<unsigned long long>(failures_), terminal ? "" : "\n");
    std::cerr << line << std::flush;
  }

  int Summary() {
    Erase();
    ShrinkFirst();
    std::ofstream(options_.folder + "/coverage.txt") << CoverageReport(coverage_, options_.goal);
    for (const auto& [kind, count] : kinds_)
      std::cout << count << "  " << (kind.empty() ? "the same on every engine" : kind) << "\n";
    if (options_.which == Which::kChanged)
      std::cout << changed_ << " of them are other kernels under the fault\n";
    const std::string report = CoverageReport(coverage_, options_.goal);
    const size_t last = report.rfind('\n', report.size() - 2);
    std::printf("%llu specs in %.0f s, %.0f a minute; %llu refused, %llu failures\n",
                static_cast<unsigned long long>(specs_), Seconds(),
                static_cast<double>(specs_) / Seconds() * 60,
                static_cast<unsigned long long>(refused_),
                static_cast<unsigned long long>(failures_));
    std::cout << report.substr(last + 1) << "all of them: " << options_.folder << "/coverage.txt\n";
    if (static_cast<double>(refused_) > options_.refused * static_cast<double>(specs_)) {
      std::cout << "too many specs are refused: the generator is to be mended\n";
      return 1;
    }
    return failures_ > 0 ? 1 : 0;
  }

  Options options_;
  const Clock::time_point start_;
  Toolchain tools_;
  const std::vector<Flavour> flavours_ = Flavours();
  std::set<std::string> precompiled_;
  std::vector<Child> children_;
  std::vector<uint64_t> running_;  // by child: its batch
  uint64_t changed_ = 0;           // that run, where only these do
  uint64_t specs_ = 0, refused_ = 0, failures_ = 0;
  std::map<std::string, int64_t> kinds_;
  std::map<std::string, int> told_;
  Coverage coverage_;
  std::vector<Result> first_;  // of each kind of failure
  double last_printed_ = 0;
};

int Main(int argc, char** argv) {
  Options options;
  const cli::Parser parser("Random kernels on every engine: any difference is a failure.");
  const cli::OptionList list = parser.list();
  list.Add("--minutes", options.minutes, "how long; else --count specs");
  list.Add("--count", options.count, "how many specs");
  list.Add("--first", options.first,
           "the number of the first spec; a spec depends on nothing else");
  list.Add("--jobs", options.jobs, "processes at once (as many as there are cores)");
  list.Add("--batch", options.batch, "specs that are compiled together").Between(1, 1000);
  list.Add("--folder", options.folder, "where everything is written");
  list.Add("--flavour", options.flavour, "compile all this way: AVX2, -O1");
  list.Add("--goal", options.goal, "how often each entry of the coverage report is to be used");
  list.Add("--faults", options.faults,
           "the share of specs that a fault is planted into: 1, all of them");
  list.Add("--replay", options.replay, "first, the specs of this folder");
  list.Flag("--quiet", options.quiet, "do not list specs that the checker refuses");
  list.Flag("!--no-shrink", options.shrink, "do not look for the smallest spec of a failure");
  list.Add("--shrink-seconds", options.shrink_seconds, "how long to look, for each kind");
  list.Flag("--stop", options.stop, "start nothing more once something has failed");
  bool changed = false, cover = false, show = false;
  list.Flag("--changed", changed,
            "run those alone that the fault of KILN_MUTANT changes (tests/mutants)");
  list.Flag("--cover", cover, "run nothing, and report what the specs use");
  list.Flag("--show", show, "print the specs and run nothing");
  if (const auto status = parser.Parse(argc, argv)) return *status;
  if (changed) options.which = Which::kChanged;
  if (cover) options.which = Which::kNone;
  if (show) {
    for (uint64_t n = options.first; n < options.first + options.count; ++n)
      std::cout << Write(DraftOf(n, options.faults == 1));
    return 0;
  }
  return Soak(options).Run();
}

}  // namespace
}  // namespace kiln::soak

int main(int argc, char** argv) {
  try {
    return kiln::soak::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "soak: " << error.what() << "\n";
    return 2;
  }
}
