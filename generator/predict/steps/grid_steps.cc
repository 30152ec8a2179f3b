#include "generator/predict/steps/grid_steps.h"

#include <algorithm>

#include "generator/predict/steps/affine.h"
#include "generator/predict/steps/operands.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

void Fill(IndexProgram& program, int reg, const std::vector<int64_t>& from) {
  std::copy(from.begin(), from.end(), program.Fill(reg));
}

}  // namespace

GridSteps::GridSteps(const Binding& binding, const Machine& machine,
                     const std::vector<TimelineOperand>& operands)
    : binding_(binding),
      kernel_(*binding.kernel),
      workload_(WorkloadOf(binding, machine)),
      hash_(kLanes),
      shape_(kLanes),
      events_(kLanes) {
  for (size_t o = 0; o < operands.size(); ++o) {
    const TimelineOperand& operand = operands[o];
    const bool output = operand.kind == TimelineOperand::Kind::kOutput;
    if (!output && operand.kind != TimelineOperand::Kind::kInput) continue;
    Pipelined pipelined;
    pipelined.operand = static_cast<int32_t>(o);
    pipelined.ref = operand.ref;
    pipelined.output = output;
    pipelined.map = CompileMap(binding, operand.ref);
    pipelined.sizes = *SizesOf(binding, operand.ref);
    int64_t stride = 1;
    for (size_t d = operand.dims.size(); d-- > 0;) {
      pipelined.strides.insert(pipelined.strides.begin(), stride);
      stride = SaturatingMultiply(stride, operand.dims[d].positions);
    }
    for (auto* lanes : {&pipelined.block, &pipelined.block_before, &pipelined.bytes,
                        &pipelined.bytes_before, &pipelined.moved})
      lanes->resize(kLanes);
    pipelined_.push_back(std::move(pipelined));
  }
  manual_ = ManualCopies::Make(binding, operands, workload_.locals);
  AddConditions();
}

/// One program that says how often each guarded part of the body runs: 0 or 1 times the steps of
/// the loops around it. What data decides counts as true, and as one step; as all the turns that
/// `while` may take, if it says so.
void GridSteps::AddConditions() {
  ProgramBuilder builder(binding_, &workload_.locals, /*visits=*/true);
  const int zero = builder.AddConstant(0);
  for (const GuardedWork& work : workload_.guarded) {
    int runs = builder.AddConstant(1);
    for (const Enclosing& around : work.enclosing) {
      if (around.condition) {
        const int holds = builder.AddCondition(*around.condition, /*assume=*/!around.negated);
        runs = builder.AddSelect(around.negated ? builder.AddNot(holds) : holds, runs, zero);
        if (around.high) runs = builder.AddBinary(Op::kMul, runs, builder.Add(*around.high));
      } else if (builder.Known(*around.low) && builder.Known(*around.high)) {
        const int low = builder.Add(*around.low);
        const int steps = builder.AddBinary(Op::kSub, builder.Add(*around.high), low);
        runs = builder.AddBinary(Op::kMul, runs, builder.AddBinary(Op::kMax, steps, zero));
      }
    }
    runs_.push_back(runs);
  }
  // Manual copies ask this program for the first and last steps of stays.
  if (manual_) {
    manual_->ForEachDecision([&](const Node& node) {
      if (builder.Known(node)) builder.Add(node);
    });
  }
  conditions_ = builder.Finish();
  for (const ProgramInput& input : conditions_.inputs()) {
    if (input.kind != ProgramInput::Kind::kAxis)
      visited_.try_emplace(input.index, CompileMap(binding_, input.index));
  }
}

GridSteps::Blocks GridSteps::BlocksAt(MapProgram& map, const LanePoints& points, int count) {
  IndexProgram& program = map.program;
  for (const ProgramInput& input : program.inputs())
    Fill(program, input.reg, points[static_cast<size_t>(input.index)]);
  program.Run(count, ~uint64_t{0});
  Blocks blocks;
  for (const std::vector<int>& registers : {map.index, map.extent}) {
    for (const int reg : registers) {
      const int64_t* lanes = reg < 0 ? nullptr : program.Lanes(reg);
      blocks.index.emplace_back(lanes, lanes == nullptr ? lanes : lanes + kLanes);
    }
  }
  return blocks;
}

