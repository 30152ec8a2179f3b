#include "generator/check/grid/space.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kiln {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{50};
constexpr int64_t kHead = 3, kTail = 2;  // steps that stand for an axis of which the ends matter

int64_t Positions(int64_t steps, AxisUse use, GridSpace::Unused unused) {
  if (use == AxisUse::kFull) return steps;
  if (use == AxisUse::kEnds) return std::min(steps, kHead + kTail);
  return std::min<int64_t>(steps, unused == GridSpace::Unused::kOnce ? 1 : 2);
}

/// Moves a grid point to the next or previous one; false when there is none.
bool Step(std::vector<std::vector<int64_t>>& axes, size_t lane, const std::vector<int64_t>& steps,
          bool forward) {
  for (size_t a = axes.size(); a-- > 0;) {
    int64_t& at = axes[a][lane];
    if (forward ? at + 1 < steps[a] : at > 0) {
      at += forward ? 1 : -1;
      return true;
    }
    at = forward ? 0 : steps[a] - 1;
  }
  return false;
}

}  // namespace

Progress::Progress(std::function<void(double)> report, int phases)
    : report_(std::move(report)),
      phases_(std::max(phases, 1)),
      next_(std::chrono::steady_clock::now() + kProgressInterval) {}

void Progress::NextPhase() {
  ++phase_;
  parts_ = 1;
  part_ = 0;
}

