// Packing whole blocks: every panel of an A or a B (pack-inl.h has the k-groups of one). What most
// kernels pack, and the products of it, is compiled into the library.
#if defined(KILN_PACK_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_PACK_BLOCKS_INL_H_
#undef KILN_PACK_BLOCKS_INL_H_
#else
#define KILN_PACK_BLOCKS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>
#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/dot/dot-inl.h"
#include "kiln/dot/pack-inl.h"
#include "kiln/dot/tiles-inl.h"
#include "kiln/dot/views-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
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
    // A signed B is stored as unsigned, 128 too large, and an unsigned one 128 too small.
    constexpr KGroup kBy = std::is_signed_v<typename D::B> ? -128 : 128;
    for (size_t lane = 0; lane < n; ++lane) starts[lane % kPanelRows] += kBy * lanes[lane];
  }
}

#if HWY_TARGET == HWY_AVX3_DL
/// Packs (rows, k) for AMX.
template <class D, class From>
void PackAByRows(const From& a, typename D::KGroup* to) {
  using A = typename D::A;
  const size_t rows = a.extent[0], depth = PackedKGroupsOf<D>(a.extent[1]);
  const size_t to_row = AmxRowKGroups(depth);
  if (a.IsTransposed()) {
    constexpr size_t kRows = 64;
    constexpr size_t kDepth = kAmxKGroups * D::kKPerGroup;
    HWY_ALIGN A buffer[kDepth * kRows];
    const From columns = a.Transposed();
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
template <class D, class From>
HWY_NOINLINE void PackAFrom(const From& a, typename D::KGroup* to) {
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
    const From columns = a.Transposed();
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

/// Packs a small B, (k, columns), of whole vectors that fit into one panel, with no arithmetic
/// around them. Returns how many k-groups it has packed: none of another B, nor what ends within
/// one.
template <class D, typename T>
HWY_INLINE size_t PackOnePanel(const Source<T>& b, size_t width, typename D::KGroup* to) {
  const hn::ScalableTag<typename D::KGroup> d;
  const size_t n = hn::Lanes(d), cols = b.extent[1], depth = PackedKGroupsOf<D>(b.extent[0]);
  const size_t whole = b.extent[0] / D::kKPerGroup;
  if (PanelVectors<typename D::KGroup>(0, width) * n != width || cols % n != 0 || D::kSwapsPairs ||
      b.ColumnsInPlace(0, b.extent[0]) != cols) {
    return 0;
  }
  const uint32_t flip = FlipOf<D>();
  // GCC would make a call of memset for each row of zeros, or a slow instruction.
  const auto store_zeros = [&](size_t c) HWY_ATTR {
    hn::Store(Flip<D>(hn::Zero(d), flip), d, to + c);
    std::atomic_signal_fence(std::memory_order_acq_rel);
  };
  const int64_t stride = b.stride[0], to_next = stride * int64_t{D::kKPerGroup};
  const T* row = b.data;
  for (size_t k = 0; k < whole; ++k, to += width, row += to_next) {
    size_t c = 0;
#if HWY_TARGET == HWY_AVX3_DL
    if constexpr (kInterleavesLines<D, T> && D::kFlip == 0) {
      for (; c + 2 * n <= cols; c += 2 * n) StoreTwoVectors<D>(row + c, stride, to + c);
    }
#endif
    for (; c < cols; c += n)
      hn::Store(Flip<D>(KGroupsAcross<D>(d, row + c, stride), flip), d, to + c);
    for (c = cols; c < width; c += n) store_zeros(c);
  }
  if (whole * D::kKPerGroup != b.extent[0]) return whole;
  for (size_t k = whole; k < depth; ++k, to += width) {
    for (size_t c = 0; c < width; c += n) store_zeros(c);
  }
  return depth;
}

/// Packs (k, columns).
template <class D, class From>
HWY_NOINLINE void PackBFrom(const From& b, typename D::KGroup* to) {
  using KGroup = typename D::KGroup;
  using B = typename D::B;
  constexpr size_t kMaxCols = kTileVectors * hn::MaxLanes(hn::ScalableTag<KGroup>());
  const size_t n = hn::Lanes(hn::ScalableTag<KGroup>());
  const size_t cols = PaddedCols<KGroup>(b.extent[1]);
  const size_t depth = PackedKGroupsOf<D>(b.extent[0]);

  bool along_k = b.IsTransposed();
  if constexpr (std::is_same_v<From, Source<B>>)
    along_k = along_k || (b.extent[1] == 1 && b.stride[0] == 1);  // a single column
  if (along_k) {
    constexpr size_t kGroups = 64;
    HWY_ALIGN B buffer[kMaxCols * kGroups * D::kKPerGroup];
    const From rows = b.Transposed();
    // The hardware does not foresee so many columns at a time where they come from memory.
    constexpr size_t kMayBeFar = size_t{256} << 10;
    const bool far = b.extent[0] * b.extent[1] * sizeof(B) > kMayBeFar;
    const int64_t ahead = far ? 16 * int64_t{kLineBytes / sizeof(B)} : 0;
    for (size_t c = 0, width = 0; c < cols; c += width) {
      width = PanelVectors<KGroup>(c, cols) * n;
      for (size_t k = 0; k < depth; k += kGroups) {
        const size_t count = HWY_MIN(kGroups, depth - k);
        const auto from = Fetch(rows, c, k * D::kKPerGroup, width, count * D::kKPerGroup, buffer);
        PackBAlongK<D>(from, count, width, ahead, to + c * (depth + 1) + width * k);
      }
    }
  } else {
    size_t k = 0;
    if constexpr (std::is_same_v<From, Source<B>>) k = PackOnePanel<D>(b, cols, to);
    constexpr size_t kPanels = 16;
    HWY_ALIGN B buffer[D::kKPerGroup * kPanels * kMaxCols];
    const size_t vectors_end = RoundUp(b.extent[1], n);  // zeros from here on
    for (; k < depth; ++k) {  // whole rows, which is how memory is fastest
      const size_t row = ElementOf<D>(k);
      size_t in_place = 0;
      if constexpr (std::is_same_v<From, Source<B>>)
        in_place = b.ColumnsInPlace(row, D::kKPerGroup) / n * n;
      for (size_t c = 0, end = 0; c < cols; c = end) {
        for (size_t p = 0; p < kPanels && end < cols; ++p)
          end += PanelVectors<KGroup>(end, cols) * n;
        const size_t copied = HWY_MAX(in_place, c), copied_end = HWY_MIN(end, vectors_end);
        Fetched<B> copy{};
        if (copied < copied_end)
          copy = Fetch(b, row, copied, D::kKPerGroup, copied_end - copied, buffer);
        for (size_t panel = c, width = 0; panel < end; panel += width) {
          width = PanelVectors<KGroup>(panel, cols) * n;
          const auto at = [&](size_t column) HWY_ATTR -> Fetched<B> {
            const size_t j = panel + column;
            if constexpr (std::is_same_v<From, Source<B>>) {
              if (j < in_place)
                return {b.data + static_cast<int64_t>(row) * b.stride[0] + j, b.stride[0]};
            }
            if (j >= copied_end) return {};
            return {copy.data + (j - copied), copy.stride};
          };
          PackBAcrossK<D>(at, width, to + panel * (depth + 1) + width * k);
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
#define KILN_PACK(D, TA, TB)                                                    \
  KILN_PACKING void PackAFrom<D, Source<TA>>(const Source<TA>&, D::KGroup* to); \
  KILN_PACKING void PackBFrom<D, Source<TB>>(const Source<TB>&, D::KGroup* to)
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
#undef KILN_STREAM_ROWS
#define KILN_STREAM_ROWS(D, Steps, Lines)                                                      \
  KILN_PACKING void AddStreamedRows<D, ViewOfA<D::KGroup, Steps>, Lines<D::B>>(                \
      const ViewOfA<D::KGroup, Steps>&, size_t row, size_t rows, Lines<D::B> b, size_t b_rows, \
      size_t cols, D::Acc* sums, size_t sums_stride)
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
#define KILN_STREAM(D, Steps, Lines)                                                      \
  KILN_STREAM_ROWS(D, Steps, Lines);                                                      \
  KILN_PACKING void AddStreamedColumns<D, ViewOfA<D::KGroup, Steps>, Lines<D::B>>(        \
      const ViewOfA<D::KGroup, Steps>&, size_t row, size_t rows, size_t k, Lines<D::B> b, \
      size_t b_rows, size_t cols, D::Acc* sums, size_t sums_stride)
#else
#define KILN_STREAM(D, Steps, Lines) KILN_STREAM_ROWS(D, Steps, Lines)
#endif
KILN_STREAM(Dot<float>, PanelSteps, InMemory);
KILN_STREAM(Dot<float>, AnySteps, InMemory);
KILN_STREAM(Dot<bf16>, PanelSteps, InMemory);
KILN_STREAM(BytesSS, PanelSteps, InMemory);
KILN_STREAM(BytesSU, PanelSteps, InMemory);
KILN_STREAM(BytesUS, PanelSteps, InMemory);
KILN_STREAM(BytesUU, PanelSteps, InMemory);
KILN_STREAM(Dot<float>, AnySteps, InPages);
KILN_STREAM(Dot<bf16>, PanelSteps, InPages);
#if KILN_HAS_BF16_PAIRS
KILN_STREAM(Dot<bf16>, AnySteps, InMemory);
KILN_STREAM(Dot<bf16>, AnySteps, InPages);
#endif
#undef KILN_FEW_COLUMNS
#define KILN_FEW_COLUMNS(D)                                                             \
  KILN_PACKING void AddFewColumns<D, ViewOfA<D::KGroup>, ViewOfB<D::KGroup>,            \
                                  ViewOfB<D::KGroup, kCanReadUnpackedB<D, D::B>>>(      \
      const ViewOfB<D::KGroup>&, const ViewOfB<D::KGroup, kCanReadUnpackedB<D, D::B>>&, \
      size_t strip, size_t rows, D::Acc* sums, size_t sums_stride)
KILN_FEW_COLUMNS(Dot<float>);
KILN_FEW_COLUMNS(Dot<bf16>);
KILN_FEW_COLUMNS(BytesSS);
KILN_FEW_COLUMNS(BytesSU);
KILN_FEW_COLUMNS(BytesUS);
KILN_FEW_COLUMNS(BytesUU);

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
#if KILN_HAS_BF16_PAIRS
KILN_ADD_TILES(Dot<bf16>, AnySteps, bf16);
#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
