// Who walks which part of a grid.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "kiln/core/machine.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// Each core has turns of its own, and takes some of them at a time, fewer and fewer. When it has
/// none left it takes others' last ones, so that nobody waits long for a core that is slow.
class Turns {
 public:
  static constexpr int64_t kMost = UINT32_MAX - 1;  // of a core

  /// Turns begin to end - 1 of those of a core; none if the core is negative.
  struct Some {
    int core = -1;
    int64_t begin = 0, end = 0;
  };

  void Reset(int cores) {
    if (cores > capacity_) {
      left_ = std::make_unique<Left[]>(static_cast<size_t>(cores));
      capacity_ = cores;
    }
    cores_ = cores;
    for (int c = 0; c < cores; ++c) left_[c].word.store(kUntouched, std::memory_order_relaxed);
  }

  /// `count_of` says how many a core has, at most kMost.
  template <class CountOf>
  Some Take(int taker, const CountOf& count_of) {
    for (int i = 0; i < cores_; ++i) {
      const int core = (taker + i) % cores_;
      std::atomic<uint64_t>& word = left_[core].word;
      uint64_t seen = word.load(std::memory_order_relaxed);
      // Who has not begun is about to: turns are taken a step ahead, and would be gone by then.
      while (core == taker || seen != kUntouched) {
        const int64_t begin = seen == kUntouched ? 0 : static_cast<int64_t>(seen >> 32);
        const int64_t end =
            seen == kUntouched ? count_of(core) : static_cast<int64_t>(seen & UINT32_MAX);
        if (begin == end) break;
        const int64_t some = std::max<int64_t>((end - begin) / 4, 1);
        const Some own{core, begin, begin + some}, others{core, end - some, end};
        const uint64_t rest = core == taker ? Word(own.end, end) : Word(begin, others.begin);
        if (word.compare_exchange_weak(seen, rest, std::memory_order_relaxed))
          return core == taker ? own : others;
      }
    }
    return {};
  }

 private:
  static constexpr uint64_t kUntouched = UINT64_MAX;
  struct alignas(kLineBytes) Left {
    std::atomic<uint64_t> word;
  };
  static uint64_t Word(int64_t begin, int64_t end) {
    return static_cast<uint64_t>(begin) << 32 | static_cast<uint64_t>(end);
  }

  int cores_ = 0, capacity_ = 0;
  std::unique_ptr<Left[]> left_;
};

}  // namespace kiln::inline KILN_ABI
