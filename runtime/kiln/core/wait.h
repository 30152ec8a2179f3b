// Waiting for another thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "kiln/core/types.h"
#include "kiln/core/version.h"
// Highway after its targets.
#include "hwy/cache_control.h"

namespace kiln::inline KILN_ABI {

/// Looks for a change this often before sleeping: some ten microseconds, the time it takes to wake
/// up.
constexpr int kLooks = 1000;

/// Returns when `value` is no longer `old`.
inline void WaitWhile(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int look = 0; look < kLooks; ++look) {
    if (value.load(std::memory_order_acquire) != old) return;
    hwy::Pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace kiln::inline KILN_ABI
