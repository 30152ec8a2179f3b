#pragma once

#include <cstdint>

#include "kiln/c.h"

/// All kernels of generated/, linked into one library that shows nothing else: the generator and
/// the runtime give some names to different things, so that no program can hold both in the open.
namespace kiln::test {

struct LinkedKernel {
  const char* name;
  const char* spec;
  const char* instance;
  int32_t (*call)(const DLTensor* const* arguments, kiln_context* context, kiln_status* status);
};

struct LinkedRuntime {
  decltype(&kiln_options_init) options_init;
  decltype(&kiln_context_new) context_new;
  decltype(&kiln_context_free) context_free;
  decltype(&kiln_context_operands) operands;
  decltype(&kiln_context_vmem_high) vmem_high;
  decltype(&kiln_context_events) events;
  decltype(&kiln_code_name) code_name;
};

}  // namespace kiln::test

#define KILN_SHOWN extern "C" __attribute__((visibility("default")))

KILN_SHOWN const kiln::test::LinkedKernel* kiln_linked_kernels(int32_t* count);
KILN_SHOWN const kiln::test::LinkedRuntime* kiln_linked_runtime();

/// The instruction sets that kernels have code for and this machine can run, the best last.
/// Returns how many; names them.
KILN_SHOWN int32_t kiln_linked_targets(int32_t capacity, const char** names);
/// Kernels run on this one of them until another is set; -1: the best.
KILN_SHOWN void kiln_linked_use_target(int32_t target);
