#pragma once

#include <ostream>

#include "generator/predict/steps/timeline.h"

namespace kiln {

/// Writes a timeline as trace events, which Perfetto and chrome://tracing show: a process a core,
/// with a track each for copies in, compute and copies out. Copies of one direction that overlap
/// get more tracks. Of a run whose steps are not all known one by one, there is also a track with
/// all of them in ranges.
void WriteTrace(const Timeline& timeline, std::ostream& out);

}  // namespace kiln
