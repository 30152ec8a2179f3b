// What the copies of an emulated core were, step by step: for those who want to know when a TPU
// would have made them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "kiln/core/list.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

struct Event {
  enum class Kind : int32_t {
    kStep,        // a step begins: what follows happens in it
    kCopyInNext,  // a copy begins, of a block for the step after it
    kCopyIn,      // a copy begins, of a block for this step
    kCopyOut,     // the step has left a block
    kStart,       // the body starts a copy …
    kWait,        // … or waits for one
  };
  static constexpr int64_t kOldestCopy = -1;
  Kind kind = Kind::kStep;
  int32_t operand =
      -1;             // its ordinal; of kStart: of the array in HBM, -1 when neither end is there
  int64_t place = 0;  // the step's number in the grid; the block's among its places, row-major
  int64_t bytes = 0;  // inside the array; of kWait: waited for, kOldestCopy: those of one copy
  int64_t semaphore = 0;
  bool out = false;  // of kStart: to HBM
};
using Events = internal::List<Event>;

/// Keeps the events of a core, as long as there are not too many.
class Recorder {
 public:
  static constexpr size_t kMost = size_t{1} << 21;

  void Clear() {
    // The last record is kept until this one is complete; the memory of the one before it is used
    // again, as new memory costs page faults.
    std::swap(events_, before_);
    if (events_ != nullptr && events_.use_count() == 1)
      events_->clear();
    else
      events_ = std::make_shared<Events>();
    complete_ = true;
  }
  void Add(const Event& event) {
    if (events_->size() < kMost)
      events_->push_back(event);
    else
      complete_ = false;
  }
  std::shared_ptr<const Events> events() const { return events_; }
  bool complete() const { return complete_; }

 private:
  std::shared_ptr<Events> events_ = std::make_shared<Events>();
  std::shared_ptr<Events> before_;
  bool complete_ = true;
};

}  // namespace kiln::inline KILN_ABI
