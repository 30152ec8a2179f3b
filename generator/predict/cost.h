#pragma once

#include <string>
#include <vector>

#include "generator/predict/machine/machine.h"
#include "generator/predict/steps/timeline.h"

namespace kiln {

/// Where the time of a call goes, in few numbers.
struct CostSummary {
  double seconds = 0;
  int64_t steps = 0, skipped_steps = 0;
  double flops = 0;
  int64_t bytes = 0;  // between HBM and the cores

  /// What each part of the machine would need by itself, on the core that takes longest.
  struct Need {
    std::string name;  // "MXU", "VPU", "HBM", "steps", "dispatch"
    double seconds = 0;
  };
  std::vector<Need> needs;
  std::string bound;  // the name of the one that the call waits for

  double peak_flops = 0;  // a second, of the cores at work, in the type of the first dot; 0: no dot
  double utilization = 0;  // of that
  double intensity = 0;    // flops for each byte
  double ridge = 0;        // from which intensity on matmuls keep the unit busy
};

CostSummary SummaryOf(const Timeline& timeline, const Machine& machine);

}  // namespace kiln
