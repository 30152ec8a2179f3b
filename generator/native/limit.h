#pragma once

#include <string>

#include "generator/native/peaks.h"

namespace kiln {

/// A call, as far as its limits go.
struct TimedCall {
  double seconds = 0;
  double operations = 0;  // of dots
  double peak = 0;        // of them, a second; 0: not known
  double bytes = 0;       // of the arrays, each once
  double steps = 0;
  bool emulated = false;
};

/// Why a call is not faster.
struct Limit {
  /// "peak": the units that multiply. "memory": or a cache, by `level`. "latency": what calls and
  /// steps take by themselves. "instructions": none of them; so it is what the body does besides
  /// dots, packing, or waiting for one result after the other.
  std::string binds;
  /// How near the call comes to each; 0: it has nothing of it, or the most is not known.
  double peak = 0, memory = 0, latency = 0;
  /// Where arrays of this size are from call to call: "L2", "last cache" or "memory".
  std::string level;

  /// The largest of the three.
  double share() const;
};

Limit LimitOf(const TimedCall& call, const Peaks& peaks);

}  // namespace kiln
