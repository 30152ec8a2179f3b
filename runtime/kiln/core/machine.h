// What Direct knows of the CPU that it runs on. No result depends on it.
#pragma once

#include <cstdint>

#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// The caches of one core. 0 in the options of a context: as detected.
struct Cpu {
  int64_t l1_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t last_cache_bytes = 0;  // that a core can count on
};

/// The CPU that the constants of blocks.h were measured on, which is what is taken of a cache that
/// the operating system does not report.
constexpr Cpu kTypicalCpu = {int64_t{32} << 10, int64_t{1} << 20, int64_t{32} << 20};

/// What the operating system reports, within what can be true: a virtual machine may name the last
/// caches of a whole socket, of which its neighbours have their share, so that no more than 32 MiB
/// are counted on.
Cpu DetectCpu();

/// `given`, and what was detected where that is 0.
Cpu CompletedCpu(const Cpu& given);

/// The unit in which memory is prefetched, padded and written past the caches. Where lines are
/// longer, that costs time alone.
constexpr int64_t kLineBytes = 64;
/// The size of the pages that panels are kept on.
constexpr int64_t kHugePageBytes = int64_t{2} << 20;
int64_t PageBytes();

/// How far a pass prefetches: far enough that memory has answered, and half of a small L1.
constexpr int64_t kPrefetchAheadBytes = int64_t{16} << 10;
/// Whether passes over what is read once prefetch it, too: those of Intel's CPUs, whose own
/// requests stop at the end of a page. A Zen 4 does not need that, and where its own requests are
/// in the way of others, a loop from memory takes 1.3 times as long.
extern const bool kPrefetchesStreams;
/// Rows up to this size are prefetched into the L1, which has to hold some of them.
constexpr int64_t kShortRowBytes = int64_t{12} << 10;

}  // namespace kiln::inline KILN_ABI
