#include "generator/interpret/grid.h"

#include <numeric>
#include <utility>

namespace kiln::interpret {
namespace {

// SplitMix64, so that a seed means the same order on every machine.
uint64_t NextRandom(uint64_t& state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<int64_t> PointOf(const Run& run, int64_t step) {
  std::vector<int64_t> point(run.binding.steps.size());
  for (size_t axis = point.size(); axis-- > 0;) {
    point[axis] = step % run.binding.steps[axis];
    step /= run.binding.steps[axis];
  }
  return point;
}

void SetStep(Run& run, int64_t step) {
  run.step = step;
  run.point = PointOf(run, step);
}

std::string PointText(const Run& run, int64_t step) {
  const std::vector<int64_t> point = PointOf(run, step);
  std::string text;
  for (size_t axis = 0; axis < point.size(); ++axis) {
    text +=
        (axis == 0 ? "(" : ", ") + run.kernel.axes[axis].name + "=" + std::to_string(point[axis]);
  }
  return text.empty() ? text : text + ")";
}

std::string AtPoint(const Run& run) {
  const bool nowhere = run.step < 0 || run.point.empty();
  return nowhere ? "" : " at grid point " + PointText(run, run.step);
}

std::vector<int64_t> ShuffledOrder(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  uint64_t state = seed;
  for (size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[NextRandom(state) % left]);
  }
  return order;
}

}  // namespace kiln::interpret
