#include "generator/interpret/interpret.h"

#include <chrono>
#include <new>

#include "generator/interpret/blocks.h"
#include "generator/interpret/body.h"
#include "generator/interpret/copies.h"
#include "generator/interpret/finish.h"
#include "generator/interpret/grid.h"
#include "generator/interpret/hbm.h"

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
  for (const int64_t parallel : ParallelOrder(steps / run.serial_steps, options.shuffle)) {
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

InterpretResult Interpret(const Binding& binding, const std::map<std::string, Array>& arrays,
                          const InterpretOptions& options, Diagnostics& diagnostics) {
  using namespace interpret;
  Run run(binding, options.wide, diagnostics);
  for (size_t axis = 0; axis < run.kernel.axes.size(); ++axis) {
    if (!run.kernel.axes[axis].parallel) run.serial_steps *= binding.steps[axis];
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
