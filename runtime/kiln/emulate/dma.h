// Copies that a body starts and waits for by hand.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "kiln/core/core.h"
#include "kiln/core/list.h"
#include "kiln/core/pages.h"
#include "kiln/core/version.h"
#include "kiln/emulate/copy_end.h"
#include "kiln/emulate/left_copies.h"
#include "kiln/errors/touches.h"

namespace kiln::inline KILN_ABI {

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

/// The copies of a core that are in flight. Nothing may look at what they move before the wait.
/// Direct asks memory for the bytes and moves them when the next copy starts, or at the next wait:
/// pages that are anywhere come one behind the other's back, instead of one after the other. What
/// only few rows of dots read it leaves in the array, for which these dots ask as they go on; what
/// others read, and find first, it leaves there, too. The emulator moves bytes at the wait (or at
/// once if an option says so) and the target holds poison until then.
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
  /// Scratch that nothing but copies from inputs sets, and nothing but few rows of dots reads: what
  /// is copied there may be left where it is.
  void MayLeave(void* scratch, size_t bytes);
  Pages& PagesOf(const void* scratch) { return *FindPages(scratch); }
  /// Scratch that nothing but copies from inputs sets, and of which all that is read is found
  /// first.
  void MayStay(const void* scratch);

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
  /// MayRead. Gives the tile as those may see it who read this part of it alone: Direct may have
  /// left the part in an array.
  template <typename T, int V, size_t R>
  Tile<T, V> Find(int32_t line, const char* name, const Tile<T, V>& tile,
                  const std::array<Cut, R>& cuts) {
    const auto part = [&] { return PartOf(name, tile, cuts); };
    LeftCopies* const left = LeftTo(tile.data);
    if (!MayRead(line, part) || left == nullptr || left->IsEmpty()) return tile;
    const LeftCopy* const copy = left->Find(part());
    return copy == nullptr ? tile : internal::SeenAt(tile, copy->to, copy->from);
  }
  /// MayWrite of a part all of which is set before anything else is copied, and then copied to an
  /// array, where nobody else looks at it. Gives the tile as those may see it who set that part:
  /// in Direct it may be in the array.
  template <typename T, int V, size_t R>
  Tile<T, V> Ahead(int32_t line, const char* name, const Tile<T, V>& tile,
                   const std::array<Cut, R>& cuts, const CopyEnd& to) {
    const CopyEnd part = PartOf(name, tile, cuts);
    if (!MayWrite(line, [&] { return part; }) || !GoesAhead(part, to)) return tile;
    return internal::SeenAt(tile, part, to);
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
    bool arrived = false;
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
  Pages* FindPages(const void* buffer);
  LeftCopies* LeftTo(const void* buffer);
  bool LeaveByHand(const CopyEnd& from, const CopyEnd& to, size_t element);
  bool GoesAhead(const CopyEnd& part, const CopyEnd& to);
  bool IsThere(const CopyEnd& from, const CopyEnd& to);
  void Ask(const CopyEnd& from, size_t element, int64_t semaphore, bool meanwhile);
  void AskForRest(const Semaphore& semaphore, const SemaphoreIndex& slot);
  void Count(const CopyEnd& from, const CopyEnd& to);
  void Move(const InFlight& copy);
  /// Direct's last copy, if it has not moved yet.
  void MoveLast();
  void Note(const InFlight& copy);
  void NoteWait(const Semaphore& semaphore, const SemaphoreIndex& slot, int64_t bytes);
  bool CheckTouches(const CopyEnd& end, bool reads);
  InFlight* OldestOn(const Semaphore& semaphore, const SemaphoreIndex& slot);
  void Arrive(InFlight* oldest);
  bool ArriveBytes(const Semaphore& semaphore, const SemaphoreIndex& slot, int64_t bytes);
  void DropArrived();
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
  std::optional<InFlight> last_;        // of Direct
  internal::List<Pages> pages_;
  internal::List<LeftCopies> left_;
  internal::List<CopyAhead> ahead_;
  Requests requests_;
};

}  // namespace kiln::inline KILN_ABI