void Progress::Tick(double share_of_part) {
  if (!report_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kProgressInterval;
  reported_ = true;
  const double phase = (double(part_) + share_of_part) / double(parts_);
  report_(std::clamp((phase_ + std::min(1.0, phase)) / phases_, 0.0, 1.0));
}

void Progress::Finish() {
  if (reported_) report_(1);
}

std::optional<GridSpace> GridSpace::Make(const Binding& binding, const std::vector<AxisUse>& use,
                                         Unused unused, const std::vector<LoopRange>& loops) {
  GridSpace space;
  for (size_t a = 0; a < binding.steps.size(); ++a) {
    const int64_t steps = binding.steps[a];
    space.axes_.push_back({-1, steps, Positions(steps, use[a], unused), 1, 0, use[a]});
  }
  for (const LoopRange& loop : loops) {
    space.loops_.push_back({loop.local, loop.count, loop.count, 1, loop.low, AxisUse::kFull});
  }
  bool overflow = false;
  const auto stack = [&](std::vector<Coordinate>& coordinates) {
    for (size_t i = coordinates.size(); i-- > 0;) {
      coordinates[i].period = space.size_;
      long long product = 0;
      overflow |= __builtin_mul_overflow(space.size_, coordinates[i].count, &product);
      space.size_ = product;
    }
  };
  stack(space.loops_);
  stack(space.axes_);
  if (overflow) return std::nullopt;
  space.serial_size_ = space.pipeline_size_ = space.size_;
  for (size_t a = 0; a < space.axes_.size(); ++a) {
    if (binding.kernel->axes[a].parallel) space.serial_size_ = space.axes_[a].period;
    if (binding.kernel->axes[a].outside) space.pipeline_size_ = space.axes_[a].period;
  }
  return space;
}

int64_t GridSpace::ValueAt(const Coordinate& c, int64_t position) {
  const bool tail = c.use == AxisUse::kEnds && position >= kHead;
  return c.low + (tail ? c.steps - c.count + position : position);
}

int64_t GridSpace::PositionOf(const Coordinate& c, int64_t point) {
  return point / c.period % c.count;
}

const GridSpace::Coordinate& GridSpace::Loop(int local) const {
  return *std::find_if(loops_.begin(), loops_.end(),
                       [&](const Coordinate& c) { return c.local == local; });
}

std::vector<int64_t> GridSpace::AxesAt(int64_t point) const {
  std::vector<int64_t> out;
  for (const Coordinate& c : axes_) out.push_back(ValueAt(c, PositionOf(c, point)));
  return out;
}

int64_t GridSpace::LoopAt(int64_t point, int local) const {
  const Coordinate& c = Loop(local);
  return ValueAt(c, PositionOf(c, point));
}

int64_t GridSpace::Weight(int64_t point) const {
  long long weight = 1;
  for (const Coordinate& c : axes_) {
    int64_t steps = 1;
    if (c.use == AxisUse::kNone) {
      steps = PositionOf(c, point) + 1 == c.count ? c.steps - c.count + 1 : 1;
    } else if (c.use == AxisUse::kEnds && PositionOf(c, point) == kHead - 1) {
      steps = c.steps - c.count + 1;
    }
    if (__builtin_mul_overflow(weight, steps, &weight)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return weight;
}

void GridSpace::Fill(const Coordinate& c, int64_t begin, int count, int64_t* to) {
  int64_t position = PositionOf(c, begin);
  int64_t left = c.period - begin % c.period;
  for (int lane = 0; lane < count;) {
    if (c.period == 1 && c.use == AxisUse::kFull) {  // a run of consecutive values
      const int run = int(std::min<int64_t>(count - lane, c.count - position));
      for (int i = 0; i < run; ++i) to[lane + i] = c.low + position + i;
      lane += run;
      position = 0;
      continue;
    }
    const int run = int(std::min<int64_t>(count - lane, left));
    std::fill(to + lane, to + lane + run, ValueAt(c, position));
    lane += run;
    left = c.period;
    if (++position == c.count) position = 0;
  }
  std::fill(to + count, to + kLanes, to[count - 1]);
}

void GridSpace::FillAxis(size_t axis, int64_t begin, int count, int64_t* to) const {
  Fill(axes_[axis], begin, count, to);
}

void GridSpace::FillLoop(int local, int64_t begin, int count, int64_t* to) const {
  Fill(Loop(local), begin, count, to);
}

bool GridSpace::AxisIsConstant(size_t axis, int64_t begin, int64_t end) const {
  const Coordinate& c = axes_[axis];
  return begin / c.period == (end - 1) / c.period;
}

Sweep::Sweep(const Binding& binding, IndexProgram& program, const GridSpace& space,
             Progress* progress)
    : binding_(binding), program_(program), space_(space), progress_(progress) {}

bool Sweep::Next() {
  begin_ += count_;
  if (begin_ >= space_.size()) return false;
  count_ = int(std::min<int64_t>(kLanes, space_.size() - begin_));
  program_.Run(count_, FillInputs());
  if (progress_) progress_->Tick(double(begin_) / double(space_.size()));
  return true;
}

uint64_t Sweep::FillInputs() {
  uint64_t changed = 0;
  const std::vector<ProgramInput>& inputs = program_.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ProgramInput& input = inputs[i];
    int64_t* to = program_.Fill(input.reg);
    switch (input.kind) {
      case ProgramInput::Kind::kAxis:
        // Every lane of the batch before already holds the value.
        if (begin_ > 0 &&
            space_.AxisIsConstant(size_t(input.index), begin_ - kLanes, begin_ + count_)) {
          continue;
        }
        space_.FillAxis(size_t(input.index), begin_, count_, to);
        break;
      case ProgramInput::Kind::kLoop:
        space_.FillLoop(input.index, begin_, count_, to);
        break;
      default:
        FillVisit(input, to);
    }
    changed |= IndexProgram::BitOf(i);
  }
  return changed;
}

Sweep::Visit& Sweep::VisitOf(int ref) {
  for (Visit& visit : visits_) {
    if (visit.ref == ref) return visit;
  }
  MapProgram map = CompileMap(binding_, ref);
  Visit visit{ref, std::move(map.program), {}};
  for (const std::vector<int>& registers : {map.index, map.extent}) {
    for (const int reg : registers) {
      if (reg >= 0) visit.results.push_back(reg);
    }
  }
  visits_.push_back(std::move(visit));
  return visits_.back();
}

void Sweep::RunMap(Visit& visit, const std::vector<std::vector<int64_t>>& axes) {
  for (const ProgramInput& input : visit.map.inputs()) {
    const std::vector<int64_t>& from = axes[size_t(input.index)];
    std::copy(from.begin(), from.end(), visit.map.Fill(input.reg));
  }
  visit.map.Run(count_, ~uint64_t{0});
}

/// A step is the first of a stay when the step before it is another block's, or differs in a
/// parallel coordinate; the last when that holds for the step after it.
void Sweep::FillVisit(const ProgramInput& input, int64_t* to) {
  const size_t rank = binding_.steps.size();
  const std::vector<Axis>& axes = binding_.kernel->axes;
  std::vector<std::vector<int64_t>> here(rank, std::vector<int64_t>(kLanes));
  for (size_t a = 0; a < rank; ++a) space_.FillAxis(a, begin_, count_, here[a].data());
  auto there = here;
  std::fill(to, to + kLanes, 0);
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool forward = input.kind == ProgramInput::Kind::kLastVisit;
    if (!Step(there, size_t(lane), binding_.steps, forward)) to[lane] = 1;
    for (size_t a = 0; a < rank; ++a) {
      if (axes[a].parallel && here[a][size_t(lane)] != there[a][size_t(lane)]) to[lane] = 1;
    }
  }
  Visit& visit = VisitOf(input.index);
  RunMap(visit, here);
  std::vector<std::vector<int64_t>> block;
  for (const int reg : visit.results) {
    block.emplace_back(visit.map.Lanes(reg), visit.map.Lanes(reg) + kLanes);
  }
  RunMap(visit, there);
  for (size_t r = 0; r < visit.results.size(); ++r) {
    const int64_t* other = visit.map.Lanes(visit.results[r]);
    for (int lane = 0; lane < kLanes; ++lane) to[lane] |= block[r][size_t(lane)] != other[lane];
  }
}

StayTracker::StayTracker(std::vector<int> registers, int64_t run)
    : registers_(std::move(registers)), last_(registers_.size()), run_(run), differs_(kLanes) {}

const std::vector<int>& StayTracker::Starts(const Sweep& sweep) {
  std::fill(differs_.begin(), differs_.end(), 0);
  const int count = sweep.count();
  for (size_t r = 0; r < registers_.size(); ++r) {
    const int64_t* value = sweep.program().Lanes(registers_[r]);
    int64_t* differs = differs_.data();
    differs[0] |= value[0] ^ last_[r];
    for (int i = 1; i < kLanes; ++i) differs[i] |= value[i] ^ value[i - 1];
    last_[r] = value[count - 1];
  }
  const int64_t into = sweep.begin() % run_;
  for (int64_t i = into == 0 ? 0 : run_ - into; i < count; i += run_) {
    differs_[size_t(i)] = 1;
  }
  starts_.clear();
  for (int i = 0; i < count; ++i) {
    if (differs_[size_t(i)] != 0) starts_.push_back(i);
  }
  return starts_;
}

MapProgram CompileMap(const Binding& binding, int ref) {
  ProgramBuilder builder(binding);
  MapProgram map;
  for (const BlockDim& dim : binding.kernel->refs[size_t(ref)].block) {
    const bool all = dim.kind == BlockDim::Kind::kAll;
    const bool bounded = dim.kind == BlockDim::Kind::kBounded;
    map.index.push_back(all ? -1 : builder.Add(*dim.index));
    map.extent.push_back(bounded ? builder.Add(*dim.extent) : -1);
  }
  map.program = builder.Finish();
  return map;
}

std::optional<int64_t> EvaluateAt(const Binding& binding, const Node& node,
                                  const std::vector<int64_t>& axes, Locals* locals,
                                  const std::map<int, int64_t>& loops) {
  Locals bound;
  if (locals) bound = *locals;
  ProgramBuilder builder(binding, &bound);
  for (const auto& [local, value] : loops) bound.loops[local] = builder.AddConstant(value);
  if (!builder.Known(node)) return std::nullopt;
  const int reg = builder.Add(node);
  IndexProgram program = builder.Finish();
  for (const ProgramInput& input : program.inputs()) {
    std::fill_n(program.Fill(input.reg), kLanes, axes[size_t(input.index)]);
  }
  program.Run(1, ~uint64_t{0});
  if (program.Faulted(0)) return std::nullopt;
  return program.Lanes(reg)[0];
}

}  // namespace kiln
