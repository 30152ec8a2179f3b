#pragma once

#include "generator/bind/bind.h"
#include "generator/predict/machine/machine.h"

namespace kiln::fuzz {

/// What `kiln predict` and `kiln report` make of a call, without writing files: its time, as text
/// and for programs, what a page shows, and the trace.
void PredictCall(const Binding& binding, const Machine& machine, Diagnostics& found);

}  // namespace kiln::fuzz
