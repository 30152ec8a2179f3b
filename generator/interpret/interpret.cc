#include "generator/interpret/interpret.h"

#include <chrono>
#include <new>

#include "generator/bind/least_operations.h"
#include "generator/interpret/blocks.h"
#include "generator/interpret/body.h"
#include "generator/interpret/copies.h"
#include "generator/interpret/finish.h"
#include "generator/interpret/grid.h"
#include "generator/interpret/hbm.h"
#include "generator/text/integer.h"

namespace kiln {
namespace interpret {
namespace {

/// Reports the share of the steps done, at most ten times a second, and gives up when the time is
/// over.
class Progress {
 public:
  Progress(const InterpretOptions& options, int64_t steps)
      : report_(options.progress),
        seconds_(options.seconds),
        steps_(steps),
        begin_(Clock::now()),
        last_(begin_) {}

  void Step(int64_t done) {
    if (!report_ && seconds_ <= 0) return;
    const auto now = Clock::now();
    if (seconds_ > 0 && now - begin_ > std::chrono::duration<double>(seconds_)) throw Halt();
    if (!report_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    report_(static_cast<double>(done) / static_cast<double>(steps_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::function<void(double)>& report_;
  double seconds_;
  int64_t steps_;
  Clock::time_point begin_, last_;
};

void RunStep(Run& run, int64_t step) {
  SetStep(run, step);
  MoveBlocks(run);
  Execute(run, run.kernel.body);
  if (!run.kernel.epilogue.empty() && IsLastVisit(run, run.kernel.epilogue_outputs[0])) {
    Execute(run, run.kernel.epilogue);
  }
  run.locals.assign(run.locals.size(), {});  // lets and vars live for one step
}

/// All steps, the serial ones of each parallel point in order. Counts those that were done.
void RunGrid(Run& run, const InterpretOptions& options, int64_t& done) {
  const int64_t steps = run.binding.StepCount();
  if (steps == 0) return;
  Progress progress(options, steps);
  const int64_t parallels = steps / run.serial_steps;
  std::vector<int64_t> order;
  if (options.shuffle) order = ShuffledOrder(parallels, *options.shuffle);
  for (int64_t p = 0; p < parallels; ++p) {
    const int64_t parallel = order.empty() ? p : order[static_cast<size_t>(p)];
    for (int64_t serial = 0; serial < run.serial_steps; ++serial) {
      RunStep(run, parallel * run.serial_steps + serial);
      progress.Step(++done);
    }
  }
  CheckNoCopies(run, "at the end");
  EndStays(run);
}

}  // namespace
}  // namespace interpret

Demand InterpretDemand(const Binding& binding, const InterpretOptions& options) {
  // What the interpreter needs at best, with a value and an origin for each element at hand.
  constexpr double kStepSeconds = 500e-9, kOperationSeconds = 0.3e-9, kValueBytes = 12;
  // Origin, last writer and both readers of an element that outputs write.
  constexpr double kShadowBytes = 16;
  const Operations operations = LeastOperations(binding);
  Demand demand;
  demand.seconds = operations.steps * kStepSeconds + operations.elements * kOperationSeconds;
  demand.bytes = operations.largest * kValueBytes;
  if (options.shuffle) demand.bytes += operations.parallel * sizeof(int64_t);
  for (size_t i = 0; i < binding.kernel->refs.size(); ++i) {
    const Ref& ref = binding.kernel->refs[i];
    if (ref.role == Role::kSemaphore) continue;
    const auto count = [](const std::vector<int64_t>& extents) {
      return static_cast<double>(ElementCount(extents).value_or(0));
    };
    const bool written = ref.role == Role::kOutput && ref.view_of < 0;
    if (written) demand.bytes += count(binding.arrays[i]) * (SizeOf(ref.dtype) + kShadowBytes);
    if (ref.memory != Memory::kAny) demand.bytes += count(binding.views[i]) * kValueBytes;
  }
  return demand;
}

InterpretResult Interpret(const Binding& binding, const std::map<std::string, Array>& arrays,
                          const InterpretOptions& options, Diagnostics& diagnostics) {
  using namespace interpret;
  Run run(binding, options.wide, diagnostics);
  for (size_t axis = 0; axis < run.kernel.axes.size(); ++axis) {
    if (!run.kernel.axes[axis].parallel)
      run.serial_steps = SaturatingMultiply(run.serial_steps, binding.steps[axis]);
    if (!run.kernel.axes[axis].outside)
      run.pipeline_steps = SaturatingMultiply(run.pipeline_steps, binding.steps[axis]);
  }
  run.locals.resize(run.kernel.locals.size());
  InterpretResult result;
  bool whole = false;
  try {
    PrepareArrays(run, arrays);
    PrepareBlocks(run);
    RunGrid(run, options, result.steps);
    whole = true;
  } catch (const Halt&) {
    // What was found is in `diagnostics`.
  } catch (const std::bad_alloc&) {
    diagnostics.Error("call", {}, "not enough memory to interpret this" + AtPoint(run));
  }
  result.outputs = FinishOutputs(run, whole);
  return result;
}

}  // namespace kiln
