// Memory that is kept from call to call.
#pragma once

#include <cstddef>
#include <utility>

#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// Memory that begins on a cache line, or on a huge page if it is large.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { Swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~Buffer() { Release(); }

  /// At least so many bytes, which hold whatever they held before, or anything if they are new.
  /// Null when there is no memory.
  void* AtLeast(size_t bytes) {
    if (bytes == 0) bytes = 1;
    if (bytes_ < bytes && !Grow(bytes)) return nullptr;
    // What is small and got a large buffer, of another kernel's, does not begin with a page.
    const bool shifted = bytes_ >= kLarge && bytes <= kLarge - kShift;
    return static_cast<char*>(data_) + (shifted ? kShift : 0);
  }

 private:
  /// Smaller buffers come from the heap: a page of their own each would waste memory and entries of
  /// the TLB.
  static constexpr size_t kLarge = size_t{64} << 10;
  /// A core takes a load for one of what it has just stored where the lower 12 bits of both
  /// addresses are the same, and waits if these overlap in part. Callers' large arrays, to which a
  /// row of values may be rolled, begin with a page.
  static constexpr size_t kShift = 704;

  bool Grow(size_t bytes);
  void Release();
  void Swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace kiln::inline KILN_ABI
