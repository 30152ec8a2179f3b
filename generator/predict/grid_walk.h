#pragma once

#include <functional>

#include "generator/predict/schedule.h"
#include "generator/predict/steps/grid_steps.h"

namespace kiln {

/// Called with the sums of consecutive steps, and how many times in a row they come.
using AddSums = std::function<void(const StepSums& sums, int64_t times)>;

/// Schedules all steps of one core. Where steps can only distinguish the ends of an axis, the steps
/// between are one after the other of the same shapes: as soon as the schedule is in a state that
/// it has been in before, it will go on for ever as it did since, and the rest is a multiplication.
class GridWalk {
 public:
  /// How many steps are looked at; saturates.
  static int64_t PointsOf(const CoreGrid& grid, const std::vector<AxisUse>& use);

  /// `use`: see GridSteps::axis_uses; all kFull visits every step.
  GridWalk(const CoreGrid& grid, const std::vector<AxisUse>& use, GridSteps& steps,
           CoreSchedule& schedule);

  /// Ends early when `steps` hold more bytes than that, or are cut off: false.
  bool Run(const AddSums& add, const std::function<void(double)>& progress, double bytes);
  /// How often each shape came.
  const std::vector<int64_t>& shape_counts() const { return shape_counts_; }

 private:
  /// Coordinates that stand for all of an axis: every one, or the first three, of which the last
  /// comes many times, and the last two.
  struct Positions {
    int64_t begin = 0;
    int64_t count = 0;
    int64_t tail = 0;        // positions from this one on …
    int64_t tail_skips = 0;  // … come after so many more coordinates

    Positions(int64_t begin, int64_t end, AxisUse use);
    int64_t At(int64_t p) const { return begin + p + (p < tail ? 0 : tail_skips); }
    int64_t Times(int64_t p) const { return p == tail - 1 ? tail_skips + 1 : 1; }
  };

  void Walk(size_t axis, int64_t first);
  void Repeat(size_t axis, int64_t first, int64_t times);
  int32_t ShapeOf(int64_t point);
  void Fetch(int64_t point);

  const CoreGrid& grid_;
  GridSteps& steps_;
  CoreSchedule& schedule_;
  std::vector<Positions> positions_;  // by axis
  std::vector<int64_t> periods_;      // points of positions from one to the next
  int64_t points_ = 1;
  std::vector<int32_t> shapes_;  // of the points from first_ on
  int64_t first_ = 0;
  std::vector<int64_t> shape_counts_;
  const AddSums* add_ = nullptr;
  const std::function<void(double)>* progress_ = nullptr;
  StepSums added_;  // what add_ knows of
  double bytes_ = 0;
  bool stopped_ = false;
};

}  // namespace kiln
