#include "kiln/core/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#include "kiln/core/machine.h"
#include "kiln/core/types.h"

namespace kiln::inline KILN_ABI {
namespace {

constexpr size_t kLine = kLineBytes;
constexpr size_t kHugePage = kHugePageBytes;

/// Memory on a huge page, as panels are long strides for a TLB.
void* MapHuge(size_t bytes) {
  // More, to be able to begin on a huge page; what is not needed is given back.
  const size_t mapped = bytes + kHugePage;
  void* const data =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(data);
  char* const aligned =
      begin + (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
  char* const end = aligned + bytes;
  if (end < begin + mapped) munmap(end, static_cast<size_t>(begin + mapped - end));
#ifdef MADV_HUGEPAGE
  madvise(aligned, bytes, MADV_HUGEPAGE);
#endif
  return aligned;
}

}  // namespace

bool Buffer::Grow(size_t bytes) {
  Release();
  if (bytes > SIZE_MAX / 4) return false;
  const bool small = bytes < kLarge;
  bytes = RoundUp(bytes, small               ? kLine
                         : bytes < kHugePage ? static_cast<size_t>(PageBytes())
                                             : kHugePage);
  data_ = small ? std::aligned_alloc(kLine, bytes) : MapHuge(bytes);
  if (data_ != nullptr) bytes_ = bytes;
  return data_ != nullptr;
}

void Buffer::Release() {
  if (data_ == nullptr) return;
  if (bytes_ < kLarge)
    std::free(data_);
  else
    munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace kiln::inline KILN_ABI
