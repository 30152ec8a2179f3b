#include "kiln/emulate/dma.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>

#include "kiln/emulate/emulated.h"

namespace kiln::inline KILN_ABI {
namespace {

int64_t SemaphoreNumber(const Semaphore& semaphore, const SemaphoreIndex& slot) {
  int64_t number = 0;
  for (int d = 0; d < slot.rank; ++d) number = number * semaphore.counts.at[d] + slot.at[d];
  return semaphore.ordinal * (int64_t{1} << 32) + number;
}

/// "arrived[1, 0]"
struct SlotText {
  char text[256];

  SlotText(const Semaphore& semaphore, const SemaphoreIndex& slot) {
    int used = std::snprintf(text, sizeof(text), "%s", semaphore.name);
    for (int d = 0; d < slot.rank; ++d) {
      used += std::snprintf(text + used, sizeof(text) - static_cast<size_t>(used), "%s%" PRId64,
                            d == 0 ? "[" : ", ", slot.at[d]);
    }
    std::snprintf(text + used, sizeof(text) - static_cast<size_t>(used), "]");
  }
};

}  // namespace

void Copies::Reads(const Operand& input, int32_t lent_to) {
  arrays_.push_back({input, lent_to, &core_.RecordOf(input)});
}

void Copies::Writes(const Operand& output, int64_t due) {
  core_.CheckWalked(output, due);
  arrays_.push_back({output, output.ordinal, &core_.RecordOf(output)});
  arrays_.back().record->is_output = true;
}

Copies::Array* Copies::ArrayOf(const CopyEnd& end) {
  if (end.array < 0) return nullptr;
  const auto found = std::find_if(arrays_.begin(), arrays_.end(), [&](const Array& array) {
    return array.operand.ordinal == end.array;
  });
  return found == arrays_.end() ? nullptr : &*found;
}

void Copies::MayLeave(void* scratch, size_t bytes) {
  pages_.push_back({scratch, bytes, &requests_});
  if (core_.emulated()) pages_.back().Close();
}

Pages* Copies::FindPages(const void* buffer) {
  const auto found = std::find_if(pages_.begin(), pages_.end(),
                                  [&](const Pages& pages) { return pages.IsOf(buffer); });
  return found == pages_.end() ? nullptr : &*found;
}

void Copies::Move(const InFlight& copy) {
  internal::MoveBytes(copy.from, copy.to, copy.element);
  Count(copy.from, copy.to);
}

void Copies::Count(const CopyEnd& from, const CopyEnd& to) {
  for (const CopyEnd* end : {&from, &to}) {
    Array* const array = ArrayOf(*end);
    if (array == nullptr) continue;
    ++array->record->copies;
    array->record->bytes += internal::BytesOf(*end);
  }
}

void Copies::MoveLast() {
  if (!last_) return;
  Move(*last_);
  last_.reset();
}

/// Has memory asked for what a copy reads: by those that compute, or all of it now.
void Copies::Ask(const CopyEnd& from, size_t element, int64_t semaphore, bool meanwhile) {
  if (meanwhile)
    internal::Request(from, element, semaphore, &requests_);
  else
    internal::Prefetch(from, element);
}

/// What they have not asked for when it is waited for.
void Copies::AskForRest(const Semaphore& semaphore, const SemaphoreIndex& slot) {
  if (!pages_.empty()) requests_.AskUntil(SemaphoreNumber(semaphore, slot));
}

/// For callers that record events.
void Copies::Note(const InFlight& copy) {
  if (core_.recorder() == nullptr) return;
  Event event{Event::Kind::kStart, -1, 0, 0, SemaphoreNumber(copy.semaphore, copy.slot)};
  event.out = copy.to.array >= 0;
  const CopyEnd& end = event.out ? copy.to : copy.from;
  event.bytes = internal::BytesOf(end);
  if (end.array >= 0) {
    event.operand = end.array;
    for (int d = 0; d < end.window.rank; ++d)
      event.place = event.place * end.window.extent[d] + end.window.start[d];
  }
  core_.recorder()->Add(event);
}

void Copies::NoteWait(const Semaphore& semaphore, const SemaphoreIndex& slot, int64_t bytes) {
  if (core_.recorder() == nullptr) return;
  core_.recorder()->Add({Event::Kind::kWait, -1, 0, bytes, SemaphoreNumber(semaphore, slot)});
}

/// Whether the other touches of the elements let a copy read or write them.
bool Copies::CheckTouches(const CopyEnd& end, bool reads) {
  Array* const array = ArrayOf(end);
  if (array == nullptr || array->output < 0 || core_.touches() == nullptr) return true;
  const Touch touch = internal::TouchOf(core_, array->operand, /*by_hand=*/true);
  const Clash clash = reads
                          ? core_.touches()->Read(array->output, end.window, touch, /*moves=*/true)
                          : core_.touches()->Write(array->output, end.window, touch);
  internal::FailClash(core_, array->operand, end.window, clash, reads);
  return core_.ok();
}

bool Copies::CheckSlot(const Semaphore& semaphore, const SemaphoreIndex& slot) {
  for (int d = 0; d < slot.rank; ++d) {
    const int64_t count = semaphore.counts.at[d];
    if (slot.at[d] >= 0 && slot.at[d] < count) continue;
    const SlotText name(semaphore, slot);
    if (slot.rank == 1) {
      core_.Fail(kIndexRange,
                 "%s is used (line %d) on core %d, but there are %" PRId64 " semaphores", name.text,
                 semaphore.line, core_.index(), count);
    } else {
      core_.Fail(kIndexRange,
                 "%s is used (line %d) on core %d, but dimension %d of %s has %" PRId64
                 " semaphores",
                 name.text, semaphore.line, core_.index(), d, semaphore.name, count);
    }
    return false;
  }
  return true;
}

bool Copies::Share(const CopyEnd& a, const CopyEnd& b) {
  if (a.memory == b.memory) return internal::Overlap(a.window, b.window);
  if (a.array < 0 || b.array < 0) return false;
  const Array* const array_a = ArrayOf(a);
  const Array* const array_b = ArrayOf(b);
  const bool one_output = array_a != nullptr && array_b != nullptr && array_a->output >= 0 &&
                          array_a->output == array_b->output;
  return one_output && internal::Overlap(a.window, b.window);
}

bool Copies::CheckInside(const Semaphore& semaphore, const CopyEnd& end) {
  if (end.outside_dimension < 0) return true;
  if (end.outside.size < 0 || end.outside.size > end.outside.most) {
    core_.Fail(kIndexRange,
               "a copy (line %d) on core %d takes %" PRId64
               " elements of dimension %d of %s, of "
               "which it may take %" PRId64,
               semaphore.line, core_.index(), end.outside.size, end.outside_dimension, end.name,
               end.outside.most);
    return false;
  }
  core_.Fail(kIndexRange,
             "a copy (line %d) on core %d takes %" PRId64 " elements from %" PRId64
             " on of dimension %d of %s, which has %" PRId64,
             semaphore.line, core_.index(), end.outside.size, end.outside.start,
             end.outside_dimension, end.name, end.outside.extent);
  return false;
}

/// Another core may write the other half of a byte of an array.
bool Copies::CheckWholeBytes(const Semaphore& semaphore, const CopyEnd& to) {
  const int last = to.window.rank - 1;
  if (to.array < 0 || !internal::IsPacked(to) || last < 0) return true;
  const int64_t start = to.window.start[last], end = start + to.window.size[last];
  if (start % 2 == 0 && (end % 2 == 0 || end == to.window.extent[last])) return true;
  core_.Fail(kIndexRange,
             "a copy (line %d) on core %d writes elements %" PRId64 " to %" PRId64
             " of dimension %d of %s, which are not whole bytes",
             semaphore.line, core_.index(), start, end - 1, last, to.name);
  return false;
}

/// Of what the core has: arrays of the caller may hold any NaN.
bool Copies::CheckDefined(const Semaphore& semaphore, size_t width, const CopyEnd& from) {
  if (from.array >= 0 || !internal::HasPoison(core_.options()) || internal::IsEmpty(from))
    return true;
  const void* const found = internal::FindUndefined(from, width);
  if (found == nullptr) return true;
  internal::FailUndefined(core_, from.name, semaphore.line, from.element->hole_of(found));
  return false;
}

bool Copies::CheckBody(int32_t line, const CopyEnd& part, bool writes) {
  if (!core_.ok()) return false;
  for (const InFlight& copy : in_flight_) {
    const bool into = Share(part, copy.to);
    if (!into && !(writes && Share(part, copy.from))) continue;
    core_.Fail(
        kSync,
        "%s is %s (line %d) on core %d while a copy %s it is in flight, which began in line %d",
        part.name, writes ? "written" : "read", line, core_.index(), into ? "into" : "from",
        copy.semaphore.line);
    return false;
  }
  return true;
}

void Copies::CheckMove(const Operand& operand, const void* array, const Window& window,
                       bool writes) {
  if (in_flight_.empty() || !core_.ok()) return;
  for (const InFlight& copy : in_flight_) {
    const auto is_block = [&](const CopyEnd& end) {
      return end.array < 0 && std::strcmp(end.name, operand.name) == 0;
    };
    const auto is_array = [&](const CopyEnd& end) {
      return end.array >= 0 && end.memory == array && internal::Overlap(end.window, window);
    };
    if (!is_block(copy.from) && !is_block(copy.to) && !is_array(copy.to) &&
        !(writes && is_array(copy.from)))
      continue;
    core_.Fail(kSync,
               "a block of %s (line %d) is copied %s on core %d while a copy %s %s is in flight, "
               "which began in line %d",
               operand.name, operand.line, writes ? "out" : "in", core_.index(),
               is_block(copy.to) || is_array(copy.to) ? "into" : "from", operand.name,
               copy.semaphore.line);
    return;
  }
}

bool Copies::CheckOverlaps(const Semaphore& semaphore, const CopyEnd& from, const CopyEnd& to) {
  for (const InFlight& copy : in_flight_) {
    const bool read = Share(from, copy.to);
    const bool written = Share(to, copy.to) || Share(to, copy.from);
    if (!read && !written) continue;
    core_.Fail(kSync, "a copy (line %d) %s %s on core %d while one from %s to %s is in flight",
               semaphore.line, read ? "reads" : "writes", read ? from.name : to.name, core_.index(),
               copy.from.name, copy.to.name);
    return false;
  }
  return true;
}

bool Copies::Start(const Semaphore& semaphore, const SemaphoreIndex& slot, size_t element,
                   const CopyEnd& from, const CopyEnd& to) {
  if (!core_.ok() || !CheckSlot(semaphore, slot) || !CheckInside(semaphore, from) ||
      !CheckInside(semaphore, to))
    return false;
  if (!std::equal(from.extent, from.extent + from.rank, to.extent, to.extent + to.rank)) {
    core_.Fail(kIndexRange,
               "the two ends of a copy (line %d) from %s to %s differ in size on core %d",
               semaphore.line, from.name, to.name, core_.index());
    return false;
  }
  if (!CheckWholeBytes(semaphore, to)) return false;
  if (IsThere(from, to)) return Count(from, to), true;
  Pages* const pages = FindPages(to.memory);
  const bool left =
      !core_.emulated() && pages != nullptr && internal::Leave(from, to, element, pages);
  const bool meanwhile = left || (core_.emulated() && pages != nullptr);
  Ask(from, element, SemaphoreNumber(semaphore, slot), meanwhile);
  if (!core_.emulated()) {
    if (left) return Count(from, to), true;
    MoveLast();
    if (LeaveByHand(from, to, element)) return Count(from, to), true;
    last_ = InFlight{semaphore, slot, element, from, to, false};
    return true;
  }
  if (!CheckOverlaps(semaphore, from, to)) return false;
  if (Share(from, to)) {
    core_.Fail(kSync, "the two ends of a copy (line %d) from %s to %s overlap on core %d",
               semaphore.line, from.name, to.name, core_.index());
    return false;
  }
  if (!CheckDefined(semaphore, element, from)) return false;
  // Before any byte of the target changes: two cores must not write it at once, not even here.
  if (!CheckTouches(from, /*reads=*/true) || !CheckTouches(to, /*reads=*/false)) return false;
  InFlight copy{semaphore, slot, element, from, to, false};
  Note(copy);
  copy.moved = core_.options().dma == Dma::kEager;
  if (copy.moved) {
    Move(copy);
  } else {
    internal::Forget(core_.options(), to, element);
  }
  try {
    in_flight_.push_back(copy);
  } catch (const std::bad_alloc&) {
    core_.Fail(kMemory, "there is no memory for copies in flight");
    return false;
  }
  return true;
}

Copies::InFlight* Copies::OldestOn(const Semaphore& semaphore, const SemaphoreIndex& slot) {
  const int64_t number = SemaphoreNumber(semaphore, slot);
  const auto found = std::find_if(in_flight_.begin(), in_flight_.end(), [&](const InFlight& copy) {
    return !copy.arrived && SemaphoreNumber(copy.semaphore, copy.slot) == number;
  });
  return found == in_flight_.end() ? nullptr : &*found;
}

void Copies::Arrive(InFlight* oldest) {
  if (!oldest->moved) Move(*oldest);
  oldest->arrived = true;
}

/// All at once: each time one goes, those behind it move.
void Copies::DropArrived() {
  InFlight* const end = std::remove_if(in_flight_.begin(), in_flight_.end(),
                                       [](const InFlight& copy) { return copy.arrived; });
  in_flight_.resize(static_cast<size_t>(end - in_flight_.begin()));
}

bool Copies::FailToWait(const Semaphore& semaphore, const SemaphoreIndex& slot) {
  core_.Fail(kSync,
             "nothing to wait for (line %d) on core %d: no copy on %s is in flight, so this would "
             "wait for ever",
             semaphore.line, core_.index(), SlotText(semaphore, slot).text);
  return false;
}

bool Copies::Wait(const Semaphore& semaphore, const SemaphoreIndex& slot) {
  if (!core_.ok() || !CheckSlot(semaphore, slot)) return false;
  AskForRest(semaphore, slot);
  if (!core_.emulated()) return MoveLast(), true;
  InFlight* const oldest = OldestOn(semaphore, slot);
  if (oldest == nullptr) return FailToWait(semaphore, slot);
  NoteWait(semaphore, slot, Event::kOldestCopy);
  Arrive(oldest);
  DropArrived();
  return true;
}

bool Copies::Wait(const Semaphore& semaphore, const SemaphoreIndex& slot, size_t /*element*/,
                  const CopyEnd& part) {
  if (!core_.ok() || !CheckSlot(semaphore, slot) || !CheckInside(semaphore, part)) return false;
  AskForRest(semaphore, slot);
  if (!core_.emulated()) return MoveLast(), true;
  const int64_t bytes = internal::BytesOf(part);
  NoteWait(semaphore, slot, bytes);
  const bool arrived = ArriveBytes(semaphore, slot, bytes);
  DropArrived();
  return arrived;
}

/// The copies that so many bytes are, and copies of nothing behind them.
bool Copies::ArriveBytes(const Semaphore& semaphore, const SemaphoreIndex& slot, int64_t bytes) {
  for (int64_t left = bytes; left > 0;) {
    InFlight* const oldest = OldestOn(semaphore, slot);
    if (oldest == nullptr) return FailToWait(semaphore, slot);
    const int64_t rest = internal::BytesOf(oldest->to) - oldest->waited;
    oldest->waited += std::min(left, rest);
    if (left < rest) return true;
    left -= rest;
    Arrive(oldest);
  }
  for (InFlight* next = OldestOn(semaphore, slot);
       next != nullptr && next->waited == internal::BytesOf(next->to);
       next = OldestOn(semaphore, slot))
    Arrive(next);
  return true;
}

void Copies::End() {
  MoveLast();
  if (in_flight_.empty() || !core_.ok()) return;
  const InFlight& copy = in_flight_.front();
  core_.Fail(
      kSync, "the copy into %s (line %d) is still in flight on core %d: nobody waited for %s",
      copy.to.name, copy.semaphore.line, core_.index(), SlotText(copy.semaphore, copy.slot).text);
}

}  // namespace kiln::inline KILN_ABI
