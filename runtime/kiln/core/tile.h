// What a body sees of a block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kiln/core/machine.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// A block of V dimensions, in VMEM or in its array. The last dimension is contiguous
/// in both: that is why `At` does not multiply its last index. V may be 0, a scalar.
template <typename T, int V>
struct Tile {
  T* data = nullptr;                // element 0 of the block, even if that is outside of the array
  std::array<int64_t, V> stride{};  // in elements; the last is 1
  std::array<size_t, V> low{};      // the part inside the array, in the block's coordinates:
  std::array<size_t, V> high{};     //   low <= i < high
  std::array<int64_t, V> origin{};  // the array's coordinates of element 0
  bool stream = false;              // what is written is not to stay in the caches; what is read
                                    // is from an array that is far larger than the L2

  template <typename... I>
  T* At(I... indices) const {
    static_assert(sizeof...(I) == V, "one index a dimension");
    T* at = data;
    [[maybe_unused]] int dimension = 0;
    ((at += dimension + 1 < V ? static_cast<int64_t>(indices) * stride[dimension]
                              : static_cast<int64_t>(indices),
      ++dimension),
     ...);
    return at;
  }

  operator Tile<const T, V>()
      const  // NOLINT: a tile to read is a tile to write that is not written
      requires(!std::is_const_v<T>) {
    return {data, stride, low, high, origin, stream};
  }
};

/// Elements from one row of a tile in VMEM to the next: whole cache lines, and at least 16
/// elements, so that a full vector at an even column never straddles two lines.
constexpr int64_t RowStride(int64_t columns, size_t bits) {
  const int64_t line = 8 * kLineBytes / static_cast<int64_t>(bits);
  return RoundUp(columns, line > 16 ? line : 16);
}
template <typename T>
constexpr int64_t RowStride(int64_t columns) {
  return RowStride(columns, kBitsOf<T>);
}

/// How many elements a tile in VMEM takes.
template <typename T, typename... E>
constexpr size_t TileSize(E... extents) {
  constexpr size_t kRank = sizeof...(E);
  const std::array<int64_t, kRank> sizes{static_cast<int64_t>(extents)...};
  int64_t size = kRank == 0 ? RowStride<T>(1) : 1;
  for (size_t v = 0; v < kRank; ++v) size *= v + 1 < kRank ? sizes[v] : RowStride<T>(sizes[v]);
  return static_cast<size_t>(size);
}

/// A tile of scratch memory of TileSize<T>(extents...) elements.
template <typename T, typename... E>
Tile<T, static_cast<int>(sizeof...(E))> MakeTile(T* data, E... extents) {
  constexpr int kRank = static_cast<int>(sizeof...(E));
  Tile<T, kRank> tile;
  tile.data = data;
  tile.high = {static_cast<size_t>(extents)...};
  int64_t stride = 1;
  for (int v = kRank; v-- > 0;) {
    tile.stride[v] = stride;
    const auto extent = static_cast<int64_t>(tile.high[v]);
    stride *= v + 1 == kRank ? RowStride<T>(extent) : extent;
  }
  return tile;
}

}  // namespace kiln::inline KILN_ABI