/// A block's number, and its bytes inside the array.
void GridSteps::Number(const Pipelined& operand, const Blocks& blocks, int count,
                       std::vector<int64_t>& block, std::vector<int64_t>& bytes) const {
  const DType dtype = kernel_.refs[size_t(operand.ref)].dtype;
  const size_t rank = operand.sizes.size();
  std::fill(block.begin(), block.end(), 0);
  std::fill(bytes.begin(), bytes.end(), rank == 0 ? RowBytes(dtype, 1) : 1);
  for (size_t d = 0; d < rank; ++d) {
    const DimSizes& sizes = operand.sizes[d];
    const std::vector<int64_t>& index = blocks.index[d];
    const std::vector<int64_t>& extent = blocks.index[rank + d];
    for (int i = 0; i < count; ++i) {
      const auto lane = static_cast<size_t>(i);
      const int64_t at = index.empty() ? 0 : index[lane];
      const auto [low, high] = sizes.Elements(at, extent.empty() ? 0 : extent[lane]);
      bytes[lane] =
          SaturatingMultiply(bytes[lane], d + 1 == rank ? RowBytes(dtype, high - low) : high - low);
      // An index out of range is a diagnostic of others; here it needs a place all the same.
      const int64_t place = std::clamp<int64_t>(at, 0, std::max<int64_t>(sizes.Limit() - 1, 0));
      block[lane] = SaturatingAdd(block[lane], SaturatingMultiply(place, operand.strides[d]));
    }
  }
}

/// The steps before (or after) the points on the same core, whether there are any, and whether they
/// have the same coordinates along the parallel axes.
void GridSteps::Neighbours(const LanePoints& points, int count, bool forward, LanePoints& to,
                           std::vector<int64_t>& exists, std::vector<int64_t>& same_run) const {
  to = points;
  exists.assign(kLanes, 0);
  same_run.assign(kLanes, 0);
  std::vector<int64_t> at(points.size());
  for (size_t lane = 0; lane < static_cast<size_t>(count); ++lane) {
    for (size_t a = 0; a < points.size(); ++a) at[a] = points[a][lane];
    if (!(forward ? grid_->Next(at) : grid_->Previous(at))) continue;
    exists[lane] = same_run[lane] = 1;
    for (size_t a = 0; a < points.size(); ++a) {
      to[a][lane] = at[a];
      if (kernel_.axes[a].parallel && at[a] != points[a][lane]) same_run[lane] = 0;
    }
  }
}

void GridSteps::Evaluate(const LanePoints& points, int count) {
  std::fill(hash_.begin(), hash_.end(), 0);
  EvaluateCopies(points, count);
  EvaluateConditions(points, count);
  if (manual_) {
    ManualCopies::Step step;
    step.axes.resize(points.size());
    for (int lane = 0; lane < count; ++lane) {
      const auto l = static_cast<size_t>(lane);
      for (size_t a = 0; a < points.size(); ++a) step.axes[a] = points[a][l];
      step.visit = [&](int ref, bool last) {
        // The program of the conditions has computed this, if anything asks.
        for (const ProgramInput& input : conditions_.inputs()) {
          const auto kind = last ? ProgramInput::Kind::kLastVisit : ProgramInput::Kind::kFirstVisit;
          if (input.kind == kind && input.index == ref) return conditions_.Lanes(input.reg)[l] != 0;
        }
        return true;
      };
      manual_->Run(step, events_[l]);
      for (const ManualEvent& event : events_[l])
        hash_[l] = Mixed(Mixed(hash_[l], event.semaphore * 2 + event.wait), event.bytes);
    }
  }
  for (int lane = 0; lane < count; ++lane) {
    const auto l = static_cast<size_t>(lane);
    const auto [found, is_new] = seen_.try_emplace(hash_[l], 0);
    if (is_new) found->second = InternAt(lane);
    shape_[l] = found->second;
  }
}

