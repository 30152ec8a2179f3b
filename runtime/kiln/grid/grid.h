// The steps of one core.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "kiln/core/core.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/grid/shuffle.h"
#include "kiln/grid/turns.h"

namespace kiln::inline KILN_ABI {

/// A step. `more` is false past the last one; `run` changes whenever a parallel coordinate does,
/// and is the same number on whatever core.
template <int R>
struct Point {
  std::array<int64_t, R> index{};
  int64_t more = 0;  // a word, as a copy with gaps in it is made through memory
  int64_t run = 0;

  int64_t operator[](int axis) const { return index[axis]; }
};

/// The operands of a walk, in the tiers of the machine that it is compiled for.
template <class Tiers, class Format, int R>
using In = typename Tiers::template In<Format, R>;
template <class Tiers, typename T, int R>
using DotIn = typename Tiers::template DotIn<T, R>;
template <class Tiers, class Format, int R>
using Out = typename Tiers::template Out<Format, R>;

/// A grid in lexicographic order, cut over the cores along one of its parallel axes, which come
/// first. Each core walks one contiguous range of that axis; some walk none. R may be 0: one step.
/// An emulated machine may shuffle: each core then takes its parallel coordinates in a random
/// order. Cores that have turns begin the other parallel axes at different places, so that each
/// packs other blocks of what they share, and a core that is done goes on with what others have
/// left.
template <int R>
class Grid {
 public:
  Grid(const std::array<int64_t, R>& steps, int parallel, Core& core)
      : Grid(steps, parallel, {}, core) {}

  /// Cuts the first axis of `cut_first` that has a step for each core; without one, that with the
  /// most steps.
  Grid(const std::array<int64_t, R>& steps, int parallel, std::initializer_list<int> cut_first,
       Core& core);
  ~Grid() { core_.TrackGrid(nullptr, nullptr, 0); }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  /// Called once, before the first step.
  Point<R> First() const;

  /// Called once a step, when it begins.
  Point<R> Next(const Point<R>& at) const {
    if (core_.recorder() != nullptr) [[unlikely]]
      NoteStep(at.index);
    const Point<R> next = After(at);
    internal::CopyEach(at.index, &at_);
    internal::CopyEach(next.index, &ahead_);
    core_.TrackGrid(at_.data(), ahead_.data(), R);
    return next;
  }

  /// Of this core.
  int64_t begin(int axis) const { return share_.begin[axis]; }
  int64_t end(int axis) const { return share_.end[axis]; }

 private:
  /// The part of a core, and where it starts there.
  struct Share {
    std::array<int64_t, R> begin{}, end{}, start{};
  };

  Share ShareOf(int core) const;
  /// Saturates.
  int64_t TurnsOf(const Share& share) const;
  int CutAxis(std::initializer_list<int> order, int cores) const;
  void BeginShuffle(uint64_t seed);
  // By value, as what every step does with a point may not ask for its address.
  /// A point with the parallel coordinates of a turn of this share.
  Point<R> TakeTurn(int64_t turn, Point<R> point) const;
  /// Takes turns that nobody has, if there are any.
  Point<R> GoOn(Point<R> point) const;
  /// The next of shuffled parallel coordinates, if there are any.
  Point<R> AfterShuffled(Point<R> point) const;
  void NoteStep(std::array<int64_t, R> index) const;

  Point<R> After(const Point<R>& at) const {
    // By member: what was just written in pieces is slow to be read as a whole.
    Point<R> next{at.index, at.more, at.run};
    for (int axis = R; axis-- > (shuffled_ > 0 ? parallel_ : 0);) {
      if (axis + 1 == parallel_ && turns_ != nullptr && --left_ == 0) {
        next = GoOn(next);
        return next;
      }
      int64_t& index = next.index[axis];
      if (++index == share_.end[axis]) index = share_.begin[axis];
      if (index != share_.start[axis]) {
        if (axis < parallel_) next.run = RunOf(next.index);
        return next;
      }
    }
    next.more = false;
    if (shuffled_ > 0) next = AfterShuffled(next);
    return next;
  }

  /// The parallel coordinates as one number.
  int64_t RunOf(const std::array<int64_t, R>& index) const { return NumberOf(index, parallel_); }

  /// The first coordinates as one number; wraps around in grids that no time is enough for.
  int64_t NumberOf(const std::array<int64_t, R>& index, int axes = R) const {
    uint64_t number = 0;
    for (int axis = 0; axis < axes; ++axis)
      number = number * static_cast<uint64_t>(steps_[axis]) + static_cast<uint64_t>(index[axis]);
    return static_cast<int64_t>(number);
  }

