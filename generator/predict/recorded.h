#pragma once

#include <optional>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/predict/machine/machine.h"
#include "generator/predict/steps/timeline.h"

namespace kiln {

/// What an emulated core said while it ran: the runtime's `Event` (kiln/recorder.h).
struct RecordedEvent {
  enum class Kind { kStep, kCopyInNext, kCopyIn, kCopyOut, kStart, kWait };
  Kind kind = Kind::kStep;
  int ref = -1;
  int64_t place = 0;
  int64_t bytes = 0;
  int64_t semaphore = 0;
  bool out = false;
};

struct RecordedRun {
  std::vector<std::vector<RecordedEvent>> cores;
  bool complete = true;  // else some core had more events than are kept
};

/// The run as it would have passed on the machine: its copies are those that were made, its work
/// follows from the conditions as in a prediction. Nullopt if the record is not complete.
std::optional<Timeline> TimelineOf(const Binding& binding, const Machine& machine,
                                   const RecordedRun& run);

}  // namespace kiln
