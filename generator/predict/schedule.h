#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "generator/predict/machine/machine.h"
#include "generator/predict/steps/step_shape.h"
#include "generator/text/integer.h"

/// From what steps do to when they do it. The one place that knows how a core overlaps copies and
/// computation, whoever says what the steps are.
namespace kiln {

/// Simulated time, whole so that equal steps take equal times wherever they stand.
using Picoseconds = int64_t;
/// Longer than any call; sums of times saturate.
inline constexpr Picoseconds kEndOfTime = INT64_MAX;
inline Picoseconds ToPicoseconds(double seconds) {
  return static_cast<Picoseconds>(std::min(seconds * 1e12 + 0.5, 0x1p62));
}
inline Picoseconds Later(Picoseconds at, Picoseconds by) { return SaturatingAdd(at, by); }
inline double ToSeconds(Picoseconds time) { return static_cast<double>(time) * 1e-12; }

/// Sums over steps. They saturate.
struct StepSums {
  int64_t steps = 0, skipped_steps = 0;
  int64_t copies_in = 0, copies_out = 0;
  int64_t bytes_in = 0, bytes_out = 0;
  double flops = 0;
  Picoseconds time = 0, wait = 0, mxu = 0, vpu = 0, dma = 0;

  void Add(const StepSums& other, int64_t times = 1);
  /// What came since `before`.
  StepSums Since(const StepSums& before) const;
  /// Some sum does not fit.
  bool overflow() const;
  TimelineTotals Totals() const;
};

/// One core:
///
/// - Blocks of the next step are requested when a step begins (with n buffers: n - 1 steps ahead;
///   with one: when the step before has ended), blocks that a step leaves are sent when it ends.
/// - A DMA queue moves one copy after the other at the core's share of the HBM.
/// - A step begins when the one before has ended, waits for its blocks (`dma_seconds` after their
///   last byte) and, where it opens an output block, for a free slot; then it computes.
/// - It takes at least `step_seconds`, or `skipped_step_seconds` if it neither copies nor computes.
class CoreSchedule {
 public:
  CoreSchedule(const Machine& machine, double copy_rate,
               const std::vector<TimelineOperand>& operands, Picoseconds start);

  /// When a step or a copy happened.
  struct StepTimes {
    Picoseconds begin = 0, compute = 0, end = 0;
  };
  struct CopyTimes {
    Picoseconds begin = 0, end = 0;
  };

  StepTimes Step(const StepShape& shape, const StepWork& work);
  /// The transfers of the last Step (or Finish): those in, those out, then manual ones.
  const std::vector<CopyTimes>& copies() const { return copies_; }
  /// After the last step: the blocks that it leaves go out.
  void Finish(const std::vector<ShapeCopy>& out);

  const StepSums& sums() const { return sums_; }
  Picoseconds now() const { return now_; }

  /// All that later steps can depend on, relative to now: equal states have equal futures.
  std::vector<int64_t> State() const;
  /// Passes over steps that would do `times` times what was done since `before`, and that would
  /// lead to the state that there is now.
  void Repeat(const StepSums& before, int64_t times);

 private:
  struct InFlight {
    Picoseconds end;
    int64_t bytes;  // that nobody has waited for
  };

  CopyTimes Transfer(Picoseconds requested, int64_t bytes);
  Picoseconds CopyIn(const StepShape& shape);
  Picoseconds CopyOut(const std::vector<ShapeCopy>& out);
  Picoseconds RunBody(const StepShape& shape, Picoseconds at, Picoseconds work);

  const double picoseconds_per_byte_;
  const Picoseconds latency_, floor_, skipped_floor_;
  std::vector<int64_t> buffers_;  // by operand
  size_t depth_ = 1;              // how many begins are remembered

  Picoseconds now_;
  Picoseconds dma_free_;                                // the queue is empty from then on
  std::vector<Picoseconds> begins_;                     // of the last steps, the newest first
  std::vector<std::vector<Picoseconds>> outs_;          // by operand: when its last copies out end
  std::map<int64_t, std::vector<InFlight>> in_flight_;  // by semaphore, oldest first
  StepSums sums_;
  std::vector<CopyTimes> copies_;
};

}  // namespace kiln
