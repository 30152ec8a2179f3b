// Formats of operands of whose array the body sees neighbouring dimensions as one: the pixels of an
// image, [h, w, c], as the rows of a matrix, [h * w, c]. Of these dimensions all but the first are
// whole. Where the last one is one of them, as that of the image of a channel, [c, h, w], is of
// [c, h * w], InRow lets rows in VMEM hold all of them; otherwise a block has its elements in the
// same rows as without.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kiln/core/block.h"
#include "kiln/core/tensor.h"
#include "kiln/core/version.h"
#include "kiln/format/rows.h"

namespace kiln::inline KILN_ABI {
namespace internal {

/// kDims of an array are one with the dimension before.
template <int... kDims>
struct JoinedDims {
  static constexpr int kCount = sizeof...(kDims);

  static constexpr bool IsJoined(int d) { return ((d == kDims) || ...); }

  template <int R>
  static Shape<R - kCount> Of(const Shape<R>& block) {
    Shape<R - kCount> joined;
    int j = -1;
    for (int d = 0; d < R; ++d) {
      if (IsJoined(d)) {
        joined.size[j] *= block.size[d];
      } else {
        joined.size[++j] = block.size[d];
        joined.squeezed[j] = block.squeezed[d];
      }
    }
    return joined;
  }

  template <int R>
  static Box<R - kCount> Of(const Box<R>& box) {
    Box<R - kCount> joined{Of(static_cast<const Shape<R>&>(box)), {}, {}, {}, {}};
    int j = -1;
    for (int d = 0; d < R; ++d) {
      if (IsJoined(d)) {
        for (auto* const of : {&joined.start, &joined.low, &joined.high}) (*of)[j] *= box.size[d];
      } else {
        ++j;
        joined.start[j] = box.start[d];
        joined.low[j] = box.low[d], joined.high[j] = box.high[d];
        joined.clipped[j] = box.clipped[d];
      }
    }
    return joined;
  }

  /// Whether one stride goes through them; then `joined` is the array.
  template <int R, typename T>
  static bool Join(const Tensor<T>& array, Tensor<T>* joined) {
    bool fits = true;
    int j = -1;
    for (int d = 0; d < R; ++d) {
      const int64_t extent = array.shape[d], stride = array.stride[d];
      if (!IsJoined(d)) {
        joined->shape[++j] = extent;
        joined->stride[j] = stride;
        continue;
      }
      fits = fits && (extent <= 1 || joined->shape[j] <= 1 || joined->stride[j] == extent * stride);
      if (extent != 1) joined->stride[j] = stride;
      joined->shape[j] *= extent;
    }
    joined->data = array.data;
    joined->rank = R - kCount;
    return fits && (joined->shape[j] <= 1 || joined->stride[j] == 1);
  }
};

/// Where the elements of a block of rows are in VMEM.
template <typename T, int R>
Tensor<T> RowsOf(const Shape<R>& block, T* data) {
  Tensor<T> rows;
  rows.data = data;
  rows.rank = R;
  int64_t elements = 1;
  for (int d = R; d-- > 0;) {
    rows.shape[d] = block.size[d];
    if (block.squeezed[d]) continue;
    rows.stride[d] = elements;
    elements *= elements == 1 ? RowStride<T>(block.size[d]) : block.size[d];
  }
  return rows;
}

}  // namespace internal

/// Format, of rows or of an operand of a dot, with the array's dimensions kDims as one with those
/// before. An array whose strides do not allow that is copied.
template <class Format, int... kDims>
struct Joined : Format {
  using T = typename Format::Element;
  using View = typename Format::View;
  using Dims = internal::JoinedDims<kDims...>;

  static constexpr bool kIsRows = requires { typename Format::Written; };

  template <int R>
  static size_t Bytes(const Shape<R>& block) {
    return Format::Bytes(Dims::Of(block));
  }
  /// An operand of a dot is packed from rows, which have their place behind it.
  template <int R>
  static size_t Bytes(const Tensor<const T>& array, const Shape<R>& block) {
    Tensor<const T> joined;
    if (kIsRows || Dims::template Join<R>(array, &joined)) return Bytes(block);
    return OffsetOfRows(block) + BytesOfRows(block);
  }

