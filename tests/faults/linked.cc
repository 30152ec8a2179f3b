#include "tests/faults/linked.h"

#include <map>
#include <string>

extern "C" {
#define KILN_FAULT(kernel)                                                              \
  int32_t kiln_packed_##kernel(const DLTensor* const* arguments, kiln_context* context, \
                               kiln_status* status);
#include "kernels.inc"
#undef KILN_FAULT
}

namespace {

kiln::KernelInterface Linked(decltype(kiln::KernelInterface::call) call) {
  return {call,
          &kiln_options_init,
          &kiln_context_new,
          &kiln_context_free,
          &kiln_context_operands,
          &kiln_context_vmem_high,
          &kiln_context_events,
          &kiln_code_name};
}

}  // namespace

[[gnu::visibility("default")]] const kiln::KernelInterface* kiln_faulty_kernel(const char* name) {
  static const std::map<std::string, kiln::KernelInterface> kernels = {
#define KILN_FAULT(kernel) {#kernel, Linked(&kiln_packed_##kernel)},
#include "kernels.inc"
#undef KILN_FAULT
  };
  const auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second;
}
