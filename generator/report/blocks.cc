#include "generator/report/blocks.h"

namespace kiln {

BlocksInPlace::BlocksInPlace(const Timeline& timeline, const TimelineCore& core)
    : core_(core),
      block_(timeline.operands.size(), -1),
      leaving_(timeline.operands.size()),
      next_(timeline.operands.size(), 0) {
  for (size_t s = 0; s < core.steps.size(); ++s) {
    const TimelineStep& step = core.steps[s];
    for (int64_t c = step.first_copy; c < step.first_copy + step.copies; ++c) {
      const BlockCopy& copy = core.copies[static_cast<size_t>(c)];
      if (!copy.out || copy.manual) continue;
      leaving_[static_cast<size_t>(copy.operand)].push_back({static_cast<int64_t>(s), copy.block});
    }
  }
}

void BlocksInPlace::Advance() {
  const TimelineStep& step = core_.steps[static_cast<size_t>(++step_)];
  for (int64_t c = step.first_copy; c < step.first_copy + step.copies; ++c) {
    const BlockCopy& copy = core_.copies[static_cast<size_t>(c)];
    if (!copy.out) block_[static_cast<size_t>(copy.operand)] = copy.block;
  }
  for (size_t o = 0; o < leaving_.size(); ++o) {
    const auto& leaving = leaving_[o];
    if (leaving.empty()) continue;
    while (next_[o] < leaving.size() && leaving[next_[o]].step < step_) ++next_[o];
    block_[o] = next_[o] < leaving.size() ? leaving[next_[o]].block : -1;
  }
}

}  // namespace kiln
