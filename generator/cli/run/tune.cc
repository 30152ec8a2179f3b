#include "generator/cli/run/tune.h"

#include <atomic>
#include <chrono>
#include <iostream>

#include "generator/cli/run/bench.h"
#include "generator/cli/run/run.h"
#include "generator/native/caches.h"
#include "generator/spec/lock.h"
#include "generator/system/interrupt.h"

namespace kiln::cli {
namespace {

/// What was timed is kept from moment to moment, so an interrupt need not wait for anything.
class LastWords {
 public:
  LastWords() {
    SayWhenInterrupted([this] {
      return "interrupted with " + std::to_string(timed_) +
             " configurations timed; no lock was written, and the same command goes on from there";
    });
  }
  ~LastWords() { SayWhenInterrupted(nullptr); }
  void Count(int timed) { timed_ = timed; }

 private:
  std::atomic<int> timed_{0};
};

/// "tuning matmul_f32 [####      ] 7 of at most 24, 12 s; best 11.8 ms, 1.31 of the spec alone:
/// bm=256" on a terminal; else a line for each new best.
class Bar {
 public:
  Bar(std::string name, int most) : name_(std::move(name)), most_(most) {}

  void Show(int measured, const Configuration& best, const Configuration& spec) {
    const bool faster = !best.set.empty() && best.seconds > 0;
    const std::string summary =
        SimulatedTime(best.seconds) +
        (faster ? ", " + GainText(spec.seconds / best.seconds) + " of the spec alone: " : ": ") +
        SettingsText(best);
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
    const std::string count = std::to_string(measured) + " of at most " + std::to_string(most_) +
                              ", " + std::to_string(seconds) + " s";
    if (line_.terminal()) {
      constexpr int kWidth = 20;
      const auto filled = static_cast<size_t>(kWidth * measured / most_);
      line_.Show("tuning " + name_ + " [" + std::string(filled, '#') +
                 std::string(kWidth - filled, ' ') + "] " + count + "; best " + summary);
    } else if (summary != last_) {
      line_.End("tuning " + name_ + ", " + count + "; best " + summary);
    }
    last_ = summary;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point begin_ = Clock::now();
  std::string name_, last_;
  int most_;
  StatusLine line_;
};

struct TuneCommand {
  SimulateOptions what;
  std::string target = "host";
  std::string when;
  std::vector<std::string> given;  // bm=64,128
  int cores = 0;
  int most = 24;
  double within = 90;
  bool dry = false;

