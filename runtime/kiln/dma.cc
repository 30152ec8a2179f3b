#include "kiln/dma.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>

#include "kiln/emulated.h"

namespace kiln {
namespace {

/// Calls row(offset, other offset) for each run of `bytes` bytes: of whole rows where both ends
/// have the elements side by side.
template <class Row>
void ForEachRun(const CopyEnd& a, const CopyEnd& b, size_t element, const Row& row) {
  const auto width = static_cast<int64_t>(element);
  const bool dense = a.rank > 0 && a.stride[a.rank - 1] == width && b.stride[a.rank - 1] == width;
  // ForEachRow leaves out the last dimension, so elements that are apart get one more.
  int64_t extent[kMaxRank + 1], stride[kMaxRank + 1], other[kMaxRank + 1];
  std::copy_n(a.extent, a.rank, extent);
  std::copy_n(a.stride, a.rank, stride);
  std::copy_n(b.stride, a.rank, other);
  extent[a.rank] = 1;
  const int rank = dense ? a.rank : a.rank + 1;
  const size_t bytes = dense ? static_cast<size_t>(a.extent[a.rank - 1]) * element : element;
  internal::ForEachRow(rank, extent, stride, other,
                       [&](int64_t at, int64_t other_at) { row(at, other_at, bytes); });
}

bool IsEmpty(const CopyEnd& end) {
  return std::any_of(end.extent, end.extent + end.rank, [](int64_t e) { return e == 0; });
}

void Move(const CopyEnd& from, const CopyEnd& to, size_t element) {
  if (IsEmpty(from)) return;
  ForEachRun(from, to, element, [&](int64_t at, int64_t to_at, size_t bytes) {
    std::memcpy(to.data + to_at, from.data + at, bytes);
  });
}

/// From the first byte to the last; strides are not negative.
uintptr_t Span(const CopyEnd& end, size_t element) {
  uintptr_t bytes = element;
  for (int d = 0; d < end.rank; ++d) {
    bytes += static_cast<uintptr_t>(end.stride[d] * (end.extent[d] - 1));
  }
  return bytes;
}

/// Whether two windows of one array share bytes. Windows of equal strides are compared dimension by
/// dimension, as columns of a matrix have ranges of bytes that interleave.
bool Overlap(const CopyEnd& a, const CopyEnd& b, size_t element) {
  if (IsEmpty(a) || IsEmpty(b)) return false;
  const auto begin_a = reinterpret_cast<uintptr_t>(a.data);
  const auto begin_b = reinterpret_cast<uintptr_t>(b.data);
  if (begin_a + Span(a, element) <= begin_b || begin_b + Span(b, element) <= begin_a) return false;
  if (a.rank != b.rank || !std::equal(a.stride, a.stride + a.rank, b.stride)) return true;
  auto distance = static_cast<int64_t>(begin_b - begin_a);
  const bool swapped = begin_b < begin_a;
  if (swapped) distance = static_cast<int64_t>(begin_a - begin_b);
  const CopyEnd& first = swapped ? b : a;
  for (int d = 0; d < a.rank; ++d) {  // row-major: strides fall
    if (first.stride[d] <= 0) return true;
    const int64_t steps = distance / first.stride[d];
    distance %= first.stride[d];
    if (d + 1 == a.rank && steps >= first.extent[d]) return false;
    if (d + 1 < a.rank && steps >= first.extent[d]) return false;
  }
  return true;
}

}  // namespace

namespace internal {

bool CheckCuts(Core& core, const char* name, const Cut* cuts, int rank) {
  for (int d = 0; d < rank; ++d) {
    const Cut& cut = cuts[d];
    if (cut.start >= 0 && cut.size >= 0 && cut.start <= cut.extent - cut.size) continue;
    core.Fail(kIndexRange,
              "a copy takes %" PRId64 " elements from %" PRId64
              " on of dimension %d of %s, which has %" PRId64,
              cut.size, cut.start, d, name, cut.extent);
    return false;
  }
  return true;
}

CopyEnd EndOf(const char* name, const void* data, size_t element, const int64_t* stride,
              const Cut* cuts, int rank, bool in_vmem) {
  CopyEnd end;
  end.name = name;
  end.in_vmem = in_vmem;
  const auto width = static_cast<int64_t>(element);
  int64_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    offset += cuts[d].start * stride[d] * width;
    if (cuts[d].point) continue;
    end.extent[end.rank] = cuts[d].size;
    end.stride[end.rank++] = stride[d] * width;
  }
  end.data = const_cast<char*>(static_cast<const char*>(data)) + offset;
  return end;
}

}  // namespace internal

