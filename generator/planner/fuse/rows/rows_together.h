#pragma once

#include "generator/plan/plan.h"

namespace kiln {

/// Rows that are added up, such as those of a sum over the first axis, are taken some at a time:
/// what they are added to is loaded and stored once for all of them, and the hardware reads ahead
/// in each of them. The order of additions stays. So are rows of elements that read much which all
/// of them share, such as the taps of a depthwise convolution: it is read once for some rows.
void TakeRowsTogether(Plan& plan);

}  // namespace kiln
