#pragma once

#include "generator/check/grid/index_program.h"

/// The arithmetic of index programs: one operation on whole registers.
namespace kiln {

/// Computes kLanes values; true when some lane has a fault. Not for kConst and kRead.
bool ComputeLanes(const Instruction& op, const int64_t* a, const int64_t* b, const int64_t* c,
                  int64_t* to);
/// Why ComputeLanes found fault with these arguments; kNone if it did not.
EvalFault ComputeLane(const Instruction& op, int64_t a, int64_t b);
/// Elements of an integer or bool array by linear index.
void GatherLanes(const Array& array, const int64_t* at, int64_t* to);

}  // namespace kiln
