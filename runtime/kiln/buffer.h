// Memory that is kept from call to call.
#pragma once

#include <cstddef>

namespace kiln {

/// Memory that begins on a cache line, or on a huge page if it is large.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {
    other.data_ = nullptr;
    other.bytes_ = 0;
  }
  Buffer& operator=(Buffer&&) = delete;
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

  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace kiln
