// The operands of a dot as formats: what a copy makes of a block, and what a register tile reads.
//
//   PackedA<T>         A of dot(A, B)
//   PackedAT<T>        A of dot(A.T, B), where the array is [k, m]
//   UnpackedA<T>       A of dot(A, B), read unpacked where that is as fast
//   PackedB<T>         B of dot(A, B)
//   PackedBT<T>        B of dot(A, B.T), where the array is [n, k]
//   PackA<As>(tile)    the same of a value in VMEM, where it is used
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
    if constexpr (!kStreamsA<Multiply, T, kTransposed>) return false;
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

/// Packs a tile of VMEM where a dot uses it, as it would be packed for a dot of `As`. The T forms
/// are for the transpose of the tile; extents are always those of the operand. `to` has
/// PackedA<As>::Bytes(rows, k).
template <class As, bool kTransposed = false, typename T>
ViewOfA<typename DotOf<As>::KGroup> PackA(const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  using Format = PackedA<As>;
  auto* const groups = static_cast<typename Format::KGroup*>(to);
  PackAFrom<DotOf<As>>(SourceOf<kTransposed>(a, rows, k), groups);
  return Format::ViewOfPacked(groups, rows, k);
}
template <class As, typename T>
auto PackAT(const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  return PackA<As, true>(a, rows, k, to);
}

/// `to` has PackedB<As>::Bytes(k, cols).
template <class As, bool kTransposed = false, typename T>
auto PackB(const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using Format = PackedB<As>;
  auto* const groups = static_cast<typename Format::KGroup*>(to);
  PackBFrom<DotOf<As>>(SourceOf<kTransposed>(b, k, cols), groups);
  return ViewOfB<typename Format::KGroup>::OfPanels(groups, Format::Depth(k), cols);
}
template <class As, typename T>
auto PackBT(const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  return PackB<As, true>(b, k, cols, to);
}

/// Whether a matrix stays in the L1 whichever way it is read, so that packing it takes longer than
/// it gains. (The generator knows it of sizes that a spec has.)
constexpr bool IsSmallMatrix(size_t rows, size_t cols) { return rows <= 64 && cols <= 64; }

/// What a view of a B says of it: T, unless that is what is multiplied.
template <class D, typename T>
using StoredIfWidened = std::conditional_t<kIsWidened<D, T>, T, void>;

/// PackB, unless `a_rows` are so few that they read the tile where it is. (8192 products of 16 x 16
/// of bf16 take three times as long so: a small one is packed.)
template <class As, typename T>
auto PackBFor(size_t a_rows, const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using D = DotOf<As>;
  using Element = std::remove_const_t<T>;
  using View = ViewOfB<typename D::KGroup, false, StoredIfWidened<D, Element>>;
  const auto streamed = [](View view) {
    view.array_bytes = ~size_t{0};  // Direct may have left it in the array, which nobody knows here
    return view;
  };
  const size_t depth = PackedB<As>::Depth(k);
  if constexpr (kMayStreamB<D, Element>) {
    const bool small = IsSmallMatrix(k, cols);
    if (!small && b.stride[1] == 1 && Signed(a_rows) <= FewRows<D>())
      return streamed(View::StreamedRows(b.data, depth, k, cols, Unsigned(b.stride[0])));
    if (kStreamsColumns<D, Element> && !small && b.stride[0] == 1 &&
        Signed(a_rows) <= FewRows<D>(/*by_columns=*/true, /*in_l2=*/true))
      return streamed(View::StreamedColumns(b.data, depth, k, cols, Unsigned(b.stride[1])));
  }
  auto* const groups = static_cast<typename D::KGroup*>(to);
  PackBFrom<D>(SourceOf<false>(b, k, cols), groups);
  return View::OfPanels(groups, depth, cols);
}

/// PackA, to what MatrixA returns of a matrix where it is.
template <class As, typename T>
auto PackAsMatrixA(const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  using Format = UnpackedA<As>;
  auto* const groups = static_cast<typename Format::KGroup*>(to);
  PackAFrom<DotOf<As>>(SourceOf<false>(a, rows, k), groups);
  return PackedA<As>::template ViewOfPacked<typename Format::View>(groups, rows, k);
}

/// A matrix of a tile of VMEM whose rows are contiguous, where it is: elements of `As` are
/// k-groups, or parts of one, which some dots need packed; `to` then has PackedA<As>::Bytes(rows,
/// k).
template <class As, typename T>
auto MatrixA(const Tile<T, 2>& a, size_t rows, size_t k, void* to = nullptr) {
  using Format = UnpackedA<As>;
  using D = DotOf<As>;
  if constexpr (!Format::kCanReadUnpacked && !Format::kAmxReadsUnpacked) {
    return PackA<As>(a, rows, k, to);
  } else {
    using KGroup = typename Format::KGroup;
    const size_t odd = k % D::kKPerGroup + static_cast<size_t>(a.stride[0]) % D::kKPerGroup +
                       reinterpret_cast<uintptr_t>(a.data) % sizeof(KGroup);
    if (odd == 0 && (Format::kCanReadUnpacked || UsesAmx<D>())) {
      return Format::OfRows(reinterpret_cast<const KGroup*>(a.data), rows, KGroupsOf<D>(k),
                            a.stride[0] / int64_t{D::kKPerGroup});
    }
    return PackAsMatrixA<As>(a, rows, k, to);
  }
}
/// `to` has PackedB<As>::Bytes(k, cols), for tiles that read panels alone.
template <class As, typename T>
auto MatrixB(const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using D = DotOf<As>;
  if constexpr (kCanReadUnpackedB<D, std::remove_const_t<T>>) {
    return ViewOfB<typename D::KGroup, true>::OfRows(
        b.data, k, cols, static_cast<size_t>(b.stride[0]), /*apart=*/false);
  } else {
    return PackB<As>(b, k, cols, to);
  }
}

/// A matrix where it is if it is small, else packed.
template <class As, typename T>
auto SmallA(const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  using Format = UnpackedA<As>;
  if constexpr (!Format::kCanReadUnpacked && !Format::kAmxReadsUnpacked) {
    return PackA<As>(a, rows, k, to);
  } else {
    if (IsSmallMatrix(rows, k)) return MatrixA<As>(a, rows, k, to);
    return PackAsMatrixA<As>(a, rows, k, to);
  }
}
template <class As, typename T>
auto SmallB(const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using D = DotOf<As>;
  if constexpr (kCanReadUnpackedB<D, std::remove_const_t<T>>) {
    if (IsSmallMatrix(k, cols)) return MatrixB<As>(b, k, cols, to);
    auto* const groups = static_cast<typename D::KGroup*>(to);
    PackBFrom<D>(SourceOf<false>(b, k, cols), groups);
    return ViewOfB<typename D::KGroup, true>::OfPanels(groups, PackedB<As>::Depth(k), cols);
  } else {
    return PackB<As>(b, k, cols, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
