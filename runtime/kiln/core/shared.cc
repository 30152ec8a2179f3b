#include "kiln/core/shared.h"

#include "kiln/core/core.h"
#include "kiln/core/types.h"

namespace kiln {

/// Once a call, by whatever core is first. If there is no memory, that is all that the others see.
bool SharedBlocks::Begin(uint32_t call, int64_t blocks, int64_t bytes, CallersMemory* memory) {
  if (call_ == call) return data_ != nullptr;
  call_ = call;
  bytes_ = bytes;
  data_ = nullptr;
  const auto all = static_cast<size_t>(blocks * bytes);
  char* const data = static_cast<char*>(
      memory != nullptr ? memory->Take(RoundUp(all, size_t{kLineBytes})) : buffer_.AtLeast(all));
  if (data != nullptr && count_ < blocks) {
    states_ = std::make_unique<std::atomic<uint32_t>[]>(static_cast<size_t>(blocks));
    count_ = blocks;
  }
  data_ = data;
  return data_ != nullptr;
}

void SharedMemory::Reset() {
  constexpr uint32_t kMostCalls = UINT32_MAX / 2;
  if (++call_ < kMostCalls) return;
  all_.clear();  // before numbers of calls come again
  call_ = 1;
}

SharedBlocks* SharedMemory::Take(size_t number, int64_t blocks, int64_t bytes,
                                 CallersMemory* memory) {
  const std::lock_guard lock(mutex_);
  while (all_.size() <= number) all_.push_back(std::make_unique<SharedBlocks>());
  return all_[number]->Begin(call_, blocks, bytes, memory) ? all_[number].get() : nullptr;
}

}  // namespace kiln
