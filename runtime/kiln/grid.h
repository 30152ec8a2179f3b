// The steps of one core.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "kiln/core.h"
#include "kiln/types.h"

namespace kiln {

/// A step. `more` is false past the last one; `run` changes whenever a parallel coordinate does,
/// and is the same number on whatever core.
template <int R>
struct Point {
  std::array<int64_t, R> index{};
  bool more = false;
  int64_t run = 0;

  int64_t operator[](int axis) const { return index[axis]; }
};

/// A grid in lexicographic order, cut over the cores along one of its parallel axes, which come
/// first. Each core walks one contiguous range of that axis; some walk none. R may be 0: one step.
template <int R>
class Grid {
 public:
  Grid(const std::array<int64_t, R>& steps, int parallel, const Core& core)
      : Grid(steps, parallel, {}, core) {}

  /// Cuts the first axis of `cut_first` that has a step for each core; without one, that with the
  /// most steps.
  Grid(const std::array<int64_t, R>& steps, int parallel, std::initializer_list<int> cut_first,
       const Core& core)
      : steps_(steps), end_(steps), parallel_(parallel), recorder_(core.recorder()) {
    const int axis = CutAxis(cut_first, core.count());
    if (axis < 0) {
      empty_ = core.index() > 0;
    } else {
      // Without products of the two, that could overflow: the first cores take one step more.
      const int64_t each = steps[axis] / core.count();
      const int64_t rest = steps[axis] % core.count();
      begin_[axis] = each * core.index() + std::min<int64_t>(rest, core.index());
      end_[axis] = begin_[axis] + each + (core.index() < rest ? 1 : 0);
    }
    for (int a = 0; a < R; ++a) empty_ = empty_ || begin_[a] >= end_[a];
  }

  Point<R> First() const {
    Point<R> first{begin_, !empty_, 0};
    if (!empty_) first.run = RunOf(first.index);
    return first;
  }

  /// Called once a step, when it begins.
  Point<R> Next(const Point<R>& at) const {
    if (recorder_ != nullptr) recorder_->Add({Event::Kind::kStep, -1, NumberOf(at.index)});
    Point<R> next = at;
    for (int axis = R; axis-- > 0;) {
      if (++next.index[axis] < end_[axis]) {
        if (axis < parallel_) next.run = RunOf(next.index);
        return next;
      }
      next.index[axis] = begin_[axis];
    }
    next.more = false;
    return next;
  }

  /// Of this core.
  int64_t begin(int axis) const { return begin_[axis]; }
  int64_t end(int axis) const { return end_[axis]; }

 private:
  int CutAxis(std::initializer_list<int> order, int cores) const {
    if (cores == 1 || parallel_ == 0) return -1;
    for (const int axis : order) {
      if (axis < parallel_ && steps_[axis] >= cores) return axis;
    }
    int most = order.size() > 0 && *order.begin() < parallel_ ? *order.begin() : 0;
    for (const int axis : order) {
      if (axis < parallel_ && steps_[axis] > steps_[most]) most = axis;
    }
    for (int axis = 0; axis < parallel_; ++axis) {
      if (steps_[axis] > steps_[most]) most = axis;
    }
    return most;
  }

  /// The parallel coordinates as one number.
  int64_t RunOf(const std::array<int64_t, R>& index) const {
    int64_t run = 0;
    for (int axis = 0; axis < parallel_; ++axis) run = run * steps_[axis] + index[axis];
    return run;
  }

  /// Among all steps of the grid.
  int64_t NumberOf(const std::array<int64_t, R>& index) const {
    int64_t number = 0;
    for (int axis = 0; axis < R; ++axis) number = number * steps_[axis] + index[axis];
    return number;
  }

  std::array<int64_t, R> steps_;
  std::array<int64_t, R> begin_{};
  std::array<int64_t, R> end_;
  int parallel_;
  bool empty_ = false;
  Recorder* recorder_ = nullptr;
};

}  // namespace kiln
