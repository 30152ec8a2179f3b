#include "generator/predict/grid_walk.h"

#include <algorithm>

#include "generator/text/integer.h"

namespace kiln {
namespace {

constexpr int64_t kHead = 3, kTail = 2;        // see GridSteps::axis_uses
constexpr int64_t kWindow = int64_t{1} << 16;  // points whose shapes are held

}  // namespace

GridWalk::Positions::Positions(int64_t from, int64_t end, AxisUse use)
    : begin(from), count(end - from), tail(count) {
  if (use == AxisUse::kFull || count <= kHead + kTail) return;
  tail_skips = count - kHead - kTail;
  count = kHead + kTail;
  tail = kHead;
}

int64_t GridWalk::PointsOf(const CoreGrid& grid, const std::vector<AxisUse>& use) {
  int64_t points = 1;
  for (size_t a = 0; a < grid.begin.size(); ++a)
    points = SaturatingMultiply(points, Positions(grid.begin[a], grid.end[a], use[a]).count);
  return points;
}

GridWalk::GridWalk(const CoreGrid& grid, const std::vector<AxisUse>& use, GridSteps& steps,
                   CoreSchedule& schedule)
    : grid_(grid), steps_(steps), schedule_(schedule) {
  for (size_t a = 0; a < grid.begin.size(); ++a)
    positions_.emplace_back(grid.begin[a], grid.end[a], use[a]);
  periods_.resize(positions_.size());
  for (size_t a = positions_.size(); a-- > 0;) {
    periods_[a] = points_;
    points_ = SaturatingMultiply(points_, positions_[a].count);
  }
}

bool GridWalk::Run(const AddSums& add, const std::function<void(double)>& progress, double bytes) {
  add_ = &add;
  progress_ = &progress;
  bytes_ = bytes;
  if (!grid_.IsEmpty()) Walk(0, 0);
  return !stopped_;
}

void GridWalk::Walk(size_t axis, int64_t first) {
  if (axis == positions_.size()) {
    const int32_t shape = ShapeOf(first);
    const StepShape& of = steps_.table().shapes()[static_cast<size_t>(shape)];
    if (shape_counts_.size() <= static_cast<size_t>(shape))
      shape_counts_.resize(static_cast<size_t>(shape) + 1);
    ++shape_counts_[static_cast<size_t>(shape)];
    schedule_.Step(of, steps_.works()[static_cast<size_t>(of.work)]);
    if (!*add_) return;
    (*add_)(schedule_.sums().Since(added_), 1);
    added_ = schedule_.sums();
    return;
  }
  const Positions& positions = positions_[axis];
  for (int64_t p = 0; p < positions.count && !stopped_; ++p) {
    if (positions.Times(p) == 1)
      Walk(axis + 1, first);
    else
      Repeat(axis, first, positions.Times(p));
    first += periods_[axis];
  }
}

void GridWalk::Repeat(size_t axis, int64_t first, int64_t times) {
  // Brent's way of diagnostic a cycle: one state is kept, and every power of two a later one.
  std::vector<int64_t> kept_state = schedule_.State();
  StepSums kept_sums = schedule_.sums();
  std::vector<int64_t> kept_counts = shape_counts_;
  int64_t since = 0, patience = 1;
  for (int64_t done = 0; done < times && !stopped_;) {
    Walk(axis + 1, first);
    ++done;
    ++since;
    std::vector<int64_t> state = schedule_.State();
    const int64_t whole = state == kept_state ? (times - done) / since : 0;
    if (whole > 0) {
      const StepSums cycle = schedule_.sums().Since(kept_sums);
      schedule_.Repeat(kept_sums, whole);
      kept_counts.resize(shape_counts_.size());
      for (size_t s = 0; s < shape_counts_.size(); ++s)
        shape_counts_[s] += (shape_counts_[s] - kept_counts[s]) * whole;
      if (*add_) (*add_)(cycle, whole);
      added_ = schedule_.sums();
      done += whole * since;
    } else if (since < patience) {
      continue;
    }
    patience *= 2;
    since = 0;
    kept_state = std::move(state);
    kept_sums = schedule_.sums();
    kept_counts = shape_counts_;
  }
}

int32_t GridWalk::ShapeOf(int64_t point) {
  const auto held = static_cast<int64_t>(shapes_.size());
  if (point < first_ || point >= first_ + held) Fetch(point);
  return shapes_[static_cast<size_t>(point - first_)];
}

void GridWalk::Fetch(int64_t point) {
  first_ = point / kWindow * kWindow;
  const int64_t end = std::min(first_ + kWindow, points_);
  shapes_.clear();
  LanePoints lanes(positions_.size(), std::vector<int64_t>(kLanes));
  for (int64_t begin = first_; begin < end; begin += kLanes) {
    const int count = static_cast<int>(std::min<int64_t>(kLanes, end - begin));
    for (size_t a = 0; a < positions_.size(); ++a) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t p = (begin + std::min(lane, count - 1)) / periods_[a] % positions_[a].count;
        lanes[a][static_cast<size_t>(lane)] = positions_[a].At(p);
      }
    }
    steps_.Evaluate(lanes, count);
    for (int lane = 0; lane < count; ++lane) shapes_.push_back(steps_.ShapeAt(lane));
  }
  stopped_ = steps_.cut_off() || static_cast<double>(steps_.held_bytes()) > bytes_;
  if (*progress_) (*progress_)(static_cast<double>(first_) / static_cast<double>(points_));
}

}  // namespace kiln
