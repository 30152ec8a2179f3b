#include <sched.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include "generator/cli/command/command.h"
#include "generator/cli/run/run.h"
#include "generator/native/cache/entry.h"
#include "generator/native/cache/folder.h"
#include "generator/native/cpu.h"
#include "generator/native/others.h"
#include "generator/native/peaks.h"
#include "generator/text/utf8.h"

/// `kiln doctor`: what Kiln needs of this machine, and what would make it faster.
namespace kiln::cli {
namespace {

enum class Verdict { kOk, kWarning, kError };

class Examination {
 public:
  void Machine();
  bool Compiler();
  void Cpu();
  void Cache();
  void Cores();
  void Clock();
  void LargePages();
  int status() const { return failed_ ? kDiagnosed : kFine; }

 private:
  /// A line, and one for the hint.
  void Say(Verdict verdict, const std::string& what, const std::string& says,
           const std::string& hint = "");

  std::optional<Toolchain> tools_;
  bool failed_ = false;
};

void Examination::Say(Verdict verdict, const std::string& what, const std::string& says,
                      const std::string& hint) {
  constexpr const char* kVerdicts[] = {"ok     ", "warn   ", "error  "};
  std::cout << kVerdicts[static_cast<int>(verdict)] << what << std::string(13 - what.size(), ' ')
            << OneLine(says) << "\n";
  if (!hint.empty()) std::cout << std::string(20, ' ') << "= hint: " << OneLine(hint) << "\n";
  failed_ |= verdict == Verdict::kError;
}

bool Examination::Compiler() {
  std::string why;
  tools_ = FindToolchain(&why);
  if (!tools_) {
    Say(Verdict::kError, "compiler", why,
        "without it specs are checked, interpreted and turned into C++, and nothing is compiled");
    return false;
  }
  Say(Verdict::kOk, "compiler", tools_->compile[0] + ": " + tools_->version);
  Say(Verdict::kOk, "runtime", tools_->runtime);
  return true;
}

/// What the CPU itself says, as far as kernels use it.
int64_t WidestVectorBytes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return 64;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 32;
#endif
  return 16;
}

/// Compiles a probe as kernels are, which shows that these can be.
void Examination::Cpu() {
  std::string why;
  std::optional<CpuFacts> cpu;
  {
    const Progress progress("compiling a probe");
    cpu = FindCpuFacts(*tools_, {}, &why);
  }
  if (!cpu) {
    return Say(Verdict::kError, "kernels", "cannot be compiled: " + why,
               "kernels are C++20 for GCC 12, clang 14 or newer; CXX names another compiler");
  }
  const bool is_old = std::atoi(cpu->highway.c_str()) < 1;
  Say(is_old ? Verdict::kWarning : Verdict::kOk, "Highway", cpu->highway,
      is_old ? "Kiln is tested with 1.0.3 and newer" : "");
  const std::string has =
      CpuModel() + ", " + cpu->target + ": " + std::to_string(cpu->vector_registers) +
      " vectors of " + std::to_string(8 * cpu->vector_bytes) + " bits" + (cpu->amx ? ", AMX" : "");
  const bool is_behind = cpu->vector_bytes < WidestVectorBytes();
  Say(is_behind ? Verdict::kWarning : Verdict::kOk, "cpu", has,
      is_behind ? "it has vectors of " + std::to_string(8 * WidestVectorBytes()) +
                      " bits, which this compiler makes no code for; a newer one does"
                : "");
}

std::string OwnerAndMode(const std::string& folder) {
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0) return "";
  char mode[8];
  std::snprintf(mode, sizeof mode, "%o", info.st_mode & 07777U);
  return "of user " + std::to_string(info.st_uid) + ", mode " + mode;
}

