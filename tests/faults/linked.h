#pragma once

#include "generator/native/interface.h"

/// The library of the faulty kernels and the runtime; see tests/records/linked.h.
extern "C" {

/// Null: the fault leaves no kernel.
const kiln::KernelInterface* kiln_faulty_kernel(const char* name);
}
