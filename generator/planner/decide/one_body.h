#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// The bodies of a reduction's steps as one, where they differ only in what a dot does with its
/// sums: they start from 0 in the first step, stay in the accumulators, and go on to the epilogue in
/// the last. The text then has one body instead of four.
void MakeOneBody(Plan& plan);

}  // namespace kiln
