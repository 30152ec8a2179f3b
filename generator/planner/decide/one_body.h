#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Makes one body of those of a reduction's steps where they differ only in what the dot at their
/// end does with its sums: they start from 0 in the first step, stay in the accumulators, and go on
/// to the epilogue in the last; or they are rows of an output all along. The text then has one body
/// instead of four or two.
void MakeOneBody(Plan& plan);

}  // namespace kiln
