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
    return bytes_ >= bytes || Grow(bytes) ? data_ : nullptr;
  }

 private:
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
