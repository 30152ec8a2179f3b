#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// The place that a row sees `rows` rows behind this one.
Place BehindBy(Place place, LoopId row, int64_t rows);

/// Which rows are computed together.
enum class Together {
  kNone,   // lanes of neighbouring rows read too few elements of each other's windows
  kFour,   // of a loop
  kPairs,  // of two loops, a pair of each: these read fewer elements
};

/// Whether four rows at a time, which read each element of their windows once, take less time.
/// `outer`: the loop around, if there is nothing else in it.
Together ShareWindows(LoopId outer, const stage::Loop& row);

}  // namespace kiln
