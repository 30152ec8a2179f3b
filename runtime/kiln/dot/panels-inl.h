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
#include "kiln/dot/dot-inl.h"
#include "kiln/dot/pack-inl.h"
#include "kiln/dot/tiles-inl.h"
#include "kiln/dot/views-inl.h"
#include "kiln/format/rows.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Fills the start values of a panel of A, which undo the flip of B.
template <class D>
HWY_INLINE void PanelAStarts(typename D::KGroup* panel, size_t depth) {
  using KGroup = typename D::KGroup;
  KGroup* const starts = panel + kPanelRows * depth;
  memset(starts, 0, kPanelRows * sizeof(KGroup));
  if constexpr (D::kFlip != 0) {
    const hn::ScalableTag<KGroup> d;
    const size_t n = hn::Lanes(d);
    const size_t count = kPanelRows * depth;
    const auto ones = hn::Set(d, 0x01010101);
    HWY_ALIGN KGroup lanes[hn::MaxLanes(hn::ScalableTag<KGroup>())] = {};
    auto sum = hn::Zero(d);
    auto sum_1 = sum, sum_2 = sum, sum_3 = sum;  // else each step waits for the one before
    size_t i = 0;
    for (; i + 4 * n <= count; i += 4 * n) {
      sum = D::Step(hn::LoadU(d, panel + i), ones, sum);
      sum_1 = D::Step(hn::LoadU(d, panel + i + n), ones, sum_1);
      sum_2 = D::Step(hn::LoadU(d, panel + i + 2 * n), ones, sum_2);
      sum_3 = D::Step(hn::LoadU(d, panel + i + 3 * n), ones, sum_3);
    }
    sum = hn::Add(hn::Add(sum, sum_1), hn::Add(sum_2, sum_3));
    for (; i + n <= count; i += n) sum = D::Step(hn::LoadU(d, panel + i), ones, sum);
    memcpy(lanes, panel + i, (count - i) * sizeof(KGroup));
    hn::Store(D::Step(hn::Load(d, lanes), ones, sum), d, lanes);
    constexpr KGroup kBy = std::is_signed_v<typename D::A> ? -128 : 128;
    for (size_t lane = 0; lane < n; ++lane) starts[lane % kPanelRows] += kBy * lanes[lane];
  }
}

#if HWY_TARGET == HWY_AVX3_DL
/// Packs (rows, k) for AMX.
template <class D, typename T>
void PackAByRows(const Source<T>& a, typename D::KGroup* to) {
  using A = typename D::A;
  const size_t rows = a.extent[0], depth = PackedKGroupsOf<D>(a.extent[1]);
  const size_t to_row = AmxRowKGroups(depth);
  if (a.IsTransposed()) {
    constexpr size_t kRows = 64;
    constexpr size_t kDepth = kAmxKGroups * D::kKPerGroup;
    HWY_ALIGN A buffer[kDepth * kRows];
    const Source<T> columns = a.Transposed();
    for (size_t r = 0; r < rows; r += kRows) {
      const size_t chunk = HWY_MIN(kRows, rows - r);
      for (size_t k = 0; k < depth; k += kAmxKGroups) {
        const auto from =
            Fetch(columns, k * D::kKPerGroup, r, kDepth, RoundUp(chunk, kAmxRows), buffer);
        PackRowsAcrossK<D>(from, chunk, to_row, to + r * to_row + k);
      }
    }
    return;
  }
  for (size_t r = 0; r < rows; ++r, to += to_row) {
    A* const row = reinterpret_cast<A*>(to);
    const auto from = Fetch(a, r, 0, 1, depth * D::kKPerGroup, row);
    if (from.data != row)
      memcpy(static_cast<void*>(row), from.data, depth * D::kKPerGroup * sizeof(A));
  }
}
#endif

