#include "generator/predict/predict.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "generator/predict/grid_walk.h"
#include "generator/predict/timeline_builder.h"

namespace kiln {
namespace {

constexpr auto kProgressInterval = std::chrono::milliseconds(100);

/// What a step takes that is looked at, and each operand's index map there.
constexpr double kStepSeconds = 50e-9, kMapSeconds = 15e-9;
/// … and what is made of one that is kept.
constexpr double kDrawSeconds = 2e-6;

void CollectHost(const Node& node, std::set<int>& refs) {
  if (node.op == Op::kRead) refs.insert(node.index);
  for (const NodePtr& arg : node.args) CollectHost(*arg, refs);
  for (const Subscript& subscript : node.subscripts) CollectHost(*subscript.start, refs);
}

/// "give `ids=@ids.npy` and `visits=…`" for what `node` reads and nobody gave.
std::string Missing(const Binding& binding, const std::vector<NodePtr>& nodes) {
  std::set<int> refs;
  for (const NodePtr& node : nodes) {
    if (node) CollectHost(*node, refs);
  }
  std::string text;
  for (const int ref : refs) {
    if (binding.host[static_cast<size_t>(ref)] != nullptr) continue;
    const Ref& of = (*binding.kernel)[RefId(ref)];
    const std::string value = of.role == Role::kScalar ? "=7" : "=@" + of.name + ".npy";
    text += (text.empty() ? "give it: " : " ") + of.name + value;
  }
  return text;
}

/// Whether all that decides the steps is known; else a diagnostic says what is not.
bool IsDecided(const Binding& binding, Diagnostics& diagnostics) {
  const Kernel& kernel = *binding.kernel;
  if (binding.steps.size() != kernel.axes.size()) {
    for (const Axis& axis : kernel.axes) {
      if (Evaluate(*axis.steps, binding, nullptr).fault == EvalFault::kNone) continue;
      diagnostics.Error("call", axis.span,
                        "how many steps `" + axis.name + "` has is not known: it is " +
                            ToString(*axis.steps, kernel),
                        Missing(binding, {axis.steps}));
    }
    return false;
  }
  for (size_t r = 0; r < kernel.refs.size(); ++r) {
    const int ref = static_cast<int>(r);
    if (!IsPipelined(kernel, ref)) continue;
    const Ref& of = kernel.refs[r];
    std::vector<NodePtr> nodes;
    for (const BlockDim& dim : of.block) {
      nodes.push_back(dim.index);
      nodes.push_back(dim.extent);
    }
    if (!SizesOf(binding, ref)) {
      diagnostics.Error("call", of.span, "the shape of `" + of.name + "` is not known",
                        "give its dimensions");
    } else if (!MapIsKnown(binding, ref)) {
      diagnostics.Error(
          "call", MapSpan(of),
          "the blocks of `" + of.name + "` are not known without what its index reads",
          Missing(binding, nodes));
    }
  }
  return !diagnostics.HasErrors();
}

/// Says why a prediction was given up.
void TooMuch(const Binding& binding, const GridSteps& steps, const PredictOptions& options,
             Diagnostics& diagnostics) {
  const bool kinds = static_cast<double>(steps.held_bytes()) > options.bytes;
  const std::string what =
      steps.cut_off() ? "a step has more than a million rounds of loops with copies"
      : kinds         ? "the steps are of more kinds than " + RoughBytes(options.bytes) + " hold"
                      : "the call would take the machine more than 100 days";
  diagnostics.Error("call", binding.kernel->axes.empty() ? Span() : binding.kernel->axes[0].span,
                    what + ": nothing is predicted",
                    "predict a smaller call that is cut into blocks the same way");
}

/// One core's steps, summed up or one by one.
class CorePrediction {
 public:
  CorePrediction(const Binding& binding, const PredictOptions& options, GridSteps& steps,
                 const CoreGrid& grid, Timeline& timeline)
      : binding_(binding), options_(options), steps_(steps), grid_(grid), timeline_(timeline) {}

  /// False when there was too much to report.
  bool Run(CoreSchedule schedule) {
    steps_.Enter(grid_);
    const bool detailed = grid_.Steps() <= Timeline::kMaxSteps;
    TimelineCore core;
    if (options_.detail && detailed) {
      core = StepByStep(schedule);
    } else {
      const CoreSchedule begin = schedule;
      core = Summed(schedule);
      if (options_.detail) AddFirstSteps(begin, core);
    }
    core.detailed = detailed;
    timeline_.cores.push_back(std::move(core));
    return whole_ && !steps_.cut_off();
  }

 private:
  TimelineCore Summed(CoreSchedule& schedule) {
    SegmentList segments;
    AddSums add;
    if (options_.detail)
      add = [&](const StepSums& sums, int64_t times) { segments.Add(sums, times); };
    GridWalk walk(grid_, steps_.axis_uses(), steps_, schedule);
    whole_ = walk.Run(add, Progress(), options_.bytes);
    const StepShape after = steps_.AfterLast();
    schedule.Finish(after.out);
    whole_ = whole_ && !schedule.sums().overflow();
    CountCopies(timeline_, steps_.table().shapes(), walk.shape_counts(), after);
    TimelineCore core;
    core.totals = schedule.sums().Totals();
    core.segments = segments.Take();
    return core;
  }

  TimelineCore StepByStep(CoreSchedule& schedule) {
    CoreTimelineBuilder builder(schedule);
    const std::vector<int64_t> counts = AddSteps(grid_.Steps(), builder);
    const StepRecord after = After();
    builder.Finish(after);
    CountCopies(timeline_, steps_.table().shapes(), counts, after.shape);
    return builder.Take();
  }

