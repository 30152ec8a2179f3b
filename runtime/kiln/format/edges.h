// Blocks that lie beyond the edges of their array, as those of a convolution with a border do, and
// are read where they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/format/rows.h"

namespace kiln::inline KILN_ABI {

/// What iteration i of a loop sees along an axis of a block: elements from i * step + first to
/// i * step + last.
struct EdgeWindow {
  size_t axis;
  int64_t step, first, last;
  size_t together;  // so many iterations are taken at a time
};
/// What the loops around it see along another axis.
struct EdgeRows {
  size_t axis, first, last;
};

/// A block that may lie beyond the edges of its array, other than in the last dimension: where it
/// is, or a copy.
template <typename T, int V>
struct EdgedTile : Tile<T, V> {
  T* pad = nullptr;  // a row of what is outside; null: a copy has that, or nothing is

  /// Which of `count` iterations see nothing but elements that are inside: those that are taken
  /// together are on one side.
  std::array<size_t, 2> Inside(const std::array<EdgeRows, V - 2>& around, const EdgeWindow& window,
                               size_t count) const {
    for (const EdgeRows& rows : around) {
      if (rows.first < this->low[rows.axis] || rows.last >= this->high[rows.axis]) return {0, 0};
    }
    const auto low = static_cast<int64_t>(this->low[window.axis]) - window.first;
    const auto high = static_cast<int64_t>(this->high[window.axis]) - window.last;
    const auto iterations = [&](int64_t elements) {
      return elements <= 0 ? 0 : std::min(Unsigned(DivUp(elements, window.step)), count);
    };
    const size_t begin = std::min(RoundUp(iterations(low), window.together), count);
    const size_t end = std::max(iterations(high), begin);
    return {begin, end - (end - begin) % window.together};
  }
};

/// What some iterations of a loop see of such a block, row by row: where it is in the array, or the
/// row of what is outside.
template <typename T, int V>
struct RowTable : Tile<T, V> {
  /// Pointers, on the stack. Windows of several iterations are as many or fewer.
  static constexpr size_t kMost = 128;

  std::array<T*, kMost> rows;
  std::array<size_t, V> step{};  // from one row to the next, in pointers
  size_t first = 0;              // where a row of coordinates of 0 would be

  /// How many iterations fit: a multiple of those that are taken together.
  static size_t Iterations(const std::array<EdgeRows, V - 2>& around, const EdgeWindow& window) {
    size_t each = 1;
    for (const EdgeRows& rows_around : around) each *= rows_around.last - rows_around.first + 1;
    const auto behind = static_cast<int64_t>(kMost / each) - 1 - (window.last - window.first);
    const size_t most = Unsigned(behind / window.step + 1);
    return most - most % window.together;
  }

  /// Of iterations from `low` to `high`.
  RowTable(const EdgedTile<T, V>& x, const std::array<EdgeRows, V - 2>& around,
           const EdgeWindow& window, size_t low, size_t high)
      : Tile<T, V>(x) {
    std::array<int64_t, V> begin{};
    std::array<int64_t, V> count{};
    for (const EdgeRows& rows_around : around) {
      begin[rows_around.axis] = Signed(rows_around.first);
      count[rows_around.axis] = Signed(rows_around.last - rows_around.first + 1);
    }
    begin[window.axis] = Signed(low) * window.step + window.first;
    count[window.axis] = Signed(high - low - 1) * window.step + window.last - window.first + 1;
    size_t pointers = 1;
    for (int v = V - 1; v-- > 0;) {
      step[v] = pointers;
      first -= pointers * static_cast<size_t>(begin[v]);
      pointers *= Unsigned(count[v]);
    }
    std::array<int64_t, V> at = begin;
    for (size_t k = 0; k < pointers; ++k) {
      rows[k] = RowAt(x, at);
      for (int v = V - 1; v-- > 0;) {
        if (++at[v] < begin[v] + count[v]) break;
        at[v] = begin[v];
      }
    }
  }

  template <typename... I>
  T* At(I... indices) const {
    static_assert(sizeof...(I) == V, "one index a dimension");
    size_t row = first, lane = 0;
    [[maybe_unused]] int v = 0;
    ((v + 1 < V ? row += static_cast<size_t>(indices) * step[v]
                : lane = static_cast<size_t>(indices),
      ++v),
     ...);
    return rows[row] + lane;
  }

 private:
  static T* RowAt(const EdgedTile<T, V>& x, const std::array<int64_t, V>& at) {
    T* row = x.data;
    for (int v = 0; v + 1 < V; ++v) {
      if (at[v] < Signed(x.low[v]) || at[v] >= Signed(x.high[v])) return x.pad;
      row += at[v] * x.stride[v];
    }
    return row;
  }
};

/// Rows of blocks that may lie beyond the edges of their array.
template <typename T, int V>
struct EdgedRows : Rows<T, V> {
  using View = EdgedTile<const T, V>;

  template <int R>
  static View InPlace(const Tensor<const T>& tensor, const Box<R>& box) {
    return {Rows<T, V>::InPlace(tensor, box)};
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return {Rows<T, V>::ViewOf(data, box)};
  }
};

}  // namespace kiln::inline KILN_ABI