/// Packs (rows, k).
template <class D, typename T>
HWY_NOINLINE void PackAFrom(const Source<T>& a, typename D::KGroup* to) {
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (D::kAmx != AmxElements::kNone) {
    if (UsesAmx<D>()) return PackAByRows<D>(a, to);
  }
#endif
  using A = typename D::A;
  const size_t rows = RoundUp(a.extent[0], kPanelRows);
  const size_t depth = KGroupsOf<D>(a.extent[1]);
  const size_t panel = PanelAKGroups(depth);

  if (a.IsTransposed()) {
    constexpr size_t kGroups = 4, kRows = 64;  // whole lines of 16 panels
    HWY_ALIGN A buffer[kGroups * D::kKPerGroup * kRows];
    const Source<T> columns = a.Transposed();
    for (size_t k = 0; k < depth; k += kGroups) {
      const size_t count = HWY_MIN(kGroups, depth - k);
      for (size_t r = 0; r < rows; r += kRows) {
        const size_t chunk = HWY_MIN(kRows, rows - r);
        const auto from =
            Fetch(columns, k * D::kKPerGroup, r, count * D::kKPerGroup, chunk, buffer);
        PackAAcrossK<D>(from, count, chunk, panel, to + r / kPanelRows * panel + kPanelRows * k);
      }
    }
    for (size_t r = 0; r < rows; r += kPanelRows)
      PanelAStarts<D>(to + r / kPanelRows * panel, depth);
  } else {
    constexpr size_t kGroups = 256;
    HWY_ALIGN A buffer[kPanelRows * kGroups * D::kKPerGroup];
    for (size_t r = 0; r < rows; r += kPanelRows, to += panel) {
      for (size_t k = 0; k < depth; k += kGroups) {
        const size_t count = HWY_MIN(kGroups, depth - k);
        const auto from = Fetch(a, r, k * D::kKPerGroup, kPanelRows, count * D::kKPerGroup, buffer);
        PackAAlongK<D>(from, count, to + kPanelRows * k);
      }
      PanelAStarts<D>(to, depth);  // while the panel is close
    }
  }
}

/// Packs (k, columns).
template <class D, typename T>
HWY_NOINLINE void PackBFrom(const Source<T>& b, typename D::KGroup* to) {
  using KGroup = typename D::KGroup;
  using B = typename D::B;
  constexpr size_t kMaxCols = kTileVectors * hn::MaxLanes(hn::ScalableTag<KGroup>());
  const size_t n = hn::Lanes(hn::ScalableTag<KGroup>());
  const size_t cols = PaddedCols<KGroup>(b.extent[1]);
  const size_t depth = PackedKGroupsOf<D>(b.extent[0]);

  if (b.IsTransposed()) {
    constexpr size_t kGroups = 64;
    HWY_ALIGN B buffer[kMaxCols * kGroups * D::kKPerGroup];
    const Source<T> rows = b.Transposed();
    for (size_t c = 0, width = 0; c < cols; c += width) {
      width = PanelVectors<KGroup>(c, cols) * n;
      for (size_t k = 0; k < depth; k += kGroups) {
        const size_t count = HWY_MIN(kGroups, depth - k);
        const auto from = Fetch(rows, c, k * D::kKPerGroup, width, count * D::kKPerGroup, buffer);
        PackBAlongK<D>(from, count, width, to + c * (depth + 1) + width * k);
      }
    }
  } else {
    constexpr size_t kPanels = 16;
    HWY_ALIGN B buffer[D::kKPerGroup * kPanels * kMaxCols];
    for (size_t k = 0; k < depth; ++k) {  // whole rows, which is how memory is fastest
      for (size_t c = 0, end = 0; c < cols; c = end) {
        for (size_t p = 0; p < kPanels && end < cols; ++p)
          end += PanelVectors<KGroup>(end, cols) * n;
        const auto from = Fetch(b, ElementOf<D>(k), c, D::kKPerGroup, end - c, buffer);
        for (size_t panel = c, width = 0; panel < end; panel += width) {
          width = PanelVectors<KGroup>(panel, cols) * n;
          PackBAcrossK<D>(Fetched<B>{from.data + (panel - c), from.stride}, width,
                          to + panel * (depth + 1) + width * k);
        }
      }
    }
  }
}

// What most kernels pack is compiled once, into the library (packing.cc).
#undef KILN_PACKING
#ifdef KILN_COMPILES_PACKING
#define KILN_PACKING template
#else
#define KILN_PACKING extern template
#endif
#undef KILN_PACK
#define KILN_PACK(D, TA, TB)                                            \
  KILN_PACKING void PackAFrom<D, TA>(const Source<TA>&, D::KGroup* to); \
  KILN_PACKING void PackBFrom<D, TB>(const Source<TB>&, D::KGroup* to)
