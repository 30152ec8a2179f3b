// The operands of a dot as formats: what a copy makes of a block, and what a register tile reads.
//
//   PackedA<T>         A of dot(A, B)
//   PackedAT<T>        A of dot(A.T, B), where the array is [k, m]
//   UnpackedA<T>       A of dot(A, B), read unpacked where that is as fast
//   PackedB<T>         B of dot(A, B)
//   PackedBT<T>        B of dot(A, B.T), where the array is [n, k]
//
// T is the array's type; a second argument says how it is multiplied if that is not T x T: a wider
// type (PackedA<bf16, float> beside an f32 operand) or a dot (PackedA<uint8_t, Dot<uint8_t,
// int8_t>>).
#if defined(KILN_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_PANELS_INL_H_
#undef KILN_PANELS_INL_H_
#else
#define KILN_PANELS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <array>
#include <type_traits>

#include "kiln/core/block.h"
#include "kiln/core/poison.h"
#include "kiln/core/tensor.h"
#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/dot/dot-inl.h"
#include "kiln/dot/pack_blocks-inl.h"
#include "kiln/format/rows.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A block as a source, its dimensions in the order of the array or the other way around.
template <bool kTransposed, typename T, int R>
Source<T> SourceOf(const Tensor<const T>& array, const Box<R>& box, const Pad<T>& pad) {
  Source<T> source;
  source.data = array.template At<R>(box.start);
  const std::array<int, 2> dims = box.template ViewDims<2>();
  for (int v = 0; v < 2; ++v) {
    const int d = dims[kTransposed ? 1 - v : v];
    source.stride[v] = array.stride[d];
    source.low[v] = static_cast<size_t>(box.low[d]);
    source.high[v] = static_cast<size_t>(box.high[d]);
    source.extent[v] = static_cast<size_t>(box.clipped[d] ? box.high[d] : box.size[d]);
  }
  source.pad = pad.value;
  return source;
}

/// A tile of VMEM as an operand of these extents: the tile's, or those of its transpose.
template <bool kTransposed, typename T>
Source<std::remove_const_t<T>> SourceOf(const Tile<T, 2>& tile, size_t extent_0, size_t extent_1) {
  constexpr int kFirst = kTransposed ? 1 : 0;
  return {tile.data,
          {tile.stride[kFirst], tile.stride[1 - kFirst]},
          {0, 0},
          {extent_0, extent_1},
          {extent_0, extent_1},
          {}};
}

/// The extents of dimension v of a packed block.
template <bool kTransposed, int R>
size_t ExtentOf(const Box<R>& box, int v) {
  const int d = box.template ViewDims<2>()[kTransposed ? 1 - v : v];
  return static_cast<size_t>(box.clipped[d] ? box.high[d] : box.size[d]);
}
template <bool kTransposed, int R>
size_t SizeOf(const Shape<R>& block, int v) {
  return static_cast<size_t>(block.size[block.template ViewDims<2>()[kTransposed ? 1 - v : v]]);
}

/// Operand A of a dot.
template <typename T, class As, bool kTransposed>
struct FormatOfA {
  using Element = T;
  using Multiply = DotOf<As>;
  using KGroup = typename Multiply::KGroup;

  using View = ViewOfA<KGroup>;
  static constexpr bool kChoosesByOther = true;

  static size_t Depth(size_t k) { return PackedKGroupsOf<Multiply>(k); }
  static size_t Bytes(size_t rows, size_t k) {
    if (UsesAmx<Multiply>()) return rows * AmxRowKGroups(Depth(k)) * sizeof(KGroup);
    return DivUp(rows, kPanelRows) * PanelAKGroups(Depth(k)) * sizeof(KGroup);
  }
  /// What PackAFrom has packed.
  template <class Packed = View>
  static Packed ViewOfPacked(const KGroup* groups, size_t rows, size_t k) {
    const size_t depth = Depth(k);
    if (UsesAmx<Multiply>()) {
      return Packed::OfSingleRows(groups, rows, depth,
                                  static_cast<ptrdiff_t>(AmxRowKGroups(depth)));
    }
    return Packed::OfPanels(groups, rows, depth);
  }
  template <int R>
  static size_t Bytes(const Shape<R>& block) {
    return Bytes(SizeOf<kTransposed>(block, 0), SizeOf<kTransposed>(block, 1));
  }
  template <int R>
  static bool IsInPlace(const Tensor<const T>&, const Box<R>&) {
    return false;
  }
  /// Whether packing A does not pay in a product with so many columns.
  template <int R>
  static bool IsInPlaceFor(const Cpu&, int64_t columns, const Tensor<const T>& tensor,
                           const Box<R>& box) {
    if constexpr (!std::is_same_v<T, typename Multiply::A> || !kStreamsA<Multiply, T, kTransposed>)
      return false;
    const std::array<int, 2> dims = box.template ViewDims<2>();
    const int64_t rows = tensor.shape[dims[kTransposed]], k = tensor.shape[dims[!kTransposed]];
    return FewColumnsPay(rows, k, columns, kTransposed) && !UsesAmx<Multiply>() &&
           Rows<T, 2>::IsInPlace(tensor, box);
  }
  template <class Streamed = View, int R>
  static Streamed InPlaceFor(const Cpu&, int64_t /*columns*/, const Tensor<const T>& tensor,
                             const Box<R>& box) {
    const auto stride = static_cast<size_t>(tensor.stride[box.template ViewDims<2>()[0]]);
    return Streamed::Streamed(tensor.template At<R>(box.start), ExtentOf<kTransposed>(box, 0),
                              ExtentOf<kTransposed>(box, 1), stride, kTransposed);
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return ViewOfPacked(static_cast<const KGroup*>(data), ExtentOf<kTransposed>(box, 0),
                        ExtentOf<kTransposed>(box, 1));
  }
  template <int R>
  static void Copy(const Tensor<const T>& from, const Box<R>& box, const Pad<T>& pad, void* to) {
    PackAFrom<Multiply>(SourceOf<kTransposed>(from, box, pad), static_cast<KGroup*>(to));
  }
};
template <typename T, class As = T>
using PackedA = FormatOfA<T, As, false>;
template <typename T, class As = T>
using PackedAT = FormatOfA<T, As, true>;

