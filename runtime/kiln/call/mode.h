// Which of its two machines a kernel runs on.
#pragma once

#include "kiln/core/core.h"
#include "kiln/core/version.h"
#include "kiln/direct/direct.h"
#include "kiln/emulate/emulated.h"

namespace kiln::inline KILN_ABI {

/// Calls run<Direct>() or run<Emulated>(), as the call says. What is compiled with KILN_DIRECT_ONLY
/// has the first alone, and a fifth to a third less code. Static, since kernels of both kinds may
/// be in one program.
template <class Run>
static inline void InItsMode(Core& core, const Run& run) {
#ifdef KILN_DIRECT_ONLY
  if (core.emulated())
    return core.Fail(kCall, "the kernel is compiled for Direct alone (KILN_DIRECT_ONLY)");
#else
  if (core.emulated()) return run.template operator()<Emulated>();
#endif
  run.template operator()<Direct>();
}

}  // namespace kiln::inline KILN_ABI