  Core& core_;
  std::array<int64_t, R> steps_;
  int parallel_;
  int cut_ = -1;  // the axis that is cut over the cores
  bool empty_ = false;
  mutable Share share_;       // that this core is at
  Turns* turns_ = nullptr;    // null: its own is all it walks
  mutable int64_t left_ = 0;  // turns it has taken and not begun
  int64_t shuffled_ = 0;      // how many parallel coordinates; 0: they come in order
  Shuffle order_;
  mutable int64_t turn_ = 0;  // among them
  mutable std::array<int64_t, R> at_{}, ahead_{};
};

// What is not part of every step.

template <int R>
Grid<R>::Grid(const std::array<int64_t, R>& steps, int parallel,
              std::initializer_list<int> cut_first, Core& core)
    : core_(core), steps_(steps), parallel_(parallel) {
  cut_ = CutAxis(cut_first, core.count());
  share_ = ShareOf(core.index());
  const bool any = std::all_of(steps.begin(), steps.end(), [](int64_t n) { return n > 0; });
  if (!any) core.WalkNothing();
  core.UsesCores(!any || cut_ < 0 ? 1 : steps_[cut_]);
  empty_ = !any || (cut_ < 0 ? core.index() > 0 : share_.begin[cut_] == share_.end[cut_]);
  // The first core has the most.
  if (any && cut_ >= 0 && TurnsOf(ShareOf(0)) <= Turns::kMost) turns_ = core.turns();
  if (core.emulated() && core.options().shuffle) BeginShuffle(core.options().seed);
}

template <int R>
Point<R> Grid<R>::First() const {
  Point<R> first{share_.start, !empty_, 0};
  if (turns_ != nullptr) {
    first = GoOn(first);
  } else if (shuffled_ > 0) {
    first = TakeTurn(static_cast<int64_t>(order_[0]), first);
  }
  if (!first.more) return first;
  first.run = RunOf(first.index);
  at_ = ahead_ = first.index;
  core_.TrackGrid(at_.data(), ahead_.data(), R);
  return first;
}

template <int R>
typename Grid<R>::Share Grid<R>::ShareOf(int core) const {
  Share share{{}, steps_, {}};
  if (cut_ < 0) return share;
  const int cores = core_.count();
  if (core_.turns() != nullptr) {
    for (int axis = 0; axis < parallel_; ++axis)
      share.start[axis] = steps_[axis] / cores * core + steps_[axis] % cores * core / cores;
  }
  // Without products of the two, that could overflow: the first cores take one step more.
  const int64_t each = steps_[cut_] / cores;
  const int64_t rest = steps_[cut_] % cores;
  share.begin[cut_] = each * core + std::min<int64_t>(rest, core);
  share.end[cut_] = share.begin[cut_] + each + (core < rest ? 1 : 0);
  share.start[cut_] = share.begin[cut_];
  return share;
}

template <int R>
int64_t Grid<R>::TurnsOf(const Share& share) const {
  int64_t turns = 1;
  for (int axis = 0; axis < parallel_; ++axis) {
    if (__builtin_mul_overflow(turns, share.end[axis] - share.begin[axis], &turns))
      return INT64_MAX;
  }
  return turns;
}

template <int R>
int Grid<R>::CutAxis(std::initializer_list<int> order, int cores) const {
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

template <int R>
void Grid<R>::BeginShuffle(uint64_t seed) {
  if (empty_ || parallel_ == 0) return;
  // Longer walks take more than a lifetime in whatever order.
  const int64_t turns = TurnsOf(share_);
  shuffled_ = turns == INT64_MAX ? 0 : turns;
  order_ = Shuffle(static_cast<uint64_t>(shuffled_), seed);
}

template <int R>
Point<R> Grid<R>::TakeTurn(int64_t turn, Point<R> point) const {
  for (int axis = parallel_; axis-- > 0;) {
    const int64_t begin = share_.begin[axis];
    const int64_t count = share_.end[axis] - begin;
    point.index[axis] = begin + (share_.start[axis] - begin + turn % count) % count;
    turn /= count;
  }
  point.run = RunOf(point.index);
  return point;
}

template <int R>
Point<R> Grid<R>::GoOn(Point<R> point) const {
  const auto some =
      turns_->Take(core_.index(), [this](int core) { return TurnsOf(ShareOf(core)); });
  point.more = some.core >= 0;
  if (!point.more) return point;
  left_ = some.end - some.begin;
  share_ = ShareOf(some.core);
  return TakeTurn(some.begin, point);
}

template <int R>
Point<R> Grid<R>::AfterShuffled(Point<R> point) const {
  point.more = ++turn_ < shuffled_;
  if (!point.more) return point;
  return TakeTurn(static_cast<int64_t>(order_[static_cast<uint64_t>(turn_)]), point);
}

template <int R>
void Grid<R>::NoteStep(std::array<int64_t, R> index) const {
  core_.recorder()->Add({Event::Kind::kStep, -1, NumberOf(index)});
}

// Grids of so many axes are compiled into the library (grid.cc).
extern template class Grid<1>;
extern template class Grid<2>;
extern template class Grid<3>;
extern template class Grid<4>;

}  // namespace kiln::inline KILN_ABI
