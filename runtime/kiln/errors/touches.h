// Who has read and written which elements of arrays in HBM, where blocks of one array may overlap
// without being equal, and manual copies come besides: for the rules race, revisit and alias.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "kiln/core/list.h"
#include "kiln/core/status.h"
#include "kiln/core/tensor.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// A part of an array.
struct Window {
  int rank = 0;
  std::array<int64_t, kMaxRank> extent{};  // of the array
  std::array<int64_t, kMaxRank> start{};
  std::array<int64_t, kMaxRank> size{};
};

/// A stay of a block, or a manual copy.
struct Touch {
  int32_t operand = -1;
  int32_t core = 0;
  int64_t run = 0;   // of steps whose parallel coordinates are equal
  int64_t step = 0;  // of the core
  bool by_hand = false;
};

/// Two touches of one element that must not be.
struct Clash {
  Code code = kOk;
  Touch other;
  bool other_reads = false;
  std::array<int64_t, kMaxRank> at{};  // the element
};

/// Shared by the cores of one call. An output stands for the memory of its array, also where an
/// input lends that.
class Touches {
 public:
  void Clear();

  /// A race with what another run reads or writes. A block that is left and come back to is a
  /// revisit; manual copies may write again.
  Clash Write(int32_t output, const Window& window, const Touch& touch);
  /// How many elements of an output somebody has written.
  int64_t Written(int32_t output) const;

  /// A race with what another run writes. `moves`: data is copied, and if an earlier block of an
  /// output has it, whether before or after that block is copied out depends on the pipeline.
  Clash Read(int32_t output, const Window& window, const Touch& touch, bool moves);

 private:
  using Number = uint32_t;  // of a touch; 0: nobody
  struct Elements {
    internal::List<Number> writers;
    internal::List<Number> readers;  // the first, and one of another run
    internal::List<Number> other_readers;
  };

  Elements& ElementsOf(int32_t output, const Window& window);
  Number Add(const Touch& touch);
  const Touch& Of(Number number) const { return touches_[number - 1]; }

  std::mutex mutex_;
  internal::List<Elements> memories_;  // by output
  internal::List<Touch> touches_;
};

}  // namespace kiln::inline KILN_ABI
