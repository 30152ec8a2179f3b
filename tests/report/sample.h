#pragma once

#include <memory>
#include <string>

#include "generator/ir/kernel.h"
#include "generator/predict/steps/timeline.h"

namespace kiln {

/// A spec of x and o in blocks of 8, and a run of it by hand, so that what a report must say about
/// it is known without any model of time.
std::unique_ptr<Kernel> SampleKernel(const std::string& doc = "Picks blocks.");

/// `steps` steps of 10 ns, each after a wait of 1 ns. Step s reads block s / 2 of x (copied when it
/// changes, 32 bytes in 4 ns) and writes block s of o.
Timeline SampleTimeline(int64_t steps);

}  // namespace kiln
