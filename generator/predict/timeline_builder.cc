#include "generator/predict/timeline_builder.h"

#include <algorithm>

#include "generator/data/array.h"
#include "generator/predict/steps/operands.h"
#include "generator/text/integer.h"

namespace kiln {

void SegmentList::Add(const StepSums& sums, int64_t times) {
  // Many repetitions would hide in one run what happens between them.
  constexpr int64_t kParts = 64;
  const int64_t parts = std::min(times, kParts);
  for (int64_t p = 0; p < parts; ++p) AddRun(sums, times / parts + (p < times % parts ? 1 : 0));
}

void SegmentList::AddRun(const StepSums& sums, int64_t times) {
  const bool full =
      runs_.empty() ||
      SaturatingAdd(runs_.back().steps, SaturatingMultiply(sums.steps, times)) > granule_;
  if (full) runs_.emplace_back();
  runs_.back().Add(sums, times);
  if (static_cast<int64_t>(runs_.size()) > Timeline::kMaxSegments) Halve();
}

void SegmentList::Halve() {
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (i % 2 == 0)
      runs_[i / 2] = runs_[i];
    else
      runs_[i / 2].Add(runs_[i]);
  }
  runs_.resize((runs_.size() + 1) / 2);
  granule_ = SaturatingMultiply(granule_, 2);
}

std::vector<TimelineSegment> SegmentList::Take() {
  std::vector<TimelineSegment> segments;
  StepSums before;
  for (const StepSums& run : runs_) {
    segments.push_back({before.steps, ToSeconds(before.time), run.Totals()});
    before.Add(run);
  }
  return segments;
}

Timeline EmptyTimeline(const Binding& binding, const Machine& machine) {
  const Kernel& kernel = *binding.kernel;
  Timeline timeline;
  timeline.kernel = kernel.instance.empty() ? kernel.name : kernel.instance;
  timeline.machine = machine.name;
  for (size_t a = 0; a < kernel.axes.size(); ++a)
    timeline.axes.push_back({kernel.axes[a].name, binding.steps[a], kernel.axes[a].parallel});
  timeline.operands = TimelineOperands(binding);
  timeline.vmem_bytes = MemoryBytes(timeline.operands, /*in_smem=*/false);
  timeline.smem_bytes = MemoryBytes(timeline.operands, /*in_smem=*/true);
  timeline.vmem_budget = machine.vmem;
  timeline.smem_budget = machine.smem;
  timeline.dispatch = machine.call_seconds;
  for (TimelineOperand& operand : timeline.operands) {
    const Array* host = binding.host[static_cast<size_t>(operand.ref)];
    if (operand.kind == TimelineOperand::Kind::kPrefetch && host != nullptr)
      operand.bytes = static_cast<int64_t>(host->bytes.size());
  }
  return timeline;
}

CoreTimelineBuilder::CoreTimelineBuilder(CoreSchedule& schedule) : schedule_(schedule) {}

/// `time`: of the next of the schedule's transfers.
void CoreTimelineBuilder::AddCopies(const std::vector<ShapeCopy>& copies,
                                    const std::vector<int64_t>& blocks, bool out, size_t& time) {
  for (size_t c = 0; c < copies.size(); ++c, ++time) {
    const CoreSchedule::CopyTimes& when = schedule_.copies()[time];
    core_.copies.push_back({copies[c].operand, out, false, blocks[c], copies[c].bytes,
                            ToSeconds(when.begin), ToSeconds(when.end)});
    ++core_.steps.back().copies;
  }
}

