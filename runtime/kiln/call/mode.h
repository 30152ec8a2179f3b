// Which of its two machines a kernel runs on.
#pragma once

#include "kiln/core/core.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// A kernel's grid as it is compiled for each of the machines; `emulated` may be null.
template <class Call>
struct Grids {
  void (*direct)(const Call& call, Core& core);
  void (*emulated)(const Call& call, Core& core);
};

/// A template of a grid, for each of them. What is compiled with KILN_DIRECT_ONLY has the first
/// alone, and a fifth to a third less code.
#ifdef KILN_DIRECT_ONLY
#define KILN_GRIDS(grid) \
  { grid<kiln::Direct>, nullptr }
#else
#define KILN_GRIDS(grid) \
  { grid<kiln::Direct>, grid<kiln::Emulated> }
#endif

namespace internal {

/// A call of a kernel, on each core.
template <class Call>
struct CallOfGrids {
  const Grids<Call>& grids;
  const Call& call;

  static void Run(const CallOfGrids& of, Core& core) {
    if (!core.emulated()) return of.grids.direct(of.call, core);
    if (of.grids.emulated == nullptr)
      return core.Fail(kCall, "the kernel is compiled for Direct alone (KILN_DIRECT_ONLY)");
    of.grids.emulated(of.call, core);
  }
};

}  // namespace internal
}  // namespace kiln::inline KILN_ABI
