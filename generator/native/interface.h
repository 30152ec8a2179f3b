#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "generator/native/call.h"
#include "kiln/c.h"

namespace kiln {

/// A compiled kernel and its runtime, as functions: from a library that was loaded, or linked.
struct KernelInterface {
  /// Scalars are tensors, too: of the type that PassedAs says.
  int32_t (*call)(const DLTensor* const* arguments, kiln_context* context, kiln_status* status);
  decltype(&kiln_options_init) options_init;
  decltype(&kiln_context_new) context_new;
  decltype(&kiln_context_free) context_free;
  decltype(&kiln_context_operands) operands;
  decltype(&kiln_context_vmem_high) vmem_high;
  decltype(&kiln_context_events) events;
  decltype(&kiln_code_name) code_name;
};

/// The source file NAME_call.cc: the kernel, and KernelInterface::call of it, as the C function
/// kiln_packed_NAME.
std::string CallText(const Kernel& kernel);

/// The source file NAME_module.cc: kiln_packed_NAME alone, of a kernel that is compiled by itself.
std::string ModuleText(const Kernel& kernel);

/// See LoadedKernel::Call.
CallResult CallKernel(const KernelInterface& kernel, const Binding& binding,
                      const std::map<std::string, Array>& arrays, const CallOptions& options);

}  // namespace kiln