void CoreTimelineBuilder::Step(const StepRecord& step, const StepWork& work) {
  const CoreSchedule::StepTimes times = schedule_.Step(step.shape, work);
  size_t of_out = step.shape.in.size();
  if (!core_.steps.empty()) AddCopies(step.shape.out, step.out, /*out=*/true, of_out);
  core_.steps.push_back({step.point, step.shape.work, 0, static_cast<int64_t>(core_.copies.size()),
                         ToSeconds(times.begin), ToSeconds(times.compute), ToSeconds(times.end)});
  size_t of_in = 0;
  AddCopies(step.shape.in, step.in, /*out=*/false, of_in);
  size_t time = step.shape.in.size() + step.shape.out.size();
  for (const ManualEvent& event : step.shape.manual) {
    if (event.wait) continue;
    const CoreSchedule::CopyTimes& when = schedule_.copies()[time++];
    if (event.operand < 0) continue;
    core_.copies.push_back({event.operand, event.out, true, event.block, event.bytes,
                            ToSeconds(when.begin), ToSeconds(when.end)});
    ++core_.steps.back().copies;
  }
  segments_.Add(schedule_.sums().Since(added_), 1);
  added_ = schedule_.sums();
}

void CoreTimelineBuilder::Finish(const StepRecord& after) {
  schedule_.Finish(after.shape.out);
  size_t time = 0;
  if (!core_.steps.empty()) AddCopies(after.shape.out, after.out, /*out=*/true, time);
}

TimelineCore CoreTimelineBuilder::Take() {
  core_.totals = schedule_.sums().Totals();
  core_.segments = segments_.Take();
  return std::move(core_);
}

Picoseconds StartOf(const Timeline& timeline, const Machine& machine, double copy_rate) {
  int64_t bytes = 0;
  for (const TimelineOperand& operand : timeline.operands) {
    if (operand.kind == TimelineOperand::Kind::kPrefetch && !operand.dims.empty())
      bytes += operand.bytes;
  }
  if (bytes == 0) return 0;
  return ToPicoseconds(static_cast<double>(bytes) / copy_rate + machine.dma_seconds);
}

void CountCopies(Timeline& timeline, const std::vector<StepShape>& shapes,
                 const std::vector<int64_t>& counts, const StepShape& after) {
  int64_t steps = 0;
  const auto add = [&](int32_t operand, int64_t bytes, int64_t times) {
    if (operand < 0) return;
    TimelineOperand& of = timeline.operands[static_cast<size_t>(operand)];
    of.copies = SaturatingAdd(of.copies, times);
    of.bytes = SaturatingAdd(of.bytes, SaturatingMultiply(bytes, times));
  };
  for (size_t s = 0; s < counts.size(); ++s) {
    steps += counts[s];
    for (const ShapeCopy& copy : shapes[s].in) add(copy.operand, copy.bytes, counts[s]);
    for (const ShapeCopy& copy : shapes[s].out) add(copy.operand, copy.bytes, counts[s]);
    for (const ManualEvent& event : shapes[s].manual) {
      if (!event.wait) add(event.operand, event.bytes, counts[s]);
    }
  }
  for (const ShapeCopy& copy : after.out) add(copy.operand, copy.bytes, 1);
  for (TimelineOperand& operand : timeline.operands) {
    using Kind = TimelineOperand::Kind;
    if (operand.kind == Kind::kInput || operand.kind == Kind::kOutput)
      operand.skipped += steps;  // the grid has fewer than 2^63
  }
}

void FinishTimeline(Timeline& timeline, const Machine& machine) {
  using Kind = TimelineOperand::Kind;
  const auto cores = static_cast<int64_t>(timeline.cores.size());
  for (TimelineOperand& operand : timeline.operands) {
    if (operand.kind == Kind::kInput || operand.kind == Kind::kOutput)
      operand.skipped -= operand.copies;
    if (operand.kind != Kind::kPrefetch || operand.dims.empty()) continue;
    operand.copies = cores;
    operand.bytes = SaturatingMultiply(operand.bytes, cores);
  }
  double longest = 0;
  for (const TimelineCore& core : timeline.cores) longest = std::max(longest, core.totals.seconds);
  timeline.seconds = machine.call_seconds + longest;
}

}  // namespace kiln