/// An A that register tiles read unpacked, which is as fast as from panels. Short pieces of rows
/// that are far apart would share cache sets, and are packed; so are k-groups that are not aligned.
template <typename T>
struct UnpackedA : PackedA<T> {
  using D = DotOf<T>;
  using KGroup = typename PackedA<T>::KGroup;
  static constexpr bool kCanReadUnpacked = kIsPlain<D, T> && D::kFlip == 0;
  static constexpr bool kAmxReadsUnpacked = kIsPlain<D, T> && D::kAmx != AmxElements::kNone;
  using View = ViewOfA<KGroup, std::conditional_t<kCanReadUnpacked, AnySteps, PanelSteps>>;

  static constexpr int64_t kLong = 512;  // groups

  template <int R>
  static bool IsInPlace(const Tensor<const T>& tensor, const Box<R>& box) {
    if constexpr (!kCanReadUnpacked && !kAmxReadsUnpacked) return false;
    if (!kCanReadUnpacked && !UsesAmx<D>()) return false;
    const auto [row, column] = box.template ViewDims<2>();
    if (!Rows<T, 2>::IsInPlace(tensor, box) || !IsAligned(tensor, box, column)) return false;
    const auto depth = static_cast<int64_t>(ExtentOf<false>(box, 1));
    const int64_t stride = tensor.stride[row];
    return depth >= kLong * kKPerGroup || (-2 * depth <= stride && stride <= 2 * depth);
  }
  template <int R>
  static bool IsInPlaceFor(const Cpu& cpu, int64_t columns, const Tensor<const T>& tensor,
                           const Box<R>& box) {
    return PackedA<T>::IsInPlaceFor(cpu, columns, tensor, box) || IsInPlace(tensor, box);
  }
  template <int R>
  static View InPlaceFor(const Cpu& cpu, int64_t columns, const Tensor<const T>& tensor,
                         const Box<R>& box) {
    if (PackedA<T>::IsInPlaceFor(cpu, columns, tensor, box))
      return PackedA<T>::template InPlaceFor<View>(cpu, columns, tensor, box);
    if constexpr (!kCanReadUnpacked && !kAmxReadsUnpacked) {
      return {};  // never called
    } else {
      const int64_t stride = tensor.stride[box.template ViewDims<2>()[0]] / kKPerGroup;
      const auto* const groups = reinterpret_cast<const KGroup*>(tensor.template At<R>(box.start));
      return OfRows(groups, ExtentOf<false>(box, 0), KGroupsOf<D>(ExtentOf<false>(box, 1)), stride);
    }
  }
  /// Rows where they are, `stride` k-groups apart.
  static View OfRows(const KGroup* groups, size_t rows, size_t depth, int64_t stride) {
    if (UsesAmx<D>()) return View::OfSingleRows(groups, rows, depth, stride);
    if constexpr (kCanReadUnpacked) return View::OfRows(groups, rows, depth, stride);
    return {};  // never called
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return PackedA<T>::template ViewOfPacked<View>(
        static_cast<const KGroup*>(data), ExtentOf<false>(box, 0), ExtentOf<false>(box, 1));
  }

 private:
  static constexpr int64_t kKPerGroup{D::kKPerGroup};

  template <int R>
  static bool IsAligned(const Tensor<const T>& tensor, const Box<R>& box, int column) {
    if constexpr (kKPerGroup == 1) return true;
    int64_t odd = box.size[column] % kKPerGroup | (box.high[column] - box.low[column]) % kKPerGroup;
    for (int d = 0; d < R; ++d) odd |= d == column ? 0 : tensor.stride[d] % kKPerGroup;
    const auto address = reinterpret_cast<uintptr_t>(tensor.template At<R>(box.start));
    return odd == 0 && address % sizeof(KGroup) == 0;
  }
};