void GridSteps::EvaluateCopies(const LanePoints& points, int count) {
  Neighbours(points, count, /*forward=*/false, before_, exists_, same_run_);
  for (Pipelined& operand : pipelined_) {
    const Blocks now = BlocksAt(operand.map, points, count);
    const Blocks before = BlocksAt(operand.map, before_, count);
    Number(operand, now, count, operand.block, operand.bytes);
    Number(operand, before, count, operand.block_before, operand.bytes_before);
    for (size_t lane = 0; lane < static_cast<size_t>(count); ++lane) {
      bool moved = exists_[lane] == 0 || (operand.output && same_run_[lane] == 0);
      for (size_t r = 0; r < now.index.size() && !moved; ++r)
        moved = !now.index[r].empty() && now.index[r][lane] != before.index[r][lane];
      operand.moved[lane] = moved;
      const int64_t bytes = operand.output ? operand.bytes_before[lane] : operand.bytes[lane];
      const bool copies = moved && !(operand.output && exists_[lane] == 0);
      hash_[lane] = Mixed(hash_[lane], copies ? bytes : -1);
    }
  }
}

/// A step is the first (last) of a stay when the step before (after) has another block or other
/// parallel coordinates; see Sweep::FillVisit.
void GridSteps::FillVisit(const ProgramInput& input, const LanePoints& points, int count) {
  const bool last = input.kind == ProgramInput::Kind::kLastVisit;
  if (last && exists_after_.empty())
    Neighbours(points, count, /*forward=*/true, after_, exists_after_, same_run_after_);
  const Blocks here = BlocksAt(visited_.at(input.index), points, count);
  const Blocks there = BlocksAt(visited_.at(input.index), last ? after_ : before_, count);
  int64_t* to = conditions_.Fill(input.reg);
  std::fill_n(to, kLanes, 0);
  for (size_t lane = 0; lane < static_cast<size_t>(count); ++lane) {
    to[lane] = (last ? same_run_after_ : same_run_)[lane] == 0;
    for (size_t r = 0; r < here.index.size(); ++r) {
      if (!here.index[r].empty()) to[lane] |= here.index[r][lane] != there.index[r][lane];
    }
  }
}

void GridSteps::EvaluateConditions(const LanePoints& points, int count) {
  exists_after_.clear();
  for (const ProgramInput& input : conditions_.inputs()) {
    if (input.kind == ProgramInput::Kind::kAxis)
      Fill(conditions_, input.reg, points[static_cast<size_t>(input.index)]);
    else
      FillVisit(input, points, count);
  }
  conditions_.Run(count, ~uint64_t{0});
  for (const int runs : runs_) {
    const int64_t* lanes = conditions_.Lanes(runs);
    for (size_t lane = 0; lane < static_cast<size_t>(count); ++lane)
      hash_[lane] = Mixed(hash_[lane], lanes[lane]);
  }
}

