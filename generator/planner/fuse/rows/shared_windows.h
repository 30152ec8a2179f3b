#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// The place that a row sees `rows` rows behind this one.
Place BehindBy(Place place, LoopId row, int64_t rows);

/// Whether lanes of neighbouring rows read so many elements of each other's windows that four rows
/// at a time, which read each once, take less time.
bool ShareWindows(const stage::Loop& row);

/// The same where elements are narrow floats, which become f32 as they are read.
bool ShareNarrowWindows(const Plan& plan, const stage::Loop& row);

}  // namespace kiln
