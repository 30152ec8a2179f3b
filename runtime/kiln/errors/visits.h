// Which blocks of outputs have been written in a call, by whom: for the rules race and revisit,
// where blocks are equal or have nothing in common. See touches.h for the others.
#pragma once

#include <cstdint>
#include <mutex>

#include "kiln/core/list.h"
#include "kiln/core/status.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// Shared by the cores of one call. A table that keeps its memory from call to call.
class Visits {
 public:
  struct Visit {
    int32_t operand;
    int32_t core;
    int64_t block;  // any number that no other block of the operand has
    int64_t run;
  };

  void Clear();

  /// Says whether a stay may begin: kOk, kRevisit after another of the same run, or kRace after one
  /// of another run, by the core in `other`.
  Code Begin(const Visit& visit, int* other);

 private:
  struct Entry {
    Visit visit;
    uint64_t call = 0;  // entries of earlier calls are free
  };
  Entry& Find(int32_t operand, int64_t block);
  void Grow();

  std::mutex mutex_;
  internal::List<Entry> entries_;  // open addressing; the size is a power of two
  size_t used_ = 0;
  uint64_t call_ = 1;
};

}  // namespace kiln::inline KILN_ABI