  /// Of a core that has too many, so that they can be looked at.
  void AddFirstSteps(CoreSchedule schedule, TimelineCore& core) {
    CoreTimelineBuilder builder(schedule);
    AddSteps(Timeline::kFirstSteps, builder);
    TimelineCore first = builder.Take();
    core.steps = std::move(first.steps);
    core.copies = std::move(first.copies);
  }

  /// How often they had each shape.
  std::vector<int64_t> AddSteps(int64_t limit, CoreTimelineBuilder& builder) {
    std::vector<int64_t> counts;
    LanePoints lanes(binding_.steps.size(), std::vector<int64_t>(kLanes));
    std::vector<int64_t> at = grid_.begin;
    bool more = true;
    while (more && limit > 0) {
      int count = 0;
      while (more && count < std::min<int64_t>(kLanes, limit)) {
        for (size_t a = 0; a < at.size(); ++a)
          std::fill(lanes[a].begin() + count, lanes[a].end(), at[a]);
        ++count;
        more = grid_.Next(at);
      }
      limit -= count;
      steps_.Evaluate(lanes, count);
      for (int lane = 0; lane < count; ++lane) {
        const auto shape = static_cast<size_t>(steps_.ShapeAt(lane));
        if (counts.size() <= shape) counts.resize(shape + 1);
        ++counts[shape];
        const StepRecord step = RecordOf(lanes, lane);
        builder.Step(step, steps_.works()[static_cast<size_t>(step.shape.work)]);
      }
    }
    return counts;
  }

  StepRecord RecordOf(const LanePoints& lanes, int lane) {
    StepRecord step;
    std::vector<int64_t> at;
    for (const std::vector<int64_t>& axis : lanes) at.push_back(axis[static_cast<size_t>(lane)]);
    step.point = NumberOf(binding_, at);
    step.shape = steps_.table().shapes()[static_cast<size_t>(steps_.ShapeAt(lane))];
    if (!step.shape.manual.empty()) step.shape.manual = steps_.ManualAt(lane);
    for (const ShapeCopy& copy : step.shape.in)
      step.in.push_back(steps_.BlockAt(copy.operand, lane, /*before=*/false));
    for (const ShapeCopy& copy : step.shape.out)
      step.out.push_back(steps_.BlockAt(copy.operand, lane, /*before=*/true));
    return step;
  }

  StepRecord After() {
    StepRecord after;
    after.shape = steps_.AfterLast();
    for (const ShapeCopy& copy : after.shape.out)
      after.out.push_back(steps_.BlockAt(copy.operand, 0, /*before=*/true));
    return after;
  }

  std::function<void(double)> Progress() const {
    if (!options_.progress) return nullptr;
    auto next = std::chrono::steady_clock::now() + kProgressInterval;
    return [this, next](double share) mutable {
      const auto now = std::chrono::steady_clock::now();
      if (now < next) return;
      next = now + kProgressInterval;
      options_.progress(share);
    };
  }

  const Binding& binding_;
  const PredictOptions& options_;
  GridSteps& steps_;
  const CoreGrid& grid_;
  Timeline& timeline_;
  bool whole_ = true;
};

/// The parts of the grid that cores have.
std::vector<CoreGrid> GridsOf(const Binding& binding, const Machine& machine,
                              const PredictOptions& options) {
  std::vector<CoreGrid> grids = CutGrid(binding, options.cores > 0 ? options.cores : machine.cores);
  std::erase_if(grids, [](const CoreGrid& grid) { return grid.IsEmpty(); });
  return grids;
}

}  // namespace

Demand PredictDemand(const Binding& binding, const Machine& machine,
                     const PredictOptions& options) {
  Diagnostics ignored;
  if (!IsDecided(binding, ignored)) return {};
  const Timeline timeline = EmptyTimeline(binding, machine);
  GridSteps steps(binding, machine, timeline.operands);
  const auto operands = static_cast<double>(timeline.operands.size());
  Demand demand;
  for (const CoreGrid& grid : GridsOf(binding, machine, options)) {
    const bool detailed = options.detail && grid.Steps() <= Timeline::kMaxSteps;
    const int64_t first = options.detail ? Timeline::kFirstSteps : 0;
    const int64_t listed = detailed ? grid.Steps() : std::min(first, grid.Steps());
    const int64_t walked = detailed ? 0 : GridWalk::PointsOf(grid, steps.axis_uses());
    demand.seconds +=
        static_cast<double>(walked + listed) * (kStepSeconds + operands * kMapSeconds);
    demand.seconds += static_cast<double>(listed) * kDrawSeconds;
    demand.bytes += static_cast<double>(listed) * (sizeof(TimelineStep) + sizeof(BlockCopy));
  }
  return demand;
}

std::optional<Timeline> Predict(const Binding& binding, const Machine& machine,
                                const PredictOptions& options, Diagnostics& diagnostics) {
  if (!IsDecided(binding, diagnostics)) return std::nullopt;
  Timeline timeline = EmptyTimeline(binding, machine);
  const std::vector<CoreGrid> grids = GridsOf(binding, machine, options);
  const double copy_rate = machine.CopyRate(static_cast<int64_t>(grids.size()));
  const CoreSchedule begin(machine, copy_rate, timeline.operands,
                           StartOf(timeline, machine, copy_rate));
  GridSteps steps(binding, machine, timeline.operands);
  for (const CoreGrid& grid : grids) {
    if (CorePrediction(binding, options, steps, grid, timeline).Run(begin)) continue;
    TooMuch(binding, steps, options, diagnostics);
    return std::nullopt;
  }
  timeline.works = steps.works();
  timeline.dot_flops_per_second = steps.workload().dot_rate;
  timeline.hbm_bytes_per_second = copy_rate;
  FinishTimeline(timeline, machine);
  return timeline;
}

}  // namespace kiln