void Examination::Cache() {
  const std::string folder = CacheFolder();
  const std::string why = TrustCacheFolder(folder);
  if (!why.empty()) {
    return Say(Verdict::kWarning, "cache", "kernels are compiled at every run: " + why,
               "let XDG_CACHE_HOME name a folder of your own");
  }
  const auto limit = CacheLimit();
  if (!limit) {
    return Say(Verdict::kError, "cache", "KILN_CACHE_LIMIT is not a number of bytes",
               "for example: KILN_CACHE_LIMIT=500M");
  }
  const auto entries = CachedEntries(folder);
  int64_t bytes = 0;
  for (const CachedEntry& entry : entries) bytes += entry.bytes;
  const std::string says =
      folder + ", " + OwnerAndMode(folder) + ": " + std::to_string(entries.size()) +
      (entries.size() == 1 ? " entry, " : " entries, ") + Bytes(bytes) + " of " + Bytes(*limit);
  const bool is_full = bytes > *limit / 10 * 9;
  Say(is_full ? Verdict::kWarning : Verdict::kOk, "cache", says,
      is_full ? "what was used longest ago is compiled again: a larger KILN_CACHE_LIMIT keeps it"
              : "");
}

void Examination::Machine() {
  const auto names = MachineNames();
  std::string list, wrong;
  MachineFault fault;
  for (const std::string& name : names) {
    list += (list.empty() ? "" : ", ") + name;
    if (wrong.empty() && !LoadMachine(name, &fault)) wrong = name;
  }
  if (names.empty() || !wrong.empty()) {
    return Say(
        Verdict::kError, "machines",
        names.empty() ? "no machine file is found" : wrong + " cannot be read: " + fault.message,
        "they are in share/kiln/machines of the installation; KILN_HOME names its prefix");
  }
  Say(Verdict::kOk, "machines", list);
}

std::string FirstLine(const char* path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

void Examination::Cores() {
  cpu_set_t allowed;
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  const int mine = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : all;
  const Others others;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double busy = others.Cores();
  const std::string count = std::to_string(mine) + (mine == 1 ? " core" : " cores");
  // "200000 100000": so much CPU time in so much time.
  double quota = 0, period = 0;
  if (std::ifstream("/sys/fs/cgroup/cpu.max") >> quota >> period && quota > 0 &&
      quota < mine * period) {
    std::string digits = Digits(quota / period);
    return Say(
        Verdict::kWarning, "cores", count + ", of which the container gives the time of " + digits,
        "threads that wait for their turn hold up the others: `cores` of the context's options, "
        "or a larger share");
  }
  if (IsBusy(busy)) {
    return Say(Verdict::kWarning, "cores", count + "; " + OthersText(busy),
               "times mean little meanwhile, and calls on all cores wait for the slowest");
  }
  Say(Verdict::kOk, "cores", count + "; " + OthersText(busy));
}

void Examination::Clock() {
  const std::string governor = FirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (governor.empty()) return;  // virtual machines have none
  const bool is_slow = governor == "powersave" || governor == "conservative";
  Say(is_slow ? Verdict::kWarning : Verdict::kOk, "clock", "governor " + governor,
      is_slow ? "short calls run before the clock rises: `cpupower frequency-set -g performance`"
              : "");
}

/// "always [madvise] never"
void Examination::LargePages() {
  const std::string choices = FirstLine("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t begin = choices.find('['), end = choices.find(']');
  if (begin == std::string::npos || end == std::string::npos) return;
  const std::string chosen = choices.substr(begin + 1, end - begin - 1);
  const bool is_off = chosen == "never";
  Say(is_off ? Verdict::kWarning : Verdict::kOk, "large pages", chosen,
      is_off ? "packed blocks stay in small pages; write `madvise` to "
               " /sys/kernel/mm/transparent_hugepage/enabled"
             : "");
}

int Doctor() {
  Examination examination;
  examination.Machine();
  examination.Cache();
  if (examination.Compiler()) examination.Cpu();
  examination.Cores();
  examination.Clock();
  examination.LargePages();
  return examination.status();
}

}  // namespace

void AddDoctor(const OptionList& list, std::function<int()>& run) {
  list.Footer(
      "Examples:\n"
      "  kiln doctor\n"
      "Each line is ok, warn (it works, and could be faster or surprise you) or error, with a "
      "hint.\n"
      "Exit status: 0, or 1 if there is an error. `kiln help environment` lists what can be set.");
  run = [] { return Doctor(); };
}

}  // namespace kiln::cli
