#pragma once

#include <nlohmann/json_fwd.hpp>

#include "generator/predict/steps/timeline.h"

namespace kiln {

/// What one number of a column of times is worth.
inline constexpr double kSecondsPerTick = 1e-10;

/// How many consecutive steps one entry of a page stands for: 1, or a power of 2 in large runs.
int64_t StepsPerEntry(const Timeline& timeline);

/// A core as columns: its steps (or ranges of them), their copies by operand, and all of the run in
/// segments if not all steps are known.
nlohmann::ordered_json CoreData(const Timeline& timeline, const TimelineCore& core,
                                int64_t steps_per_entry);

}  // namespace kiln