/// Operand B of a dot.
template <typename T, class As, bool kTransposed>
struct FormatOfB {
  using Element = T;
  using Multiply = DotOf<As>;
  using KGroup = typename Multiply::KGroup;

  using View = ViewOfB<KGroup, kCanReadUnpackedB<Multiply, T>>;
  static constexpr bool kChoosesByOther = true;

  static size_t Depth(size_t k) { return PackedKGroupsOf<Multiply>(k); }
  static size_t Bytes(size_t k, size_t cols) {
    return PaddedCols<KGroup>(cols) * (Depth(k) + 1) * sizeof(KGroup);
  }
  template <int R>
  static size_t Bytes(const Shape<R>& block) {
    return Bytes(SizeOf<kTransposed>(block, 0), SizeOf<kTransposed>(block, 1));
  }
  template <int R>
  static bool IsInPlace(const Tensor<const T>&, const Box<R>&) {
    return false;
  }
  /// Whether packing B does not pay in a product of so many rows.
  template <int R>
  static bool IsInPlaceFor(const Cpu& cpu, int64_t rows, const Tensor<const T>& tensor,
                           const Box<R>& box) {
    if (!std::is_same_v<T, typename Multiply::B> || !Rows<T, 2>::IsInPlace(tensor, box))
      return false;
    if constexpr (kTransposed) {
      const auto [column, k] = box.template ViewDims<2>();
      const int64_t bytes = tensor.shape[column] * tensor.stride[column] * int64_t{sizeof(T)};
      return kStreamsColumns<Multiply, T> &&
             rows <= FewRows<Multiply>(/*by_columns=*/true, bytes <= cpu.l2_bytes);
    } else {
      return AccessFor(cpu, rows, tensor, box) != BAccess::kPacked;
    }
  }
  template <int R>
  static View InPlaceFor(const Cpu& cpu, int64_t rows, const Tensor<const T>& tensor,
                         const Box<R>& box) {
    const T* const first = tensor.template At<R>(box.start);
    const size_t k = ExtentOf<kTransposed>(box, 0), cols = ExtentOf<kTransposed>(box, 1);
    const auto [row, column] = box.template ViewDims<2>();
    const auto stride = static_cast<size_t>(tensor.stride[row]);
    if constexpr (kTransposed) return View::StreamedColumns(first, Depth(k), k, cols, stride);
    if constexpr (kCanReadUnpackedB<Multiply, T>) {
      if (AccessFor(cpu, rows, tensor, box) == BAccess::kUnpackedTiles)
        return View::OfRows(first, k, cols, stride, tensor.stride[row] != tensor.shape[column]);
    }
    return View::StreamedRows(first, Depth(k), k, cols, stride);
  }
  template <int R>
  static View ViewOf(const void* data, const Box<R>& box) {
    return View::OfPanels(static_cast<const KGroup*>(data), Depth(ExtentOf<kTransposed>(box, 0)),
                          ExtentOf<kTransposed>(box, 1));
  }
  template <int R>
  static void Copy(const Tensor<const T>& from, const Box<R>& box, const Pad<T>& pad, void* to) {
    PackBFrom<Multiply>(SourceOf<kTransposed>(from, box, pad), static_cast<KGroup*>(to));
  }

  static constexpr bool kPacksInTurn = true;
  template <int R>
  static void CopyPiece(const Tensor<const T>& from, const Box<R>& box, const Pad<T>& pad,
                        const PanelPiece& piece, void* to) {
    const auto element = [](int64_t group) { return Unsigned(group) * Multiply::kKPerGroup; };
    PackBFrom<Multiply>(SourceOf<kTransposed>(from, box, pad)
                            .Columns(Unsigned(piece.first_column), Unsigned(piece.columns))
                            .Rows(element(piece.first_group), element(piece.groups)),
                        static_cast<KGroup*>(to));
  }
  template <int R>
  static PanelHome HomeOf(const Tensor<const T>& tensor, const Box<R>& box) {
    constexpr int64_t kElement{sizeof(T)};
    const std::array<int, 2> dims = box.template ViewDims<2>();
    const int64_t to_k = tensor.stride[dims[kTransposed]] * kElement;
    const int64_t to_column = tensor.stride[dims[!kTransposed]] * kElement;
    if (to_k != kElement && to_column != kElement) return {};
    return {reinterpret_cast<const char*>(tensor.template At<R>(box.start)), to_k, to_column,
            kElement};
  }

 private:
  template <int R>
  static BAccess AccessFor(const Cpu& cpu, int64_t rows, const Tensor<const T>& tensor,
                           const Box<R>& box) {
    const int row = box.template ViewDims<2>()[0];
    return ChooseBAccess<Multiply, T>(cpu, rows, tensor.shape[row], tensor.stride[row]);
  }
};
template <typename T, class As = T>
using PackedB = FormatOfB<T, As, false>;
template <typename T, class As = T>
using PackedBT = FormatOfB<T, As, true>;

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
