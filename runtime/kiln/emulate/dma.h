// Copies that a body starts and waits for by hand.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "kiln/core/core.h"
#include "kiln/core/list.h"
#include "kiln/core/tensor.h"
#include "kiln/core/tile.h"
#include "kiln/errors/touches.h"
#include "kiln/format/elements.h"

namespace kiln {

/// What a copy takes of one dimension: `size` elements from `start` on, of `extent` there are. A
/// point's dimension disappears.
struct Cut {
  int64_t start, size, extent;
  bool point;
  int64_t most = INT64_MAX;  // that `size` may be
};
constexpr Cut CutRange(int64_t start, int64_t size, int64_t extent) {
  return {start, size, extent, false};
}
/// So many elements as only the step knows.
constexpr Cut CutUpTo(int64_t start, int64_t size, int64_t most, int64_t extent) {
  return {start, size, extent, false, most};
}
constexpr Cut CutPoint(int64_t at, int64_t extent) { return {at, 1, extent, true}; }

/// One end of a copy: a window of an array, or of a tile in VMEM. Points have extent 1 and come
/// last, so that both ends of a copy have their other dimensions in the same places.
struct CopyEnd {
  const char* name = nullptr;
  char* data = nullptr;
  int rank = 0;  // without the points
  int64_t extent[kMaxRank] = {};
  int64_t stride[kMaxRank] = {};  // in bytes; of packed elements in places, as `data` is one
  const void* memory = nullptr;   // the whole array or tile, …
  int32_t array = -1;             // its ordinal if it is in HBM, …
  Window window;                  // and the part of it, points included
  const internal::ElementType* element = nullptr;
  Cut outside{};               // the first dimension that is out of range, …
  int outside_dimension = -1;  // and its number; -1: none is
};

namespace internal {

CopyEnd EndOf(const char* name, const void* data, const ElementType& element, const int64_t* stride,
              const Cut* cuts, int rank, int32_t array = -1);

}  // namespace internal

/// The part of an array that stays in HBM. Out of range it has no data.
template <typename T, size_t R>
CopyEnd PartOf(const Operand& operand, const Tensor<T>& array, const std::array<Cut, R>& cuts) {
  return internal::EndOf(operand.name, array.data, internal::ElementTypeOf<T>(),
                         array.stride.data(), cuts.data(), static_cast<int>(R), operand.ordinal);
}
/// The part of a block or of scratch.
template <typename T, int V, size_t R>
CopyEnd PartOf(const char* name, const Tile<T, V>& tile, const std::array<Cut, R>& cuts) {
  static_assert(static_cast<size_t>(V) == R);
  return internal::EndOf(name, AddressOf(tile.data), internal::ElementTypeOf<T>(),
                         tile.stride.data(), cuts.data(), V);
}

/// How many semaphores a name has by dimension, or which one of them is meant.
struct SemaphoreIndex {
  int rank = 1;
  int64_t at[kMaxRank] = {};

  constexpr SemaphoreIndex(int64_t only = 0) : at{only} {}  // NOLINT: most have one dimension
  constexpr SemaphoreIndex(std::initializer_list<int64_t> all)
      : rank(static_cast<int>(all.size())) {
    std::copy(all.begin(), all.end(), at);
  }
};

/// Semaphores of the spec, and the line of the statement that uses one.
struct Semaphore {
  const char* name;
  int32_t ordinal;
  SemaphoreIndex counts;
  int32_t line = 0;
};

/// The copies of a core that are in flight. Direct moves the bytes at once, as nothing may look at
/// them before the wait. The emulator moves them at the wait (or at once if an option says so) and
/// the target holds poison until then.
class Copies {
 public:
  explicit Copies(Core& core) : core_(core) { core.SetCopies(this); }
  ~Copies() { core_.SetCopies(nullptr); }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  /// Arrays in HBM that copies read and write; an input may lend its memory to an output. `due`:
  /// elements of an output that nothing but copies sets.
  void Reads(const Operand& input, int32_t lent_to = -1);
  void Writes(const Operand& output, int64_t due = 0);

  /// Starts a copy on semaphore[slot]. False: there is a diagnostic.
  bool Start(const Semaphore& semaphore, const SemaphoreIndex& slot, size_t element,
             const CopyEnd& from, const CopyEnd& to);
  /// Waits for the oldest copy on semaphore[slot].
  bool Wait(const Semaphore& semaphore, const SemaphoreIndex& slot);
  /// Waits until as many bytes have arrived as the part has.
  bool Wait(const Semaphore& semaphore, const SemaphoreIndex& slot, size_t element,
            const CopyEnd& part);
  /// Whether the body may look at a part, or write it, before the next wait. `part()` is only
  /// asked where copies are in flight.
  template <class Part>
  bool MayRead(int32_t line, const Part& part) {
    return in_flight_.empty() || CheckBody(line, part(), /*writes=*/false);
  }
  template <class Part>
  bool MayWrite(int32_t line, const Part& part) {
    return in_flight_.empty() || CheckBody(line, part(), /*writes=*/true);
  }
  /// The pipeline copies a block of the operand in or out.
  void CheckMove(const Operand& operand, const void* array, const Window& window, bool writes);
  /// At the end of the grid, and where parallel coordinates change: nothing may be in flight.
  void End();

 private:
  struct InFlight {
    Semaphore semaphore;
    SemaphoreIndex slot;
    size_t element;
    CopyEnd from, to;
    bool moved;
    int64_t waited = 0;  // bytes of it that nobody waits for any more
  };

  /// An array in HBM.
  struct Array {
    Operand operand;
    int32_t output;  // whose memory it is; -1: nobody writes it
    OperandRecord* record;
  };

  Array* ArrayOf(const CopyEnd& end);
  /// Whether elements of one are elements of the other.
  bool Share(const CopyEnd& a, const CopyEnd& b);
  void Move(const InFlight& copy);
  void Note(const InFlight& copy);
  void NoteWait(const Semaphore& semaphore, const SemaphoreIndex& slot, int64_t bytes);
  bool CheckTouches(const CopyEnd& end, bool reads);
  InFlight* OldestOn(const Semaphore& semaphore, const SemaphoreIndex& slot);
  void Arrive(InFlight* oldest);
  bool FailToWait(const Semaphore& semaphore, const SemaphoreIndex& slot);
  bool CheckSlot(const Semaphore& semaphore, const SemaphoreIndex& slot);
  bool CheckInside(const Semaphore& semaphore, const CopyEnd& end);
  bool CheckWholeBytes(const Semaphore& semaphore, const CopyEnd& to);
  bool CheckDefined(const Semaphore& semaphore, size_t width, const CopyEnd& from);
  bool CheckBody(int32_t line, const CopyEnd& part, bool writes);
  bool CheckOverlaps(const Semaphore& semaphore, const CopyEnd& from, const CopyEnd& to);

  Core& core_;
  internal::List<Array> arrays_;
  internal::List<InFlight> in_flight_;  // oldest first; of the emulator
};

}  // namespace kiln