bool Copies::CheckSlot(const Semaphore& semaphore, int64_t slot) {
  if (slot >= 0 && slot < semaphore.count) return true;
  core_.Fail(kIndexRange, "%s[%" PRId64 "] is used, but there are %" PRId64 " semaphores",
             semaphore.name, slot, semaphore.count);
  return false;
}

bool Copies::CheckOverlaps(const CopyEnd& from, const CopyEnd& to) {
  for (const InFlight& copy : in_flight_) {
    const bool read = Overlap(from, copy.to, copy.element);
    const bool written = Overlap(to, copy.to, copy.element) || Overlap(to, copy.from, copy.element);
    if (!read && !written) continue;
    core_.Fail(kSync, "a copy %s %s on core %d while one from %s to %s is in flight",
               read ? "reads" : "writes", read ? from.name : to.name, core_.index(), copy.from.name,
               copy.to.name);
    return false;
  }
  return true;
}

bool Copies::Start(const Semaphore& semaphore, int64_t slot, size_t element, const CopyEnd& from,
                   const CopyEnd& to) {
  if (!core_.ok() || !CheckSlot(semaphore, slot)) return false;
  if (!std::equal(from.extent, from.extent + from.rank, to.extent, to.extent + to.rank)) {
    core_.Fail(kCall, "the ends of a copy from %s to %s differ in shape", from.name, to.name);
    return false;
  }
  if (!core_.emulated()) {
    Move(from, to, element);
    return true;
  }
  if (!CheckOverlaps(from, to)) return false;
  if (Overlap(from, to, element)) {
    core_.Fail(kSync, "the two ends of a copy from %s to %s overlap", from.name, to.name);
    return false;
  }
  const bool eager = core_.options().dma == Dma::kEager;
  if (eager) {
    Move(from, to, element);
  } else if (!IsEmpty(to)) {
    ForEachRun(to, to, element, [&](int64_t at, int64_t, size_t bytes) {
      internal::FillPoison(core_.options(), false, to.data + at, bytes);
    });
  }
  try {
    in_flight_.push_back({semaphore, slot, element, from, to, eager});
  } catch (const std::bad_alloc&) {
    core_.Fail(kMemory, "there is no memory for copies in flight");
    return false;
  }
  return true;
}

bool Copies::Wait(const Semaphore& semaphore, int64_t slot) {
  if (!core_.ok() || !CheckSlot(semaphore, slot)) return false;
  if (!core_.emulated()) return true;
  const auto found = std::find_if(in_flight_.begin(), in_flight_.end(), [&](const InFlight& copy) {
    return copy.semaphore.ordinal == semaphore.ordinal && copy.slot == slot;
  });
  if (found == in_flight_.end()) {
    core_.Fail(kSync,
               "nothing to wait for on core %d: no copy on %s[%" PRId64
               "] is in flight, so this would wait for ever",
               core_.index(), semaphore.name, slot);
    return false;
  }
  if (!found->moved) Move(found->from, found->to, found->element);
  in_flight_.erase(found);
  return true;
}

void Copies::End() {
  if (in_flight_.empty() || !core_.ok()) return;
  const InFlight& copy = in_flight_.front();
  core_.Fail(kSync,
             "the copy into %s is still in flight on core %d: nobody waited for %s[%" PRId64 "]",
             copy.to.name, core_.index(), copy.semaphore.name, copy.slot);
}

}  // namespace kiln
