#include "generator/cli/run/bench.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "generator/cli/run/run.h"
#include "generator/native/caches.h"
#include "generator/native/others.h"
#include "generator/predict/steps/work.h"

namespace kiln::cli {
namespace {

constexpr int kLeastRounds = 7;
constexpr double kLeastSeconds = 0.5;

struct BenchCommand {
  SimulateOptions what;
  std::string mode = "direct";
  std::string machine;  // empty: kDefaultMachine
  int cores = 0;
  int rounds = 0;  // 0: as many as it takes
  bool json = false;
  bool probe = false;

  int Run();
  int Measure(Simulation& call, const CallWork& work) const;
  CallOptions How(const Machine& emulated) const;
};

int BenchCommand::Run() {
  const bool emulate = mode == "emulate";
  if (!emulate && !machine.empty())
    return UsageError("--machine has no meaning with --mode=" + mode);
  what.machine = machine.empty() ? kDefaultMachine : machine;
  what.complete = true;
  int status = kFine;
  const auto call = PrepareSimulation(what, &status);
  if (!call) return status;
  const std::string& format = what.spec.format;
  if (!call->binding || call->loaded.diagnostics.HasErrors()) return Report(call->loaded, format);
  if (!AllowPrediction(*call, /*detail=*/false)) return kUsage;
  const auto work = WorkOf(*call->binding, call->machine, call->loaded.diagnostics);
  if ((status = ReportErrors(call->loaded, format)) != kFine || !work) return status;
  return Measure(*call, *work);
}

CallOptions BenchCommand::How(const Machine& emulated) const {
  RunOptions run;
  run.mode = mode;
  run.cores = cores;
  CallOptions how = CallOptionsOf(run, emulated);
  how.events = false;
  how.in_place = true;
  how.repeat = 1 + (rounds > 0 ? rounds : kLeastRounds);
  how.seconds = rounds > 0 ? 0 : kLeastSeconds;
  return how;
}

int BenchCommand::Measure(Simulation& call, const CallWork& work) const {
  Loaded& loaded = call.loaded;
  const CallOptions how = How(call.machine);
  if (!AllowCall(*call.binding, how, call.limit)) return kUsage;
  const auto text = GenerateForRun(*call.whole, loaded);
  if (!text) return Report(loaded, what.spec.format);
  int status = kFine;
  const auto kernel = CompileForRun(*call.whole, *text, &status);
  if (!kernel) return status;
  const Others others;
  CallResult timed = CallWithProgress("measuring", *kernel, *call.binding, call.inputs, how);
  if (timed.code != 0) return RuleError(timed.rule, timed.message);
  BenchResult result;
  result.kernel = GeneratedName(*call.whole);
  result.emulated = mode == "emulate";
  result.isa = kernel->isa();
  result.seconds.assign(timed.calls.begin() + 1, timed.calls.end());
  std::sort(result.seconds.begin(), result.seconds.end());
  result.others = others.Cores();
  result.cores = timed.cores;
  result.work = work;
  result.binding = &*call.binding;
  if (const int variant = ChooseVariant(*call.whole, call.inputs); variant >= 0)
    result.variant =
        ToString(*call.whole->variants[static_cast<size_t>(variant)].when, *call.whole);
  if (!result.emulated) result.own_blocks = AxesOfOwnBlocks(*loaded.kernel);

  std::string why;
  const auto tools = FindToolchain(&why);
  const auto find = [&](PeakAge age) {
    const auto peaks =
        tools ? FindPeaks(std::max(result.cores, 1), age, *tools, {}, &why) : std::nullopt;
    if (peaks) result.peaks = *peaks;
    return peaks.has_value();
  };
  if (!find(probe ? PeakAge::kNew : PeakAge::kKept) ||
      (result.beats_peaks() && !find(PeakAge::kBeaten)))
    return InternalError("cannot measure the machine: " + why);
  std::cout << (json ? BenchJson(result) : BenchText(result));
  return kFine;
}

/// Of the elements that an axis walks, those inside the array: its last block may be ragged, and
/// the predictor counts whole ones, as a TPU does.
double ShareInside(const Binding& binding, size_t axis) {
  const Node& steps = *binding.kernel->axes[axis].steps;
  if (steps.op != Op::kCeilDiv) return 1;
  const EvalResult extent = Evaluate(*steps.args[0], binding, nullptr);
  const EvalResult block = Evaluate(*steps.args[1], binding, nullptr);
  if (extent.fault != EvalFault::kNone || block.fault != EvalFault::kNone) return 1;
  const double walked = static_cast<double>(binding.steps[axis]) * static_cast<double>(block.value);
  return walked > 0 ? std::min(1.0, static_cast<double>(extent.value) / walked) : 1;
}

}  // namespace

double BenchResult::median() const {
  const size_t half = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
}

double BenchResult::peak_flops() const {
  if (!work.dot_type) return 0;
  switch (*work.dot_type) {
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
    case DType::kBF16:  // in pairs or widened, whichever is faster
      return std::max(peaks.bf16, peaks.f32);
    case DType::kF16:
    case DType::kF32:
      return peaks.f32;
    case DType::kI8:
    case DType::kU8:
      return peaks.i8;
    case DType::kBool:
    case DType::kI4:
    case DType::kU4:
    case DType::kI16:
    case DType::kU16:
    case DType::kI32:
    case DType::kU32:
    case DType::kI64:
    case DType::kF8E8M0FNU:
    case DType::kF64:
    case DType::kIndex:
    case DType::kWeakInt:
    case DType::kWeakFloat:
      return 0;  // not measured
  }
  __builtin_unreachable();
}

Limit BenchResult::limit() const {
  return LimitOf({median(), work.flops, peak_flops(), work.bytes, steps(), emulated}, peaks);
}

bool BenchResult::fits_caches() const {
  const auto last = static_cast<double>(CacheBytes(3));
  constexpr double kUnknown = 256 << 20;
  return work.bytes <= 2 * (last > 0 ? last : kUnknown);
}

bool BenchResult::beats_peaks() const {
  constexpr double kClearly = 1.02;
  const double flops = peak_flops();
  return (flops > 0 && flops_per_second() > kClearly * flops) ||
         (!fits_caches() && bytes_per_second() > kClearly * peaks.bytes_per_second);
}

std::optional<CallWork> WorkOf(const Binding& binding, const Machine& machine,
                               Diagnostics& diagnostics) {
  Progress progress("counting");
  const auto timeline =
      Predict(binding, machine, {/*cores=*/1, /*detail=*/false, progress.Callback()}, diagnostics);
  if (!timeline) return std::nullopt;
  CallWork work;
  work.flops = SummaryOf(*timeline, machine).flops;
  for (size_t axis = 0; axis < binding.steps.size(); ++axis)
    work.flops *= ShareInside(binding, axis);
  work.dot_type = WorkloadOf(binding, machine).dot_type;
  // Blocks that are copied again are found in caches; of a table, only some rows may be wanted.
  struct Moved {
    double copied = 0, whole = 0;
  };
  std::map<int, Moved> arrays;
  for (const TimelineOperand& operand : timeline->operands) {
    if (operand.ref < 0 || operand.kind == TimelineOperand::Kind::kScratch) continue;
    Moved& moved = arrays[binding.kernel->ArrayOf(operand.ref)];
    double elements = 1;
    for (const TimelineDim& dim : operand.dims) elements *= static_cast<double>(dim.extent);
    moved.copied += static_cast<double>(operand.bytes);
    moved.whole = elements * static_cast<double>(operand.element_bits) / 8;
  }
  for (const auto& [ref, moved] : arrays) work.bytes += std::min(moved.copied, moved.whole);
  return work;
}

void AddBench(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<BenchCommand>();
  command->what.AddSizes(list,
                         "sizes, and arrays as `kiln run` takes them: m=4096 ids=@ids.npy; inputs\n"
                         "that are not given are random");
  list.Add("--mode", command->mode,
           "direct: as programs run it; emulate: on an emulated TPU, with all its checks")
      .OneOf({"direct", "emulate"});
  list.Add("--machine", command->machine, "emulate: the TPU, by name or as a file; v4").Takes("M");
  list.Add("--cores", command->cores, "at most so many (direct: all of this machine)")
      .Between(1, 4096)
      .Takes("N");
  list.Add("--rounds", command->rounds,
           "time N calls, after one that is not counted; without it at least seven, for half "
           "a second")
      .Between(1, 1000000)
      .Takes("N");
  list.Flag("--probe", command->probe, "measure again what this machine can do at most");
  list.Flag("--json", command->json, "the same for a program");
  list.Footer(
      "Examples:\n"
      "  kiln bench specs/matmul.yaml:matmul_f32 --dims m=1024,n=1024,k=1024\n"
      "  kiln bench specs/add_2d.yaml m=8192 n=4096 --cores=1\n"
      "  kiln bench specs/gmm.yaml:gmm_f32 --dims m=4096,k=512,n=512 sizes=1000,0,3096\n"
      "           group_offset=0 shard=3 --json\n"
      "Operations are those of dots, a multiply and an add counted as two. Where lists that the "
      "host\n"
      "prepares say what is visited, every visit's dot counts whole: a tile that two groups share\n"
      "counts for both, though each stores only its own rows. Bytes are those of the\n"
      "arrays, each element that the kernel touches counted once. What this machine can do at "
      "most\n"
      "is measured once: dots out of registers, and loops over memory past the caches; again when\n"
      "others were using the machine, or a kernel is faster. `limit` is what binds: the peak, "
      "memory\n"
      "or the cache that holds the arrays, or the latency of calls and steps, where the kernel\n"
      "comes to 0.6 of what they allow; and otherwise instructions, of what it does besides. An "
      "output with an `alias` is made in\n"
      "the input's own memory, which is set anew before each call.\n"
      "`kiln tune` looks for faster blocks.");
  run = [command] {
    command->what.spec.Untangle(command->what.words);
    return command->Run();
  };
}

}  // namespace kiln::cli
