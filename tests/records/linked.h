#pragma once

#include "generator/native/interface.h"

/// The library of the records' kernels and the runtime: the runtime's classes are in the
/// generator's namespace, so that one program cannot have both.
extern "C" {

/// Null: the generator cannot make it yet.
const kiln::KernelInterface* kiln_kernel_of_record(const char* name);
}
