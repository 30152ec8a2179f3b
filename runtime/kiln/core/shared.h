// Blocks that are packed once for all cores of a call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "kiln/core/buffer.h"
#include "kiln/core/list.h"
#include "kiln/core/version.h"
#include "kiln/core/wait.h"

namespace kiln::inline KILN_ABI {

class CallersMemory;

/// Blocks of one operand. The first core that needs one packs it; others wait for those who are at
/// it, who wait for nobody.
class SharedBlocks {
 public:
  /// Whether the caller is to pack the block, and then to say so. Else it is there.
  bool Claim(int64_t block) {
    std::atomic<uint32_t>& state = states_[block];
    uint32_t seen = state.load(std::memory_order_acquire);
    while (seen != packed()) {
      if (seen == packing()) {
        WaitWhile(state, seen);
        seen = state.load(std::memory_order_acquire);
      } else if (state.compare_exchange_weak(seen, packing(), std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }
  void SayPacked(int64_t block) {
    states_[block].store(packed(), std::memory_order_release);
    states_[block].notify_all();
  }

  char* At(int64_t block) const { return data_ + block * bytes_; }

 private:
  friend class SharedMemory;

  /// States of another call mean that the block is empty.
  uint32_t packing() const { return 2 * call_; }
  uint32_t packed() const { return 2 * call_ + 1; }
  void Begin(uint32_t call, int64_t blocks, int64_t bytes, CallersMemory* memory);

  uint32_t call_ = 0;
  int64_t count_ = 0;
  int64_t bytes_ = 0;
  char* data_ = nullptr;
  Buffer buffer_;
  std::unique_ptr<std::atomic<uint32_t>[]> states_;
};

/// Those of all operands. They keep their memory from call to call.
class SharedMemory {
 public:
  /// Begins a call: all blocks are empty. They are to be in `memory`, if there is one.
  void Reset(CallersMemory* memory = nullptr);
  /// The n-th request of each core gets the same blocks. Null: there is no memory.
  SharedBlocks* Take(size_t number, int64_t blocks, int64_t bytes);
  /// What has been asked for in this call.
  size_t asked_bytes() const { return asked_bytes_; }

 private:
  std::mutex mutex_;
  uint32_t call_ = 0;
  CallersMemory* memory_ = nullptr;
  size_t asked_bytes_ = 0;
  internal::List<std::unique_ptr<SharedBlocks>> all_;
};

}  // namespace kiln::inline KILN_ABI
