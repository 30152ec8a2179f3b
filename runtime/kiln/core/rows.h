// The layout of everything that is not the operand of a dot: row-major, as in HBM. So a block can
// often be used in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kiln/core/block.h"
#include "kiln/core/tensor.h"
#include "kiln/core/tile.h"

namespace kiln {

/// A format says what a copy into VMEM makes of a block. All of them have these members; R is the
/// rank of the array and V that of the body's view, which lacks the squeezed dimensions.
///
///   Element, View, and Written: the view of a block to write, of a format of outputs
///   Bytes(shape)                   of a slot
///   IsInPlace(tensor, box)         whether InPlace gives what Copy and ViewOf would
///   InPlace(tensor, box)           the view of a block in the array
///   Copy(tensor, box, pad, to)     without a pad, `to` keeps what it has outside of the array
///   ViewOf(data, box)              the view of what was copied
template <typename T, int V>
struct Rows {
  using Element = T;
  using View = Tile<const T, V>;
  using Written = Tile<T, V>;

  template <int R>
  static size_t Bytes(const Shape<R>& block) {
    return static_cast<size_t>(LayoutOf(block).elements) * sizeof(T);
  }

  /// Everything that is inside the array, or that no loop looks at, is in place; and rows have to
  /// be contiguous, so the view's last dimension has to be the array's.
  template <int R>
  static bool IsInPlace(const Tensor<const T>&, const Box<R>& box) {
    if (V > 0 && box.squeezed[R - 1]) return false;
    for (int d = 0; d < R; ++d) {
      if (!box.clipped[d] && !box.IsWhole(d)) return false;
    }
    return true;
  }

  template <int R>
  static View InPlace(const Tensor<const T>& tensor, const Box<R>& box) {
    return TileInPlace(tensor, box);
  }
  /// The same of an array that may be written.
  template <typename U, int R>
  static Tile<U, V> TileInPlace(const Tensor<U>& tensor, const Box<R>& box) {
    Tile<U, V> tile = Inside<U>(box);
    tile.data = tensor.template At<R>(box.start);
    const auto dims = box.template ViewDims<V>();
    for (int v = 0; v + 1 < V; ++v) tile.stride[v] = tensor.stride[dims[v]];
    return tile;
  }

  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return TileOf(static_cast<const T*>(data), box);
  }
  /// The same of memory that may be written.
  template <typename U, int R>
  static Tile<U, V> TileOf(U* data, const Box<R>& box) {
    Tile<U, V> tile = Inside<U>(box);
    tile.data = data;
    const Layout layout = LayoutOf(static_cast<const Shape<R>&>(box));
    for (int v = 0; v + 1 < V; ++v) tile.stride[v] = layout.stride[v];
    return tile;
  }

  template <int R>
  static void Copy(const Tensor<const T>& tensor, const Box<R>& box, const Pad<T>& pad, void* to) {
    if (pad.given && !box.IsWhole()) FillBlock(box, pad.value, to);
    T* const block = static_cast<T*>(to);
    ForEachRowInside(tensor, box, [&](const Row& row) {
      CopyRow(tensor.data + row.array, row.array_step, block + row.block, 1, row.count);
    });
  }

  /// From VMEM into the array, as far as the block is inside of it.
  template <int R>
  static void CopyBack(const Tensor<T>& tensor, const Box<R>& box, const void* from) {
    const T* const block = static_cast<const T*>(from);
    ForEachRowInside(tensor, box, [&](const Row& row) {
      CopyRow(block + row.block, 1, tensor.data + row.array, row.array_step, row.count);
    });
  }

  /// Sets every element of a block in VMEM.
  template <int R>
  static void FillBlock(const Box<R>& box, T value, void* to) {
    std::fill_n(static_cast<T*>(to), LayoutOf(static_cast<const Shape<R>&>(box)).elements, value);
  }

  /// The first element of a block in VMEM that is inside the array and whose mask(element) is not
  /// 0, or null; `at` are its coordinates in the array.
  template <int R, class MaskOf>
  static const T* FindInside(const Box<R>& box, const void* data, const MaskOf& mask,
                             Index<R>* at) {
    int64_t found = -1;
    const T* const block = static_cast<const T*>(data);
    ForEachRowInside(Tensor<const T>(), box, [&](const Row& row) {
      if (found >= 0 || !Any(block + row.block, row.count, mask)) return;
      for (found = row.block; mask(block[found]) == 0;) ++found;
    });
    if (found < 0) return nullptr;
    const T* const element = block + found;
    *at = box.start;
    const auto dims = box.template ViewDims<V>();
    const Layout layout = LayoutOf(static_cast<const Shape<R>&>(box));
    for (int v = 0; v < V; ++v) {
      (*at)[dims[v]] += found / layout.stride[v];
      found %= layout.stride[v];
    }
    return element;
  }

