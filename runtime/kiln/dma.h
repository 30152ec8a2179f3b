// Copies that a body starts and waits for by hand.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kiln/core.h"
#include "kiln/tensor.h"
#include "kiln/tile.h"

namespace kiln {

/// What a copy takes of one dimension: `size` elements from `start` on, of `extent` there are. A
/// point's dimension disappears.
struct Cut {
  int64_t start, size, extent;
  bool point;
};
constexpr Cut CutRange(int64_t start, int64_t size, int64_t extent) {
  return {start, size, extent, false};
}
constexpr Cut CutPoint(int64_t at, int64_t extent) { return {at, 1, extent, true}; }

/// One end of a copy: a window of an array, or of a tile in VMEM. Points have extent 1 and come
/// last, so that both ends of a copy have their other dimensions in the same places.
struct CopyEnd {
  const char* name = nullptr;
  char* data = nullptr;
  int rank = 0;  // without the points
  bool in_vmem = false;
  int64_t extent[kMaxRank] = {};
  int64_t stride[kMaxRank] = {};  // in bytes
};

namespace internal {

/// Fails unless every dimension's part is in range.
bool CheckCuts(Core& core, const char* name, const Cut* cuts, int rank);
CopyEnd EndOf(const char* name, const void* data, size_t element, const int64_t* stride,
              const Cut* cuts, int rank, bool in_vmem);

}  // namespace internal

/// The part of an array that stays in HBM. Its data is null if it is out of range: a finding.
template <typename T, size_t R>
CopyEnd PartOf(Core& core, const char* name, const Tensor<T>& array,
               const std::array<Cut, R>& cuts) {
  if (!internal::CheckCuts(core, name, cuts.data(), static_cast<int>(R))) return {};
  return internal::EndOf(name, array.data, sizeof(T), array.stride.data(), cuts.data(),
                         static_cast<int>(R), false);
}
/// The part of a block or of scratch.
template <typename T, int V, size_t R>
CopyEnd PartOf(Core& core, const char* name, const Tile<T, V>& tile,
               const std::array<Cut, R>& cuts) {
  static_assert(static_cast<size_t>(V) == R);
  if (!internal::CheckCuts(core, name, cuts.data(), V)) return {};
  return internal::EndOf(name, tile.data, sizeof(T), tile.stride.data(), cuts.data(), V, true);
}

/// A semaphore of the spec.
struct Semaphore {
  const char* name;
  int32_t ordinal;
  int64_t count;
};

/// The copies of a core that are in flight. Direct moves the bytes at once, as nobody may look at
/// them before the wait. The emulator moves them at the wait (or at once if it is told so) and the
/// target holds poison until then.
class Copies {
 public:
  explicit Copies(Core& core) : core_(core) {}

  Core& core() const { return core_; }

  /// Starts a copy on semaphore[slot]. False: there is a finding.
  bool Start(const Semaphore& semaphore, int64_t slot, size_t element, const CopyEnd& from,
             const CopyEnd& to);
  /// Waits for the oldest copy on semaphore[slot].
  bool Wait(const Semaphore& semaphore, int64_t slot);
  /// At the end of the grid, and where parallel coordinates change: nothing may be in flight.
  void End();

 private:
  struct InFlight {
    Semaphore semaphore;
    int64_t slot;
    size_t element;
    CopyEnd from, to;
    bool moved;
  };

  bool CheckSlot(const Semaphore& semaphore, int64_t slot);
  bool CheckOverlaps(const CopyEnd& from, const CopyEnd& to);

  Core& core_;
  std::vector<InFlight> in_flight_;  // oldest first; of the emulator
};

}  // namespace kiln
