#pragma once

#include <cstdint>
#include <vector>

#include "generator/predict/steps/timeline.h"

namespace kiln {

/// Follows a core's steps: which block of each operand is in the core's memory for the body.
/// Call Advance once a step, in order.
class BlocksInPlace {
 public:
  BlocksInPlace(const Timeline& timeline, const TimelineCore& core);

  void Advance();
  /// The block of an operand (TimelineOperand::BlockIndex), or -1: none.
  int64_t At(size_t operand) const { return block_[operand]; }

 private:
  /// An output's block is the one that leaves next.
  struct Leaving {
    int64_t step;
    int64_t block;
  };

  const TimelineCore& core_;
  int64_t step_ = -1;
  std::vector<int64_t> block_;
  std::vector<std::vector<Leaving>> leaving_;  // by operand
  std::vector<size_t> next_;                   // of leaving_
};

}  // namespace kiln
