#include "kiln/emulate/left_copies.h"

#include <algorithm>
#include <new>

#include "kiln/emulate/dma.h"

namespace kiln::inline KILN_ABI {
namespace internal {

bool Covers(const Window& all, const Window& part) {
  for (int d = 0; d < all.rank; ++d) {
    if (part.start[d] < all.start[d] || part.start[d] + part.size[d] > all.start[d] + all.size[d])
      return false;
  }
  return true;
}

bool CanSee(const CopyEnd& of_tile, const CopyEnd& other) {
  if (IsPacked(of_tile) || IsPacked(other)) return false;
  const int last = of_tile.rank - 1;
  const bool has_last = last >= 0 && of_tile.dimension[last] == of_tile.window.rank - 1;
  return !has_last || of_tile.extent[last] == 1 || other.stride[last] == of_tile.stride[last];
}

}  // namespace internal

void LeftCopies::Make() {
  for (const LeftCopy& copy : left_) internal::MoveBytes(copy.from, copy.to, copy.element);
  left_.clear();
}

bool LeftCopies::Leave(const CopyEnd& from, const CopyEnd& to, size_t element) {
  constexpr size_t kMost = 16;
  if (internal::IsEmpty(to)) return true;
  for (size_t i = left_.size(); i-- > 0;) {
    const LeftCopy& copy = left_[i];
    if (!internal::Overlap(copy.to.window, to.window)) continue;
    if (!internal::Covers(to.window, copy.to.window))
      internal::MoveBytes(copy.from, copy.to, copy.element);
    left_.erase(&left_[i]);
  }
  if (!leaves_ || !internal::CanSee(to, from)) return false;
  if (left_.size() == kMost) {  // nobody would read so many one by one
    Make();
    leaves_ = false;
    return false;
  }
  try {
    left_.push_back({from, to, element});
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

const LeftCopy* LeftCopies::Find(const CopyEnd& part) {
  bool overlaps = false;
  for (const LeftCopy& copy : left_) {
    if (internal::Covers(copy.to.window, part.window)) return &copy;
    overlaps = overlaps || internal::Overlap(copy.to.window, part.window);
  }
  if (overlaps) {
    Make();
    leaves_ = false;
  }
  return nullptr;
}

void Copies::MayStay(const void* scratch) {
  if (!core_.emulated()) left_.push_back(LeftCopies(scratch));
}

/// Null: copies to it are made.
LeftCopies* Copies::LeftTo(const void* buffer) {
  const auto found = std::find_if(left_.begin(), left_.end(),
                                  [&](const LeftCopies& copies) { return copies.IsOf(buffer); });
  return found == left_.end() ? nullptr : found;
}

/// Of Direct.
bool Copies::LeaveByHand(const CopyEnd& from, const CopyEnd& to, size_t element) {
  if (LeftCopies* const read = LeftTo(from.memory)) read->Make();
  LeftCopies* const left = LeftTo(to.memory);
  return left != nullptr && left->Leave(from, to, element);
}

/// Whether what a copy is going to move is set where it goes. What is wrong with the copy is said
/// when it starts.
bool Copies::GoesAhead(const CopyEnd& part, const CopyEnd& to) {
  if (core_.emulated() || part.outside_dimension >= 0 || to.outside_dimension >= 0 ||
      !std::equal(part.extent, part.extent + part.rank, to.extent, to.extent + to.rank) ||
      !internal::CanSee(part, to))
    return false;
  MoveLast();  // it may read there
  try {
    ahead_.push_back({part.data, to.data});
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

bool Copies::IsThere(const CopyEnd& from, const CopyEnd& to) {
  const auto found = std::find_if(ahead_.begin(), ahead_.end(), [&](const CopyAhead& copy) {
    return copy.from == from.data && copy.to == to.data;
  });
  if (found == ahead_.end()) return false;
  ahead_.erase(found);
  return true;
}

}  // namespace kiln::inline KILN_ABI
