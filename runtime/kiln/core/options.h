// How the kernels of a context run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kiln/core/machine.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

enum class Mode : int32_t { kDirect, kEmulated };
/// When a copy of the emulated machine moves its bytes.
enum class Dma : int32_t { kOnWait, kEager };
/// What undefined memory of the emulated machine holds; kZeroEdges: zeros past the edges of arrays
/// that the body sums over, NaN elsewhere, which shows where undefined integers come from.
enum class Poison : int32_t { kNan, kRandom, kZero, kZeroEdges };

/// Runs task(argument, i) for all 0 <= i < count, in any order and on any threads, and returns when
/// all have returned.
using ParallelFor = void (*)(void* data, int32_t count, void (*task)(void* argument, int32_t i),
                             void* argument);

struct Options {
  int32_t cores = 0;  // 0: as many as the hardware has; one for calls too small to share
  Mode mode = Mode::kDirect;

  // The emulated machine; budgets are those of a core. 0: as much as one likes.
  int64_t vmem_bytes = int64_t{16} << 20;
  int64_t smem_bytes = int64_t{1} << 20;
  Dma dma = Dma::kOnWait;
  Poison poison = Poison::kNan;
  bool shuffle = false;  // visit the parallel axes in a random order
  uint64_t seed = 0;     // of that order and of random poison
  bool events = false;   // keep what the copies were: Record::events

  Cpu cpu;  // what Direct plans for, where it is not to be what was detected

  // Instead of the context's own threads.
  ParallelFor parallel_for = nullptr;
  void* parallel_for_data = nullptr;

  // Whoever sets it to anything but 0 ends the call between two steps, with the status kCancelled.
  const std::atomic<int32_t>* cancel = nullptr;

  // What blocks and panels are kept in, instead of memory that the context takes for itself, and
  // for one call at a time; a call that needs more (Record::memory_bytes) fails. Null: its own.
  void* memory = nullptr;
  size_t memory_bytes = 0;
};

}  // namespace kiln::inline KILN_ABI
