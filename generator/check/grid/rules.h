#pragma once

#include "generator/check/grid/common.h"

/// The rules that CheckGrid applies, one function each.
namespace kiln {

/// [index-range] of an operand's index map. Puts the operand into context.out_of_range.
void CheckMapRange(GridContext& context, int ref);

/// [revisit], [race], [alias] and the unvisited blocks of [coverage], for the operands that share
/// one memory: an output, other windows on its array, and what it is an alias of.
struct MemoryGroup {
  std::vector<int> writers;
  std::vector<int> readers;
};
std::vector<MemoryGroup> MemoryGroups(const Kernel& kernel);
void CheckVisits(GridContext& context, const MemoryGroup& group);

/// [coverage]: stays of an output in which no store runs, as far as the stores' conditions are
/// decided by the grid.
void CheckStoresRun(GridContext& context, int ref);

/// [key]: the outputs of the epilogue have the same stays.
void CheckEpilogueStays(GridContext& context);

/// [index-range] of subscripts, slices, prefetch elements and semaphores of the body and the
/// epilogue, and [assert]: what the grid decides, in the steps that the grid says reach it.
void CheckBody(GridContext& context);

/// [tier]: what the kernel needs of VMEM and SMEM against the budgets.
void CheckTiers(GridContext& context);

}  // namespace kiln