  /// Sets the elements of a view that are inside the array.
  static void FillInside(const Tile<T, V>& tile, T value) {
    std::array<int64_t, V> stride = tile.stride;
    std::array<int64_t, V> extent{};
    T* at = tile.data;
    for (int v = 0; v < V; ++v) {
      extent[v] = static_cast<int64_t>(tile.high[v] - tile.low[v]);
      at += static_cast<int64_t>(tile.low[v]) * stride[v];
    }
    const int64_t columns = V > 0 ? extent[V - 1] : 1;
    internal::ForEachRow(V, extent.data(), stride.data(), stride.data(),
                         [&](int64_t row, int64_t) { std::fill_n(at + row, columns, value); });
  }

 private:
  struct Layout {
    std::array<int64_t, V> stride;  // by dimension of the view
    int64_t elements;
  };
  /// Some elements side by side in a block, as offsets.
  struct Row {
    int64_t array, array_step, block, count;
  };

  template <int R>
  static Layout LayoutOf(const Shape<R>& block) {
    static_assert(V <= R);
    Layout layout{{}, 1};
    const auto dims = block.template ViewDims<V>();
    for (int v = V; v-- > 0;) {
      layout.stride[v] = layout.elements;
      const int64_t extent = block.size[dims[v]];
      layout.elements *= v + 1 == V ? RowStride<T>(extent) : extent;
    }
    if (V == 0) layout.elements = RowStride<T>(1);
    return layout;
  }

  /// A view without data and strides but the last.
  template <typename U, int R>
  static Tile<U, V> Inside(const Box<R>& box) {
    Tile<U, V> tile;
    const auto dims = box.template ViewDims<V>();
    for (int v = 0; v < V; ++v) {
      tile.low[v] = static_cast<size_t>(box.low[dims[v]]);
      tile.high[v] = static_cast<size_t>(box.high[dims[v]]);
      tile.origin[v] = box.start[dims[v]];
    }
    if (V > 0) tile.stride[V - 1] = 1;
    return tile;
  }

  template <typename U, int R, class Fn>
  static void ForEachRowInside(const Tensor<U>& tensor, const Box<R>& box, const Fn& fn) {
    const Layout layout = LayoutOf(static_cast<const Shape<R>&>(box));
    const auto dims = box.template ViewDims<V>();
    std::array<int64_t, V> extent{}, array_stride{};
    int64_t array = 0, block = 0;
    for (int d = 0; d < R; ++d) {
      array += (box.start[d] + box.low[d]) * tensor.stride[d];
      if (box.high[d] <= box.low[d]) return;
    }
    for (int v = 0; v < V; ++v) {
      extent[v] = box.high[dims[v]] - box.low[dims[v]];
      array_stride[v] = tensor.stride[dims[v]];
      block += box.low[dims[v]] * layout.stride[v];
    }
    const int64_t count = V > 0 ? extent[V - 1] : 1;
    const int64_t step = V > 0 ? array_stride[V - 1] : 1;
    internal::ForEachRow(V, extent.data(), array_stride.data(), layout.stride.data(),
                         [&](int64_t array_row, int64_t block_row) {
                           fn(Row{array + array_row, step, block + block_row, count});
                         });
  }

  /// Almost always none does: pieces of a fixed size are what compilers turn into vectors.
  template <class MaskOf>
  static bool Any(const T* row, int64_t count, const MaskOf& mask) {
    constexpr int64_t kPiece = 256;
    decltype(mask(*row)) any = 0;
    int64_t c = 0;
    for (; c + kPiece <= count && any == 0; c += kPiece) {
      for (int64_t i = 0; i < kPiece; ++i) any |= mask(row[c + i]);
    }
    for (; c < count; ++c) any |= mask(row[c]);
    return any != 0;
  }

  static void CopyRow(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t count) {
    if ((from_step == 1 && to_step == 1) || count == 1) {
      std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(count) * sizeof(T));
      return;
    }
    for (int64_t c = 0; c < count; ++c) to[c * to_step] = from[c * from_step];
  }
};

/// Rows that are copied even where they could stay in place: an input whose memory an output takes
/// over, when a step reads it after it has begun to write.
template <typename T, int V>
struct CopiedRows : Rows<T, V> {
  template <int R>
  static bool IsInPlace(const Tensor<const T>&, const Box<R>&) {
    return false;
  }
};

}  // namespace kiln
