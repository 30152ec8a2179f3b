#include "generator/predict/recorded.h"

#include <algorithm>

#include "generator/predict/steps/operands.h"
#include "generator/predict/timeline_builder.h"

namespace kiln {
namespace {

using Event = RecordedEvent::Kind;

/// A copy of a block with its place.
struct BlockOf {
  ShapeCopy copy;
  int64_t place = 0;
};

/// Operands in their order, whenever their copies were requested within a step.
void Take(std::vector<BlockOf>& from, std::vector<ShapeCopy>& copies,
          std::vector<int64_t>& blocks) {
  std::stable_sort(from.begin(), from.end(), [](const BlockOf& a, const BlockOf& b) {
    return a.copy.operand < b.copy.operand;
  });
  for (const BlockOf& block : from) {
    copies.push_back(block.copy);
    blocks.push_back(block.place);
  }
  from.clear();
}

/// The steps of a core, in the order of its events; the last one only holds what leaves at the end.
class Reader {
 public:
  explicit Reader(const std::vector<TimelineOperand>& operands) : operands_(operands) {}

  std::vector<StepRecord> Read(const std::vector<RecordedEvent>& events) {
    for (const RecordedEvent& event : events) ReadEvent(event);
    FinishStep();
    steps_.emplace_back();
    Take(out_, steps_.back().shape.out, steps_.back().out);
    return std::move(steps_);
  }

 private:
  void ReadEvent(const RecordedEvent& event) {
    const int32_t operand = event.ref < 0 ? -1 : OperandOf(operands_, event.ref);
    const BlockOf block{{operand, event.bytes}, event.place};
    switch (event.kind) {
      case Event::kStep:
        FinishStep();
        steps_.emplace_back();
        steps_.back().point = event.place;
        Take(out_, steps_.back().shape.out, steps_.back().out);
        in_ = std::move(next_in_);
        next_in_.clear();
        break;
      case Event::kCopyInNext:
        next_in_.push_back(block);
        break;
      case Event::kCopyIn:
        in_.push_back(block);
        break;
      case Event::kCopyOut:
        out_.push_back(block);
        break;
      case Event::kStart:
        steps_.back().shape.manual.push_back(
            {false, event.semaphore, operand, event.out, event.bytes, event.place});
        break;
      case Event::kWait:
        steps_.back().shape.manual.push_back({true, event.semaphore, -1, false, event.bytes});
        break;
    }
  }

  void FinishStep() {
    if (!steps_.empty()) Take(in_, steps_.back().shape.in, steps_.back().in);
  }

  const std::vector<TimelineOperand>& operands_;
  std::vector<StepRecord> steps_;
  std::vector<BlockOf> in_, next_in_, out_;
};

/// Fills in what the steps compute; the last one is none.
void AddWork(const Binding& binding, GridSteps& grid, std::vector<StepRecord>& steps) {
  const size_t rank = binding.steps.size();
  LanePoints lanes(rank, std::vector<int64_t>(kLanes));
  const size_t size = steps.size() - 1;
  for (size_t begin = 0; begin < size; begin += kLanes) {
    const int count = static_cast<int>(std::min<size_t>(kLanes, size - begin));
    for (int lane = 0; lane < kLanes; ++lane) {
      int64_t point = steps[begin + static_cast<size_t>(std::min(lane, count - 1))].point;
      for (size_t a = rank; a-- > 0; point /= binding.steps[a])
        lanes[a][static_cast<size_t>(lane)] = point % binding.steps[a];
    }
    grid.Evaluate(lanes, count);
    for (int lane = 0; lane < count; ++lane) {
      const auto shape = static_cast<size_t>(grid.ShapeAt(lane));
      steps[begin + static_cast<size_t>(lane)].shape.work = grid.table().shapes()[shape].work;
    }
  }
}

/// Schedules a core's steps and adds it to the timeline.
void AddCore(std::vector<StepRecord> steps, const std::vector<StepWork>& works,
             CoreSchedule schedule, Timeline& timeline) {
  const StepRecord after = std::move(steps.back());
  steps.pop_back();
  CoreTimelineBuilder builder(schedule);
  ShapeTable table;
  std::vector<int64_t> counts;
  for (const StepRecord& step : steps) {
    builder.Step(step, works[static_cast<size_t>(step.shape.work)]);
    const auto shape = static_cast<size_t>(table.Intern(step.shape));
    counts.resize(std::max(counts.size(), shape + 1));
    ++counts[shape];
  }
  builder.Finish(after);
  CountCopies(timeline, table.shapes(), counts, after.shape);
  timeline.cores.push_back(builder.Take());
}

}  // namespace

std::optional<Timeline> TimelineOf(const Binding& binding, const Machine& machine,
                                   const RecordedRun& run) {
  if (!run.complete) return std::nullopt;
  Timeline timeline = EmptyTimeline(binding, machine);
  timeline.emulated = true;
  const auto working = std::count_if(run.cores.begin(), run.cores.end(),
                                     [](const auto& events) { return !events.empty(); });
  const double copy_rate = machine.CopyRate(working);
  const CoreSchedule begin(machine, copy_rate, timeline.operands,
                           StartOf(timeline, machine, copy_rate));
  GridSteps grid(binding, machine, timeline.operands);
  const std::vector<CoreGrid> parts = CutGrid(binding, static_cast<int64_t>(run.cores.size()));
  for (size_t core = 0; core < run.cores.size() && core < parts.size(); ++core) {
    if (run.cores[core].empty()) continue;
    grid.Enter(parts[core]);
    std::vector<StepRecord> steps = Reader(timeline.operands).Read(run.cores[core]);
    AddWork(binding, grid, steps);
    AddCore(std::move(steps), grid.works(), begin, timeline);
  }
  timeline.works = grid.works();
  timeline.dot_flops_per_second = grid.workload().dot_rate;
  timeline.hbm_bytes_per_second = copy_rate;
  FinishTimeline(timeline, machine);
  return timeline;
}

}  // namespace kiln