  int Run();
  bool Given(std::map<std::string, std::vector<int64_t>>& out) const;
  TuneOptions How(Bar& bar, LastWords& words) const;
  int Finish(const Simulation& call, const TuneResult& result) const;
  LockChange Change(const Simulation& call, const TuneResult& result) const;
  bool measures() const { return target == "host"; }
};

bool TuneCommand::Given(std::map<std::string, std::vector<int64_t>>& out) const {
  for (const std::string& word : given) {
    const size_t equals = word.find('=');
    std::vector<int64_t>& values = out[word.substr(0, equals)];
    size_t at = equals;
    while (at != std::string::npos) {
      const size_t end = word.find(',', at + 1);
      const std::string value = word.substr(at + 1, end - at - 1);
      char* rest = nullptr;
      values.push_back(std::strtoll(value.c_str(), &rest, 10));
      if (value.empty() || *rest != '\0' || values.back() < 1) {
        UsageError("--try takes sizes, not `" + word + "`", "for example: --try bm=64,128,256");
        return false;
      }
      at = end;
    }
    if (values.empty()) {
      UsageError("--try takes sizes, not `" + word + "`", "for example: --try bm=64,128,256");
      return false;
    }
  }
  return true;
}

TuneOptions TuneCommand::How(Bar& bar, LastWords& words) const {
  TuneOptions how;
  how.measure = measures();
  how.cores = cores;
  how.most = most;
  how.seconds = within;
  how.cache_bytes = measures() ? CacheBytes(3) : 0;
  how.measured = [&](int measured, const Configuration& best, const Configuration& spec) {
    words.Count(measured);
    bar.Show(measured, best, spec);
  };
  return how;
}

/// Equality of every size, unless --when says otherwise.
std::string WhenText(const Binding& binding) {
  std::string text;
  for (size_t d = 0; d < binding.dims.size(); ++d) {
    const Dim& dim = binding.kernel->dims[d];
    if (dim.fixed || !binding.dims[d]) continue;
    text += (text.empty() ? "" : " and ") + dim.name + " == " + std::to_string(*binding.dims[d]);
  }
  return text.empty() ? "true" : text;
}

LockChange TuneCommand::Change(const Simulation& call, const TuneResult& result) const {
  LockChange change;
  change.path =
      what.spec.lock.file.empty() ? LockPath(call.loaded.source->path()) : what.spec.lock.file;
  change.instance = call.whole->instance;
  change.when = when.empty() ? WhenText(*call.binding) : when;
  if (result.best.set != result.spec.set || result.best.fixed) change.configuration = &result.best;
  const std::string where = measures() ? "on " + CpuModel() : "predicted for " + call.machine.name;
  change.note = SimulatedTime(result.best.seconds) + " " + where;
  if (result.spec.seconds > 0)
    change.note += ", " + GainText(result.gain) + " times as fast as the spec alone";
  return change;
}

int TuneCommand::Finish(const Simulation& call, const TuneResult& result) const {
  const std::string where = measures() ? "on " + CpuModel() : "predicted";
  std::cout << TuneText(call, result, where, measures());
  if (result.out_of_time)
    std::cout << "no time for the others: --within gives more than " << Digits(within)
              << " s, and the same command goes on from here\n";
  const LockChange change = Change(call, result);
  if (change.configuration) {
    std::cout << "best: " << SettingsText(result.best) << "; ";
    if (result.spec.seconds > 0)
      std::cout << GainText(result.gain) << " times as fast as the spec alone"
                << (measures() ? ", in turns" : "") << "\n";
    else
      std::cout << "the spec's own blocks do not fit\n";
  } else {
    std::cout << "the spec's own blocks are as fast as any\n";
  }
  if (dry) return kFine;
  std::string done;
  if (!WriteLock(call, change, &done)) return kUsage;
  std::cout << done << "\n";
  return kFine;
}

int TuneCommand::Run() {
  std::map<std::string, std::vector<int64_t>> values;
  if (!Given(values)) return kUsage;
  if (!measures()) what.machine = target;
  if (IsPiped(what.spec.spec) && what.spec.lock.file.empty() && !dry)
    return UsageError("a lock stands beside a file",
                      "name the spec's file, or the lock's with --lock, or add --dry-run");
  what.spec.lock.none = true;  // it starts from the spec
  what.complete = measures();
  what.cores = measures() ? 0 : cores;
  int status = kFine;
  const auto call = PrepareSimulation(what, &status);
  if (!call) return status;
  Loaded& loaded = call->loaded;
  if ((status = ReportErrors(loaded, what.spec.format)) != kFine || !call->binding) return status;

  std::vector<std::string> fixed;
  for (const auto& [name, value] : loaded.options.set) fixed.push_back(name);
  const auto params =
      TunedParams(*loaded.spec, *call->binding, fixed, values,
                  measures() ? AxesOfOwnBlocks(*loaded.kernel) : std::vector<std::string>());
  if (params.empty()) {
    return UsageError(
        "nothing to tune: no param of `" + loaded.spec->kernel.name + "` is the size of a block",
        "name sizes with params, as in `block: bm, bk`, or say what to try: --try "
        "bm=64,128");
  }
  CallOptions once;
  once.cores = cores;
  if (!AllowPrediction(*call, /*detail=*/false)) return kUsage;
  if (measures() && !AllowCall(*call->binding, once, call->limit)) return kUsage;
  if (measures()) WarnOfCache();
  const AdviceRequest request{loaded.spec.get(),
                              &call->options,
                              &call->inputs,
                              loaded.kernel.get(),
                              &*call->binding,
                              &call->machine,
                              {what.cores, /*detail=*/false, nullptr, call->limit.limits.bytes}};
  TuneResult result;
  {
    LastWords words;
    Bar bar(GeneratedName(*call->whole), most);
    auto progress = std::make_optional<Progress>("predicting");
    TuneOptions how = How(bar, words);
    how.predicting = [&progress, show = progress->Callback()](double share) {
      show(share);
      if (share >= 1) progress.reset();  // the line is the bar's from here on
    };
    result = Tune(request, params, how);
  }
  if (!result.error.empty()) return InternalError(result.error);
  return Finish(*call, result);
}

}  // namespace

void AddTune(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<TuneCommand>();
  command->what.AddSizes(list,
                         "sizes, and arrays as `kiln run` takes them: m=4096 ids=@ids.npy; inputs\n"
                         "that are not given are random");
  list.Add("--for", command->target,
           "host: timed on this CPU; or a TPU, by name or as a file: its predicted time")
      .Takes("host|M");
  list.Add("--machine", command->what.machine,
           "the TPU whose VMEM the blocks must fit, and on which they must not be twice as "
           "slow as can be; v5e unless given")
      .Takes("M");
  list.Add("--when", command->when,
           "the sizes that the result is for; unless given, exactly these: --when \"m <= 64\"")
      .Takes("CONDITION");
  list.Add("--try", command->given,
           "sizes of a param, instead of powers of two for all: --try bm=64,128,256")
      .WordByWord()
      .Takes("K=N,…");
  list.Add("--most", command->most, "configurations to time; 24 unless given")
      .Between(1, 10000)
      .Takes("N");
  list.Add("--within", command->within,
           "seconds after which no other configuration is begun; 90 unless given")
      .Positive()
      .Takes("S");
  list.Add("--cores", command->cores, "as `kiln bench`").Between(1, 4096).Takes("N");
  list.Flag("--dry-run", command->dry, "write no lock");
  list.Footer(
      "Examples:\n"
      "  kiln tune specs/gmm.yaml:gmm_f32 --dims m=4096,k=512,n=512 sizes=1000,0,3096\n"
      "            group_offset=0 shard=3 --set tk=512\n"
      "  kiln tune specs/matmul.yaml --dims m=64,n=4096,k=4096 --when \"m <= 64\"\n"
      "  kiln tune specs/matmul.yaml --dims m=8192,n=8192,k=8192 --for=v5e\n"
      "What is tuned: params that blocks mention, but for those that --set fixes. The fastest "
      "goes\n"
      "into NAME.lock.yaml beside the spec, as a variant for sizes like these; generate, run, "
      "bench\n"
      "and kiln_add_kernel read it, and never tune. Where Direct chooses blocks of its own, the "
      "lock\n"
      "overrules it only if that was faster in turns. Each configuration is timed once on a "
      "machine:\n"
      "after Ctrl-C the same command goes on where it was.");
  run = [command] {
    command->what.spec.Untangle(command->what.words);
    return command->Run();
  };
}

}  // namespace kiln::cli
