#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kiln/core/block.h"
#include "kiln/core/core.h"
#include "kiln/core/options.h"
#include "kiln/core/tensor.h"
#include "kiln/errors/touches.h"
#include "kiln/errors/visits.h"
#include "kiln/format/rows.h"
#include "tests/catch.h"

namespace kiln {

/// A core outside of any context.
struct LoneCore {
  Visits visits;
  Touches touches;
  Core core;

  explicit LoneCore(const Options& options = {}, int index = 0, int count = 1,
                    int64_t call_bytes = 0) {
    Common common{&visits, &touches};
    common.bytes = call_bytes;
    core.Reset(index, count, options, {"kernel", nullptr}, common);
  }
  std::string message() const { return core.status().message; }
};

inline Options EmulatedOptions() {
  Options options;
  options.mode = Mode::kEmulated;
  return options;
}

/// An array whose elements are 1, 2, 3, …, with a gap after each row.
template <typename T, int R>
struct Sample {
  static constexpr int64_t kGap = 3;
  std::vector<T> data;
  Tensor<T> tensor;

  explicit Sample(const Index<R>& extents) {
    Index<R> strides{};
    int64_t size = 1;
    for (int d = R; d-- > 0;) {
      strides[d] = size;
      size = size * extents[d] + (d + 1 == R ? kGap : 0);
    }
    data.resize(static_cast<size_t>(size + kGap));
    std::iota(data.begin(), data.end(), T(1));
    tensor = Tensor<T>(data.data(), R, extents.data(), strides.data());
  }
};

/// Calls fn(index) for all indices below `count`.
template <int R, class Fn>
void ForEachIndex(const Index<R>& count, const Fn& fn) {
  for (const int64_t n : count) {
    if (n <= 0) return;
  }
  Index<R> index{};
  for (;;) {
    fn(static_cast<const Index<R>&>(index));
    int d = R;
    while (d-- > 0 && ++index[d] == count[d]) index[d] = 0;
    if (d < 0) return;
  }
}

}  // namespace kiln
