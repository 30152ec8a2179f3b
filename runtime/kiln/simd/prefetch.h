// Requests of lines that are read or written later.
//
// GCC 12 takes a function that does nothing but prefetch for one without effects, and drops calls
// of it, with the loops around them. To it the empty statements are effects.
#pragma once

#include "kiln/core/packed.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

template <typename T>
[[gnu::always_inline]] inline void PrefetchToL1(const T* p) {
  __builtin_prefetch(AddressOf(p), /*write=*/0, /*locality=*/3);
  asm volatile("");
}

template <typename T>
[[gnu::always_inline]] inline void PrefetchToL2(const T* p) {
  __builtin_prefetch(AddressOf(p), /*write=*/0, /*locality=*/2);
  asm volatile("");
}

}  // namespace kiln::inline KILN_ABI
