// The layout of everything that is not the operand of a dot: row-major, as in HBM. So a block can
// often be used in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kiln/core/block.h"
#include "kiln/core/tensor.h"
#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/format/elements.h"

namespace kiln::inline KILN_ABI {
namespace internal {

// Copies of blocks of any type and rank, compiled once.

/// A Box of any rank.
struct AnyBox {
  template <int R>
  AnyBox(const Box<R>& box)  // NOLINT: the same box
      : rank(R),
        size(box.size.data()),
        squeezed(box.squeezed.data()),
        in_row(box.in_row.data()),
        start(box.start.data()),
        low(box.low.data()),
        high(box.high.data()) {}

  int rank;
  const int64_t* size;
  const bool *squeezed, *in_row;
  const int64_t *start, *low, *high;
};

/// An array of elements of `bits` bits.
struct AnyArray {
  template <typename T>
  AnyArray(const Tensor<T>& tensor)  // NOLINT: the same array
      : data(const_cast<char*>(reinterpret_cast<const char*>(tensor.data))),
        stride(tensor.stride),
        bits(kBitsOf<T>) {}

  char* data;
  std::array<int64_t, kMaxRank> stride;
  size_t bits;
};

/// From an array into rows of a block, as far as the block is inside of it, and back.
void CopyRows(const AnyArray& from, const AnyBox& box, void* to);
void CopyRowsBack(const AnyArray& to, const AnyBox& box, const void* from);
/// Sets `count` elements from the byte `to` on.
void FillElements(void* to, int64_t count, const void* value, size_t bits);
/// Sets every element of a block of rows.
void FillRows(const AnyBox& box, const void* value, size_t bits, void* to);
/// Sets those that are outside of the array.
void PadRows(const AnyBox& box, const void* value, size_t bits, void* to);
/// The first undefined element of a block of rows that is inside the array, or null; `at` are its
/// coordinates in the array.
const void* FindPoisonInRows(const AnyBox& box, const void* data, const ElementType& element,
                             int64_t* at);

}  // namespace internal

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
    return BytesFor<T>(static_cast<size_t>(LayoutOf(block).elements));
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
    return TileOf(ElementsAt<const T>(data), box);
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
    if (pad.given && !box.IsWhole()) internal::PadRows(box, &pad.value, kBitsOf<T>, to);
    internal::CopyRows(tensor, box, to);
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
    internal::ForEachRow(V, extent.data(), stride.data(), stride.data(), [&](int64_t row, int64_t) {
      internal::FillRow(at + row, columns, 1, value);
    });
  }

 private:
  struct Layout {
    std::array<int64_t, V> stride;  // by dimension of the view
    int64_t elements;
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
};

/// All of an array that is in SMEM.
template <int V, typename T>
Tile<T, V> TileOf(const Tensor<T>& array) {
  Tile<T, V> tile;
  tile.data = array.first();
  for (int v = 0; v < V; ++v) {
    tile.high[v] = Unsigned(array.shape[v]);
    tile.stride[v] = v + 1 == V ? 1 : array.stride[v];
  }
  return tile;
}

/// Rows that are copied even where they could stay in place: an input whose memory an output takes
/// over, when a step reads it after it has begun to write.
template <typename T, int V>
struct CopiedRows : Rows<T, V> {
  template <int R>
  static bool IsInPlace(const Tensor<const T>&, const Box<R>&) {
    return false;
  }
};

}  // namespace kiln::inline KILN_ABI