using BytesSS = Dot<int8_t, int8_t>;
using BytesSU = Dot<int8_t, uint8_t>;
using BytesUS = Dot<uint8_t, int8_t>;
using BytesUU = Dot<uint8_t, uint8_t>;
KILN_PACK(Dot<float>, float, float);
KILN_PACK(Dot<float>, bf16, bf16);
KILN_PACK(Dot<bf16>, bf16, bf16);
KILN_PACK(Dot<double>, double, double);
KILN_PACK(Dot<int32_t>, int32_t, int32_t);
KILN_PACK(BytesSS, int8_t, int8_t);
KILN_PACK(BytesSU, int8_t, uint8_t);
KILN_PACK(BytesUS, uint8_t, int8_t);
KILN_PACK(BytesUU, uint8_t, uint8_t);
#undef KILN_STREAM
#define KILN_STREAM(D, Steps)                                                                  \
  KILN_PACKING void AddStreamedRows<D, ViewOfA<D::KGroup, Steps>, D::B>(                       \
      const ViewOfA<D::KGroup, Steps>&, size_t row, size_t rows, const D::B* b, size_t b_rows, \
      int64_t stride, bool far, size_t cols, D::Acc* sums, size_t sums_stride)
KILN_STREAM(Dot<float>, PanelSteps);
KILN_STREAM(Dot<float>, AnySteps);
KILN_STREAM(Dot<bf16>, PanelSteps);
#if HWY_TARGET == HWY_AVX3_DL
KILN_STREAM(Dot<bf16>, AnySteps);
#endif

#undef KILN_ADD_TILES_TO
#undef KILN_ADD_TILES
#define KILN_ADD_TILES_TO(D, Steps, T, Sums)                                           \
  KILN_PACKING void                                                                    \
  AddTiles<D, ViewOfA<D::KGroup, Steps>, ViewOfB<D::KGroup, kCanReadUnpackedB<D, T>>>( \
      RowRange, const ViewOfA<D::KGroup, Steps>&,                                      \
      const ViewOfB<D::KGroup, kCanReadUnpackedB<D, T>>&, const Sums<D::Acc>&)
#define KILN_ADD_TILES(D, Steps, T)             \
  KILN_ADD_TILES_TO(D, Steps, T, Accumulators); \
  KILN_ADD_TILES_TO(D, Steps, T, SumsInRows)
KILN_ADD_TILES(Dot<float>, PanelSteps, float);
KILN_ADD_TILES(Dot<float>, AnySteps, float);
KILN_ADD_TILES(Dot<bf16>, PanelSteps, bf16);
KILN_ADD_TILES(BytesSS, PanelSteps, int8_t);
KILN_ADD_TILES(BytesSU, PanelSteps, uint8_t);
KILN_ADD_TILES(BytesUS, PanelSteps, int8_t);
KILN_ADD_TILES(BytesUU, PanelSteps, uint8_t);
#if HWY_TARGET == HWY_AVX3_DL
KILN_ADD_TILES(Dot<bf16>, AnySteps, bf16);
#endif

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
  template <int R>
  static View InPlace(const Tensor<const T>&, const Box<R>&) {
    return {};  // never called
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
  static View InPlace(const Tensor<const T>& tensor, const Box<R>& box) {
    if constexpr (!kCanReadUnpacked && !kAmxReadsUnpacked) {
      return {};  // never called
    } else {
      const int64_t stride = tensor.stride[box.template ViewDims<2>()[0]] / kKPerGroup;
      const auto* const groups =
          reinterpret_cast<const KGroup*>(tensor.template At<R>(box.start));
      const size_t rows = ExtentOf<false>(box, 0), depth = KGroupsOf<D>(ExtentOf<false>(box, 1));
      if (UsesAmx<D>()) return View::OfSingleRows(groups, rows, depth, stride);
      if constexpr (kCanReadUnpacked) return View::OfRows(groups, rows, depth, stride);
      return {};  // never called
    }
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
    if (kTransposed || !std::is_same_v<T, typename Multiply::B>) return false;
    return Rows<T, 2>::IsInPlace(tensor, box) &&
           AccessFor(cpu, rows, tensor, box) != BAccess::kPacked;
  }
  template <int R>
  static View InPlaceFor(const Cpu& cpu, int64_t rows, const Tensor<const T>& tensor,
                         const Box<R>& box) {
    const T* const first = tensor.template At<R>(box.start);
    const size_t k = ExtentOf<false>(box, 0), cols = ExtentOf<false>(box, 1);
    const auto [row, column] = box.template ViewDims<2>();
    const auto stride = static_cast<size_t>(tensor.stride[row]);
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

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