int32_t GridSteps::WorkAt(int lane) {
  std::vector<int64_t> times;
  for (const int runs : runs_) times.push_back(conditions_.Lanes(runs)[lane]);
  const auto [found, is_new] =
      work_of_runs_.try_emplace(times, static_cast<int32_t>(works_.size()));
  if (!is_new) return found->second;
  Cost cost;
  std::vector<int> lines;
  for (size_t g = 0; g < times.size(); ++g) {
    const GuardedWork& work = workload_.guarded[g];
    cost.Add(work.cost, static_cast<double>(times[g]));
    if (times[g] > 0) lines.insert(lines.end(), work.lines.begin(), work.lines.end());
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  StepWork work{cost.none(), cost.flops, cost.mxu_seconds, cost.vpu_seconds, cost.vector_ops, ""};
  for (const int line : lines)
    work.statements += (work.statements.empty() ? "" : ", ") + std::to_string(line);
  if (!lines.empty()) work.statements = (lines.size() > 1 ? "lines " : "line ") + work.statements;
  works_.push_back(std::move(work));
  return found->second;
}

int32_t GridSteps::InternAt(int lane) {
  const auto l = static_cast<size_t>(lane);
  StepShape shape;
  for (const Pipelined& operand : pipelined_) {
    if (!operand.moved[l]) continue;
    if (!operand.output)
      shape.in.push_back({operand.operand, operand.bytes[l]});
    else if (exists_[l] != 0)
      shape.out.push_back({operand.operand, operand.bytes_before[l]});
  }
  if (manual_) shape.manual = events_[l];
  shape.work = WorkAt(lane);
  return table_.Intern(shape);
}

int64_t GridSteps::BlockAt(int32_t operand, int lane, bool before) const {
  for (const Pipelined& of : pipelined_) {
    if (of.operand != operand) continue;
    return (before ? of.block_before : of.block)[static_cast<size_t>(lane)];
  }
  return 0;
}

const std::vector<ManualEvent>& GridSteps::ManualAt(int lane) const {
  return events_[static_cast<size_t>(lane)];
}

StepShape GridSteps::AfterLast() {
  StepShape shape;
  LanePoints points;
  for (const int64_t end : grid_->end) points.emplace_back(kLanes, end - 1);
  for (Pipelined& operand : pipelined_) {
    if (!operand.output) continue;
    Number(operand, BlocksAt(operand.map, points, 1), 1, operand.block_before,
           operand.bytes_before);
    shape.out.push_back({operand.operand, operand.bytes_before[0]});
  }
  return shape;
}

int64_t GridSteps::held_bytes() const {
  constexpr int64_t kShapeBytes = 400, kWorkBytes = 400;  // with their entries in tables
  return static_cast<int64_t>(table_.shapes().size()) * kShapeBytes +
         static_cast<int64_t>(works_.size()) * kWorkBytes;
}

void GridSteps::MergeUse(const Node& node, std::vector<AxisUse>& use) const {
  // First and last steps are walked by themselves, whatever an axis is used for.
  if (node.op == Op::kAxis) use[static_cast<size_t>(node.index)] = AxisUse::kFull;
  if (node.op == Op::kFirstVisit || node.op == Op::kLastVisit) {
    for (const Pipelined& operand : pipelined_) {
      if (operand.ref == node.index) MergeMapUse(operand, use);
    }
  }
  if (node.op == Op::kLocal) {
    const auto let = workload_.locals.lets.find(node.index);
    if (let != workload_.locals.lets.end()) MergeUse(*let->second, use);
  }
  for (const NodePtr& arg : node.args) MergeUse(*arg, use);
  for (const Subscript& subscript : node.subscripts) MergeUse(*subscript.start, use);
}

/// An affine index changes from a step to the next by what only depends on which axis moved on, so
/// that coordinates do not matter; unless they decide how much of a block is inside of its array.
void GridSteps::MergeMapUse(const Pipelined& operand, std::vector<AxisUse>& use) const {
  const Ref& ref = kernel_[RefId(operand.ref)];
  for (size_t d = 0; d < ref.block.size(); ++d) {
    const BlockDim& dim = ref.block[d];
    if (dim.kind == BlockDim::Kind::kAll) continue;
    const auto affine = AffineOf(*dim.index, binding_);
    if (!affine || dim.extent) {
      MergeUse(*dim.index, use);
      if (dim.extent) MergeUse(*dim.extent, use);
      continue;
    }
    const DimSizes& sizes = operand.sizes[d];
    const auto whole = [&](int64_t index) {
      const auto [low, high] = sizes.Elements(index, 0);
      return high - low == sizes.size;
    };
    int64_t least = affine->constant, most = affine->constant;
    std::vector<size_t> axes;
    for (size_t a = 0; a < affine->factors.size(); ++a) {
      const int64_t factor = affine->factors[a];
      if (factor == 0 || binding_.steps[a] <= 1) continue;
      int64_t& end = factor < 0 ? least : most;
      end = SaturatingAdd(end, SaturatingMultiply(factor, binding_.steps[a] - 1));
      axes.push_back(a);
    }
    if (whole(least) && whole(most)) continue;
    // With one axis it is enough that the second step and the last but two are whole.
    const auto at = [&](int64_t x) {
      return SaturatingAdd(affine->constant, SaturatingMultiply(affine->factors[axes[0]], x));
    };
    if (axes.size() == 1 && whole(at(1)) && whole(at(binding_.steps[axes[0]] - 3))) continue;
    for (const size_t a : axes) use[a] = AxisUse::kFull;
  }
}

std::vector<AxisUse> GridSteps::axis_uses() const {
  std::vector<AxisUse> use(kernel_.axes.size(), AxisUse::kEnds);
  for (const Pipelined& operand : pipelined_) MergeMapUse(operand, use);
  for (const GuardedWork& work : workload_.guarded) {
    for (const Enclosing& around : work.enclosing) {
      for (const NodePtr& node : {around.condition, around.low, around.high}) {
        if (node) MergeUse(*node, use);
      }
    }
  }
  if (manual_) manual_->ForEachDecision([&](const Node& node) { MergeUse(node, use); });
  return use;
}

}  // namespace kiln
