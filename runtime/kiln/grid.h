// The steps of one core.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "kiln/core.h"
#include "kiln/shuffle.h"
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
/// An emulated machine may shuffle: each core then takes its parallel coordinates in a random
/// order.
template <int R>
class Grid {
 public:
  Grid(const std::array<int64_t, R>& steps, int parallel, Core& core)
      : Grid(steps, parallel, {}, core) {}

  /// Cuts the first axis of `cut_first` that has a step for each core; without one, that with the
  /// most steps.
  Grid(const std::array<int64_t, R>& steps, int parallel, std::initializer_list<int> cut_first,
       Core& core)
      : core_(core), steps_(steps), end_(steps), parallel_(parallel) {
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
    if (core.emulated() && core.options().shuffle) BeginShuffle(core.options().seed);
  }
  ~Grid() { core_.Walk(nullptr, nullptr, 0); }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  /// Called once, before the first step.
  Point<R> First() const {
    Point<R> first{begin_, !empty_, 0};
    if (empty_) return first;
    if (shuffled_ > 0) TakeTurn(0, first);
    first.run = RunOf(first.index);
    at_ = ahead_ = first.index;
    core_.Walk(at_.data(), ahead_.data(), R);
    return first;
  }

  /// Called once a step, when it begins.
  Point<R> Next(const Point<R>& at) const {
    if (core_.recorder() != nullptr) [[unlikely]]
      NoteStep(at.index);
    const Point<R> next = After(at);
    at_ = at.index;
    ahead_ = next.index;
    core_.Walk(at_.data(), ahead_.data(), R);
    return next;
  }

  /// Of this core.
  int64_t begin(int axis) const { return begin_[axis]; }
  int64_t end(int axis) const { return end_[axis]; }

 private:
  /// Out of the way of those who ask for no events.
  [[gnu::noinline]] void NoteStep(std::array<int64_t, R> index) const {
    core_.recorder()->Add({Event::Kind::kStep, -1, NumberOf(index)});
  }

  Point<R> After(const Point<R>& at) const {
    Point<R> next = at;
    for (int axis = R; axis-- > (shuffled_ > 0 ? parallel_ : 0);) {
      if (++next.index[axis] < end_[axis]) {
        if (axis < parallel_) next.run = RunOf(next.index);
        return next;
      }
      next.index[axis] = begin_[axis];
    }
    next.more = shuffled_ > 0 && ++turn_ < shuffled_;
    if (!next.more) return next;
    TakeTurn(turn_, next);
    next.run = RunOf(next.index);
    return next;
  }

  void BeginShuffle(uint64_t seed) {
    if (empty_ || parallel_ == 0) return;
    shuffled_ = 1;
    for (int axis = 0; axis < parallel_; ++axis) {
      // Longer walks take more than a lifetime in whatever order.
      if (__builtin_mul_overflow(shuffled_, end_[axis] - begin_[axis], &shuffled_)) {
        shuffled_ = 0;
        return;
      }
    }
    order_ = Shuffle(static_cast<uint64_t>(shuffled_), seed);
  }
  /// Sets the parallel coordinates to those of a turn.
  void TakeTurn(int64_t turn, Point<R>& point) const {
    auto rest = static_cast<int64_t>(order_[static_cast<uint64_t>(turn)]);
    for (int axis = parallel_; axis-- > 0;) {
      const int64_t count = end_[axis] - begin_[axis];
      point.index[axis] = begin_[axis] + rest % count;
      rest /= count;
    }
  }

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

  Core& core_;
  std::array<int64_t, R> steps_;
  std::array<int64_t, R> begin_{};
  std::array<int64_t, R> end_;
  int parallel_;
  bool empty_ = false;
  int64_t shuffled_ = 0;  // how many parallel coordinates; 0: they come in order
  Shuffle order_;
  mutable int64_t turn_ = 0;  // among them
  mutable std::array<int64_t, R> at_{}, ahead_{};
};

}  // namespace kiln
