#pragma once

#include "generator/interpret/evaluate.h"
#include "generator/interpret/run.h"

/// Manual DMA. A copy's data is what its source holds when it starts, and arrives at the wait;
/// nobody may see the difference, since touching either end in between is [sync].
namespace kiln::interpret {

void StartCopy(Run& run, const action::Copy& statement, Span span);
void WaitForCopy(Run& run, const action::Wait& statement, Span span);

/// [sync] when the body reads or writes elements of a ref that a copy in flight touches.
void CheckRead(Run& run, int ref, const Box& box, Span span);
void CheckWrite(Run& run, int ref, const Box& box, Span span);
/// [sync] when a copy in flight touches a block that the pipeline is about to copy in or out, or
/// the elements of the array where it does so.
void CheckMove(Run& run, int ref, const Dims& array_start, const Dims& array_size);
/// [sync] when a copy has not been waited for; `when` says where that would have been due.
void CheckNoCopies(Run& run, const std::string& when);

}  // namespace kiln::interpret