  template <int R>
  static bool IsInPlace(const Tensor<const T>& array, const Box<R>& box) {
    Tensor<const T> joined;
    return Dims::template Join<R>(array, &joined) && Format::IsInPlace(joined, Dims::Of(box));
  }
  template <int R>
  static View InPlace(const Tensor<const T>& array, const Box<R>& box) {
    return Format::InPlace(Array<R>(array), Dims::Of(box));
  }
  template <typename U, int R>
  static auto TileInPlace(const Tensor<U>& array, const Box<R>& box) {
    return Format::TileInPlace(Array<R>(array), Dims::Of(box));
  }
  template <class Cpu, int R>
  static bool IsInPlaceFor(const Cpu& cpu, int64_t others, const Tensor<const T>& array,
                           const Box<R>& box) {
    Tensor<const T> joined;
    return Dims::template Join<R>(array, &joined) &&
           Format::IsInPlaceFor(cpu, others, joined, Dims::Of(box));
  }
  template <class Cpu, int R>
  static View InPlaceFor(const Cpu& cpu, int64_t others, const Tensor<const T>& array,
                         const Box<R>& box) {
    return Format::InPlaceFor(cpu, others, Array<R>(array), Dims::Of(box));
  }

  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return Format::ViewOf(data, Dims::Of(box));
  }
  template <typename U, int R>
  static auto TileOf(U* data, const Box<R>& box) {
    return Format::TileOf(data, Dims::Of(box));
  }
  template <int R>
  static void Copy(const Tensor<const T>& array, const Box<R>& box, const Pad<T>& pad, void* to) {
    if constexpr (kIsRows) {
      if (pad.given && !box.IsWhole()) internal::PadRows(box, &pad.value, kBitsOf<T>, to);
      internal::CopyRows(array, box, to);
    } else {
      Pack(array, box, pad, to);
    }
  }
  /// Without a home of its panels a block is one piece.
  template <class Piece, int R>
  static void CopyPiece(const Tensor<const T>& array, const Box<R>& box, const Pad<T>& pad,
                        const Piece& piece, void* to) {
    Tensor<const T> joined;
    if (!Dims::template Join<R>(array, &joined)) return Pack(array, box, pad, to);
    Format::CopyPiece(joined, Dims::Of(box), pad, piece, to);
  }
  template <int R>
  static auto HomeOf(const Tensor<const T>& array, const Box<R>& box) {
    Tensor<const T> joined;
    using Home = decltype(Format::HomeOf(joined, Dims::Of(box)));
    return Dims::template Join<R>(array, &joined) ? Format::HomeOf(joined, Dims::Of(box)) : Home();
  }

 private:
  template <int R, typename U>
  static Tensor<U> Array(const Tensor<U>& array) {
    Tensor<U> joined;
    Dims::template Join<R>(array, &joined);
    return joined;
  }
  template <int R>
  static size_t OffsetOfRows(const Shape<R>& block) {
    return RoundUp(Bytes(block), size_t{kLineBytes});
  }
  template <int R>
  static size_t BytesOfRows(const Shape<R>& block) {
    const Tensor<T> rows = internal::RowsOf<T>(Dims::Of(block), nullptr);
    int d = 0;
    while (block.squeezed[d]) ++d;
    return Unsigned(rows.shape[d] * rows.stride[d]) * sizeof(T);
  }

  template <int R>
  static void Pack(const Tensor<const T>& array, const Box<R>& box, const Pad<T>& pad, void* to) {
    Tensor<const T> joined;
    Box<R - Dims::kCount> part = Dims::Of(box);
    if (!Dims::template Join<R>(array, &joined)) {
      char* const rows = static_cast<char*>(to) + OffsetOfRows(static_cast<const Shape<R>&>(box));
      internal::CopyRows(array, box, rows);
      joined = internal::RowsOf(static_cast<const Shape<R - Dims::kCount>&>(part),
                                reinterpret_cast<const T*>(rows));
      part.start = {};
    }
    Format::Copy(joined, part, pad, to);
  }
};

}  // namespace kiln::inline KILN_ABI
