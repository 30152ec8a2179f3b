#include "generator/planner/fuse/loops/shared_values.h"

#include <algorithm>

#include "generator/planner/fuse/conflicts.h"

namespace kiln {

bool IsSharedValue(const Plan& plan, const Stage& stage) {
  const auto* define = As<stage::Define>(stage);
  return define && !plan[define->variable].changes;
}

bool MoveSharedFirst(const Plan& plan, Stages& stages) {
  Stages nests;
  for (const Stage& stage : stages) {
    if (!IsSharedValue(plan, stage))
      nests.push_back(stage);
    else if (ConflictsOf(plan, nests, {stage}).any)
      return false;
  }
  std::stable_partition(stages.begin(), stages.end(),
                        [&](const Stage& stage) { return IsSharedValue(plan, stage); });
  return true;
}

}  // namespace kiln
