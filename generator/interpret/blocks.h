#pragma once

#include "generator/interpret/run.h"

/// The pipeline: which block of each operand VMEM holds, its stays, and the copies in and out.
namespace kiln::interpret {

void PrepareBlocks(Run& run);

/// Brings every operand to the current step: copies out the output blocks whose stays have ended,
/// forgets scratch when the parallel coordinates changed, copies in input blocks, begins stays.
void MoveBlocks(Run& run);
/// Copies out the blocks of the last stays.
void EndStays(Run& run);

bool IsFirstVisit(Run& run, int ref);
bool IsLastVisit(Run& run, int ref);

/// kInside and kAt of the block that is held.
Tile InsideMask(Run& run, int ref);
Tile ArrayCoordinates(Run& run, int ref, int view_axis);

}  // namespace kiln::interpret
