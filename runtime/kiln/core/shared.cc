#include "kiln/core/shared.h"

#include "kiln/core/core.h"
#include "kiln/core/types.h"

namespace kiln::inline KILN_ABI {

/// Once a call, by whatever core is first. If there is no memory, that is all that the others see.
void SharedBlocks::Begin(uint32_t call, int64_t blocks, int64_t bytes, CallersMemory* memory) {
  call_ = call;
  bytes_ = bytes;
  data_ = nullptr;
  const auto all = static_cast<size_t>(blocks * bytes);
  void* const data = memory != nullptr ? memory->Take(all) : buffer_.AtLeast(all);
  if (data != nullptr && count_ < blocks) {
    states_ = std::make_unique<std::atomic<uint32_t>[]>(static_cast<size_t>(blocks));
    count_ = blocks;
  }
  data_ = static_cast<char*>(data);
}

void SharedMemory::Reset(CallersMemory* memory) {
  memory_ = memory;
  asked_bytes_ = 0;
  constexpr uint32_t kMostCalls = UINT32_MAX / 2;
  if (++call_ < kMostCalls) return;
  all_.clear();  // before numbers of calls come again
  call_ = 1;
}

SharedBlocks* SharedMemory::Take(size_t number, int64_t blocks, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  while (all_.size() <= number) all_.push_back(std::make_unique<SharedBlocks>());
  SharedBlocks& taken = *all_[number];
  if (taken.call_ != call_) {
    asked_bytes_ += CallersMemory::Lines(static_cast<size_t>(blocks * bytes));
    taken.Begin(call_, blocks, bytes, memory_);
  }
  return taken.data_ != nullptr ? &taken : nullptr;
}

}  // namespace kiln::inline KILN_ABI
