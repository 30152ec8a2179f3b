#include "generator/predict/grid_walk.h"

#include <algorithm>

namespace kiln {
namespace {

constexpr int64_t kHead = 3, kTail = 2;        // see GridSteps::use
constexpr int64_t kWindow = int64_t{1} << 16;  // points whose shapes are held

}  // namespace

GridWalk::GridWalk(const CoreGrid& grid, const std::vector<AxisUse>& use, GridSteps& steps,
                   CoreSchedule& schedule)
    : grid_(grid), steps_(steps), schedule_(schedule) {
  for (size_t a = 0; a < grid.begin.size(); ++a) {
    const int64_t count = grid.end[a] - grid.begin[a];
    const bool shorten = use[a] != AxisUse::kFull && count > kHead + kTail;
    const int64_t positions = shorten ? kHead + kTail : count;
    std::vector<Position> of_axis;
    for (int64_t p = 0; p < positions; ++p) {
      const bool tail = shorten && p >= kHead;
      const bool middle = shorten && p == kHead - 1;
      of_axis.push_back({tail ? grid.end[a] - positions + p : grid.begin[a] + p,
                         middle ? count - positions + 1 : 1});
    }
    positions_.push_back(std::move(of_axis));
  }
  periods_.resize(positions_.size());
  for (size_t a = positions_.size(); a-- > 0;) {
    periods_[a] = points_;
    points_ *= static_cast<int64_t>(positions_[a].size());
  }
}

void GridWalk::Run(const AddSums& add, const std::function<void(double)>& progress) {
  add_ = &add;
  progress_ = &progress;
  if (!grid_.empty()) Walk(0, 0);
}

void GridWalk::Walk(size_t axis, int64_t first) {
  if (axis == positions_.size()) {
    const int32_t shape = ShapeOf(first);
    const StepShape& of = steps_.table().shapes()[static_cast<size_t>(shape)];
    if (counts_.size() <= static_cast<size_t>(shape))
      counts_.resize(static_cast<size_t>(shape) + 1);
    ++counts_[static_cast<size_t>(shape)];
    schedule_.Step(of, steps_.works()[static_cast<size_t>(of.work)]);
    if (!*add_) return;
    (*add_)(schedule_.sums().Since(added_), 1);
    added_ = schedule_.sums();
    return;
  }
  for (const Position& position : positions_[axis]) {
    if (position.times == 1)
      Walk(axis + 1, first);
    else
      Repeat(axis, first, position.times);
    first += periods_[axis];
  }
}

void GridWalk::Repeat(size_t axis, int64_t first, int64_t times) {
  struct Before {
    std::vector<int64_t> state;
    StepSums sums;
    std::vector<int64_t> counts;
  };
  std::vector<Before> past;
  for (int64_t done = 0; done < times; ++done) {
    std::vector<int64_t> state = schedule_.State();
    const auto same = std::find_if(past.begin(), past.end(),
                                   [&](const Before& before) { return before.state == state; });
    const int64_t period = past.end() - same;
    const int64_t whole = period > 0 ? (times - done) / period : 0;
    if (whole > 0) {
      const StepSums since = schedule_.sums().Since(same->sums);
      schedule_.Repeat(same->sums, whole);
      for (size_t s = 0; s < counts_.size(); ++s)
        counts_[s] += (counts_[s] - (s < same->counts.size() ? same->counts[s] : 0)) * whole;
      if (*add_) (*add_)(since, whole);
      added_ = schedule_.sums();
      done += whole * period;
      past.clear();
      if (done == times) return;
    }
    past.push_back({std::move(state), schedule_.sums(), counts_});
    Walk(axis + 1, first);
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
      const auto positions = static_cast<int64_t>(positions_[a].size());
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t at = (begin + std::min(lane, count - 1)) / periods_[a] % positions;
        lanes[a][static_cast<size_t>(lane)] = positions_[a][static_cast<size_t>(at)].at;
      }
    }
    steps_.Evaluate(lanes, count);
    for (int lane = 0; lane < count; ++lane) shapes_.push_back(steps_.ShapeAt(lane));
  }
  if (*progress_) (*progress_)(static_cast<double>(first_) / static_cast<double>(points_));
}

}  // namespace kiln
