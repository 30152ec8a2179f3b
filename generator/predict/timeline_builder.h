#pragma once

#include <string>
#include <vector>

#include "generator/predict/schedule.h"
#include "generator/predict/steps/grid_steps.h"

namespace kiln {

/// One step of a core before it has times.
struct StepRecord {
  int64_t point = 0;
  StepShape shape;
  std::vector<int64_t> in, out;  // the blocks of the shape's copies
};

/// Sums in runs of about equally many steps, whose number stays within bounds.
class SegmentList {
 public:
  void Add(const StepSums& sums, int64_t times);
  std::vector<TimelineSegment> Take();

 private:
  void AddRun(const StepSums& sums, int64_t times);
  void Halve();

  std::vector<StepSums> runs_;
  int64_t granule_ = 1;  // steps of a run, if they come one by one
};

/// A timeline without cores: what the binding and the machine say.
Timeline EmptyTimeline(const Binding& binding, const Machine& machine);

/// Gives a core's steps their times, and adds the core to the timeline step by step.
class CoreTimelineBuilder {
 public:
  explicit CoreTimelineBuilder(CoreSchedule& schedule);

  void Step(const StepRecord& step, const StepWork& work);
  /// Blocks that the last step leaves.
  void Finish(const StepRecord& after);
  TimelineCore Take();

 private:
  void AddCopies(const std::vector<ShapeCopy>& copies, const std::vector<int64_t>& blocks, bool out,
                 size_t& time);

  CoreSchedule& schedule_;
  TimelineCore core_;
  SegmentList segments_;
  StepSums added_;
};

/// When the steps begin: prefetch arrays go to SMEM first.
Picoseconds StartOf(const Timeline& timeline, const Machine& machine, double copy_rate);

/// Copies and bytes of the operands: a core of so many steps had each shape so often, and ended
/// with the copies of `after`.
void CountCopies(Timeline& timeline, const std::vector<StepShape>& shapes,
                 const std::vector<int64_t>& counts, const StepShape& after);

/// The sums of the call, when all cores are there.
void FinishTimeline(Timeline& timeline, const Machine& machine);

}  // namespace kiln
