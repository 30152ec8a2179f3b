// Packing: from a matrix anywhere in memory to the panels of a dot. Everything irregular (edges,
// pads, conversions, strides) happens while a small rectangle is fetched; the four functions that
// arrange its k-groups then see plain rows.
//
//   panel of A   [k-group][4 rows of A], then 4 start values of StartRow
//   panel of B   [k-group][a few vectors of columns of B], then one unused row
//   A for AMX    [row of A][k-group], with zeros up to a whole line
//
// A k-group is the 2 (16-bit) or 4 (8-bit) neighbours along k that one instruction multiplies, as
// in VNNI and on a TPU, or fewer that are widened (k_groups-inl.h).
#if defined(KILN_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_PACK_INL_H_
#undef KILN_PACK_INL_H_
#else
#define KILN_PACK_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "kiln/core/blocks.h"
#include "kiln/core/version.h"
#include "kiln/dot/k_groups-inl.h"
#include "kiln/dot/tiles-inl.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/prefetch.h"
#include "kiln/simd/transpose-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A matrix to be packed: (rows, k) of A, (k, columns) of B.
template <typename T>
struct Source {
  const T* data;  // element (0, 0) of the block, even if that is outside of the array
  int64_t stride[2];
  size_t low[2], high[2];  // what is read; the rest is `pad`
  size_t extent[2];        // what is packed; past it k-groups are filled up with zeros
  T pad;

  Source Transposed() const {
    return {
        data, {stride[1], stride[0]}, {low[1], low[0]}, {high[1], high[0]}, {extent[1], extent[0]},
        pad};
  }
  Source Rows(size_t first, size_t count) const {
    return Transposed().Columns(first, count).Transposed();
  }
  /// `count` columns from `first` on, or as many of them as there are.
  Source Columns(size_t first, size_t count) const {
    const auto within = [=](size_t c) { return HWY_MIN(HWY_MAX(c, first) - first, count); };
    Source columns = *this;
    columns.data += static_cast<int64_t>(first) * stride[1];
    columns.low[1] = within(low[1]), columns.high[1] = within(high[1]);
    columns.extent[1] = within(extent[1]);
    return columns;
  }
  /// How many columns of rows from r on, the first ones, are neighbours in memory.
  size_t ColumnsInPlace(size_t r, size_t rows) const {
    const bool inside = low[0] <= r && r + rows <= high[0] && low[1] == 0 && stride[1] == 1;
    return inside ? high[1] : 0;
  }
  /// Whether the first dimension is the contiguous one.
  bool IsTransposed() const { return stride[0] == 1 && stride[1] != 1; }
};

/// Copies or converts a piece of one dimension.
template <typename T, typename As>
HWY_NOINLINE void FetchRow(const T* from, int64_t stride, size_t count, As* to) {
  if constexpr (std::is_same_v<T, As>) {
    if (stride == 1) {
      memcpy(static_cast<void*>(to), from, count * sizeof(T));
    } else {
      for (size_t i = 0; i < count; ++i) to[i] = from[static_cast<int64_t>(i) * stride];
    }
  } else {
    ForLanes(hn::ScalableTag<float>(), count, [&](auto at, size_t i) HWY_ATTR {
      if (stride == 1) {
        at.Store(at.Load(from + i), to + i);
      } else {
        at.Store(at.LoadStrided(from + static_cast<int64_t>(i) * stride, stride), to + i);
      }
    });
  }
}

/// A rectangle of a source.
template <typename As>
struct Fetched {
  const As* data;
  int64_t stride;
};

/// The rectangle in place if it can be read there, else copied to `buffer`.
template <typename As, typename T>
HWY_INLINE Fetched<As> Fetch(const Source<T>& from, size_t r, size_t c, size_t rows, size_t cols,
                             As* HWY_RESTRICT buffer) {
  const auto at = [&](size_t i, size_t j) {
    return from.data + static_cast<int64_t>(i) * from.stride[0] +
           static_cast<int64_t>(j) * from.stride[1];
  };
  if constexpr (std::is_same_v<T, As>) {
    const bool inside = from.low[0] <= r && r + rows <= from.high[0] && from.low[1] <= c &&
                        c + cols <= from.high[1];
    if (inside && from.stride[1] == 1) return {at(r, c), from.stride[0]};
  }
  const size_t end = HWY_MIN(c + cols, HWY_MAX(from.extent[1], c));  // then zeros
  const size_t low = HWY_MIN(HWY_MAX(from.low[1], c), end);
  const size_t high = HWY_MIN(HWY_MAX(from.high[1], low), end);
  for (size_t i = r; i < r + rows; ++i) {
    As* const row = buffer + (i - r) * cols;
    const bool exists = i < from.extent[0];
    const bool inside = exists && from.low[0] <= i && i < from.high[0];
    if (inside && low == c && high == end) {
      FetchRow(at(i, c), from.stride[1], end - c, row);
    } else if (exists) {
      FetchRow(&from.pad, 0, end - c, row);
      if (inside && low < high) FetchRow(at(i, low), from.stride[1], high - low, row + (low - c));
    }
    const size_t zeros = exists ? end - c : 0;
    memset(static_cast<void*>(row + zeros), 0, (cols - zeros) * sizeof(As));
  }
  return {buffer, static_cast<int64_t>(cols)};
}

/// Prefetches the line of an element, which need not be inside the array. Elements of four bytes
/// are in so many lines of so many rows that the hardware prefetcher does not reach far enough.
template <typename T>
HWY_INLINE void PrefetchAt(const T* row, size_t i, int64_t ahead) {
  PrefetchToL1(reinterpret_cast<const char*>(row) +
               (static_cast<int64_t>(i) + ahead) * static_cast<int64_t>(sizeof(T)));
}

/// A, k contiguous: `count` k-groups of 4 rows.
template <class D, typename T>
HWY_INLINE void PackAAlongK(Fetched<T> from, size_t count, typename D::KGroup* HWY_RESTRICT to) {
  using KGroup = typename D::KGroup;
  const hn::ScalableTag<KGroup> d;
  const T* rows[kPanelRows];
  for (size_t r = 0; r < kPanelRows; ++r)
    rows[r] = from.data + static_cast<int64_t>(r) * from.stride;
  const auto load = [&](size_t r, size_t k) HWY_ATTR { return KGroupsAlong<D>(d, rows[r], k); };
  size_t k = 0;
  for (; k + hn::Lanes(d) <= count; k += hn::Lanes(d)) {
    if constexpr (sizeof(T) == sizeof(KGroup)) {  // the next panel
      for (const T* row : rows) PrefetchAt(row, k, 4 * from.stride);
    }
    hn::StoreInterleaved4(load(0, k), load(1, k), load(2, k), load(3, k), d, to + kPanelRows * k);
  }
  for (; k < count; ++k) {
    for (size_t r = 0; r < kPanelRows; ++r) to[kPanelRows * k + r] = KGroupAt<D>(rows[r], k);
  }
}

/// A, rows contiguous: `count` k-groups of `rows` rows, a multiple of 4; panels are `panel` apart.
template <class D, typename T>
HWY_INLINE void PackAAcrossK(Fetched<T> from, size_t count, size_t rows, size_t panel,
                             typename D::KGroup* HWY_RESTRICT to) {
  const auto load = [&](auto d, size_t k, size_t row) HWY_ATTR {
    const T* const first = from.data + static_cast<int64_t>(ElementOf<D>(k)) * from.stride;
    return KGroupsAcross<D>(d, first + row, from.stride);
  };
  size_t row = 0;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(typename D::KGroup) == 4) {  // 4 groups of 4 panels: a line of each
    const hn::ScalableTag<typename D::KGroup> d;
    for (; count == 4 && row + 16 <= rows; row += 16, to += 4 * panel) {
      auto v_0 = load(d, 0, row), v_1 = load(d, 1, row), v_2 = load(d, 2, row),
           v_3 = load(d, 3, row);
      TransposeBlocks(d, v_0, v_1, v_2, v_3);
      hn::StoreU(v_0, d, to + 0 * panel);
      hn::StoreU(v_1, d, to + 1 * panel);
      hn::StoreU(v_2, d, to + 2 * panel);
      hn::StoreU(v_3, d, to + 3 * panel);
    }
  }
#endif
  const hn::CappedTag<typename D::KGroup, kPanelRows> d;
  for (; row < rows; row += kPanelRows, to += panel) {
    for (size_t k = 0; k < count; ++k) {
      for (size_t r = 0; r < kPanelRows; r += hn::Lanes(d)) {
        hn::StoreU(load(d, k, row + r), d, to + kPanelRows * k + r);
      }
    }
  }
}

/// B, columns contiguous: one k-group of the `width` columns of a panel. at(c) is the first element
/// of column c and those after it, or nothing where all of a vector's are zeros.
template <class D, class At>
HWY_INLINE void PackBAcrossK(const At& at, size_t width, typename D::KGroup* HWY_RESTRICT to) {
  const hn::ScalableTag<typename D::KGroup> d;
  const uint32_t flip = FlipOf<D>();
  for (size_t c = 0; c < width; c += hn::Lanes(d)) {
    const auto from = at(c);
    if (HWY_UNLIKELY(from.data == nullptr)) {
      hn::Store(Flip<D>(hn::Zero(d), flip), d, to + c);
      continue;
    }
    const int64_t ahead = static_cast<int64_t>(4 * D::kKPerGroup) * from.stride;
    for (size_t r = 0; r < D::kKPerGroup && c * sizeof(*from.data) % kLineBytes == 0; ++r) {
      PrefetchAt(from.data + static_cast<int64_t>(r) * from.stride, 0, ahead);
    }
    hn::Store(Flip<D>(KGroupsAcross<D>(d, from.data, from.stride), flip), d, to + c);
  }
}

/// A matrix of as many rows of k-groups as vectors have lanes, transposed in registers. `load(i)`
/// is a row of what is read.
template <class DW, class Load, typename KGroup>
HWY_INLINE void TransposeTo(DW d, const Load& load, KGroup* HWY_RESTRICT to, size_t to_stride) {
  Transpose(d, load,
            [=](hn::Vec<DW> v, size_t k) HWY_ATTR { hn::StoreU(v, d, to + k * to_stride); });
}

/// N groups of 4 columns where vectors are short, through memory.
template <class DW, class Load, typename KGroup>
HWY_INLINE void Transpose4(DW d, const Load& load, KGroup* HWY_RESTRICT to, size_t to_stride) {
  HWY_ALIGN KGroup groups[4 * hn::MaxLanes(DW())];
  hn::StoreInterleaved4(load(0), load(1), load(2), load(3), d, groups);
  for (size_t k = 0; k < hn::Lanes(d); ++k) {
    memcpy(to + k * to_stride, groups + 4 * k, 4 * sizeof(KGroup));
  }
}

#if HWY_TARGET == HWY_AVX3_DL
/// A for AMX, rows contiguous: 16 k-groups of each of `rows`, which are `to_row` apart.
template <class D, typename T>
HWY_INLINE void PackRowsAcrossK(Fetched<T> from, size_t rows, size_t to_row,
                                typename D::KGroup* HWY_RESTRICT to) {
  using KGroup = typename D::KGroup;
  const hn::ScalableTag<KGroup> d;
  const auto load = [&](size_t k, size_t row) HWY_ATTR {
    const T* const first = from.data + static_cast<int64_t>(ElementOf<D>(k)) * from.stride;
    return KGroupsAcross<D>(d, first + row, from.stride);
  };
  for (size_t row = 0; row < rows; row += kAmxRows) {
    const auto load_here = [&](size_t k) HWY_ATTR { return load(k, row); };
    if (row + kAmxRows <= rows) {
      TransposeTo(d, load_here, to + row * to_row, to_row);
      continue;
    }
    HWY_ALIGN KGroup copy[kAmxRows * kAmxKGroups];
    TransposeTo(d, load_here, copy, kAmxKGroups);
    for (size_t i = row; i < rows; ++i)
      memcpy(to + i * to_row, copy + (i - row) * kAmxKGroups, kAmxKGroups * sizeof(KGroup));
  }
}
#endif

/// B, k contiguous: `count` k-groups of a panel of `cols` columns. The elements that are `ahead`
/// further on along k are asked for, unless that is 0.
template <class D, typename T>
HWY_INLINE void PackBAlongK(Fetched<T> from, size_t count, size_t cols, int64_t ahead,
                            typename D::KGroup* HWY_RESTRICT to) {
  using KGroup = typename D::KGroup;
  const hn::ScalableTag<KGroup> d;
  const size_t n = hn::Lanes(d);
  const uint32_t flip = FlipOf<D>();
  const auto one_by_one = [&](size_t begin, size_t end, size_t first_column) HWY_ATTR {
    for (size_t k = begin; k < end; ++k) {
      for (size_t c = first_column; c < cols; ++c) {
        KGroup group = KGroupAt<D>(from.data + static_cast<int64_t>(c) * from.stride, k);
        if constexpr (D::kFlip != 0) group ^= static_cast<int32_t>(flip);
        to[k * cols + c] = group;
      }
    }
  };
  size_t k = 0;
  if constexpr (HWY_TARGET != HWY_SCALAR) {
    constexpr size_t kLine = kLineBytes / sizeof(T);
    for (; k + n <= count; k += n) {
      KGroup* const out = to + k * cols;
      const size_t element = k * D::kKPerGroup;
      for (size_t c = 0; ahead != 0 && element % kLine == 0 && c < cols; ++c) {
        PrefetchToL2(from.data + static_cast<int64_t>(c) * from.stride +
                     (static_cast<int64_t>(element) + ahead));
      }
      const auto column = [&](size_t c) HWY_ATTR {
        const T* const first = from.data + static_cast<int64_t>(c) * from.stride;
        return Flip<D>(KGroupsAlong<D>(d, first + k * D::kKPerGroup, 0), flip);
      };
      size_t c = 0;
      if constexpr (kTransposes<hn::ScalableTag<KGroup>>) {
        for (; c + n <= cols; c += n) {
          TransposeTo(
              d, [&](size_t i) HWY_ATTR { return column(c + i); }, out + c, cols);
        }
      }
      for (; c + 4 <= cols; c += 4) {
        Transpose4(
            d, [&](size_t i) HWY_ATTR { return column(c + i); }, out + c, cols);
      }
      one_by_one(k, k + n, c);  // three vectors of two lanes are six columns
    }
  }
  one_by_one(k, count, 0);
}

/// KC of packed operands of a dot of As, where the spec's is `own`. `rows`: M, if it may be small.
/// `few_columns`: whether N is so small that to pack A takes as long as to multiply it.
template <class As>
int64_t DepthFor(const Cpu& cpu, int64_t own, int64_t depth, int64_t rows = kUnknownRows,
                 bool few_columns = false) {
  using D = DotOf<As>;
  constexpr int64_t kPackedBytes{sizeof(typename D::KGroup) / D::kKPerGroup};
  const KCBytes bytes = KCBytesFor(cpu, kTilesOf8Rows, /*long_rows=*/few_columns);
  const int64_t chosen = ChooseKC(depth, kPackedBytes, bytes.most, bytes.single, rows);
  if (!UsesAmx<D>()) return chosen;
  // Blocks of both sizes have to end between two of its instructions, if they end before K does.
  constexpr int64_t kStep{kAmxKGroups * D::kKPerGroup};
  return own % kStep == 0 || own >= depth ? RoundUp(chosen, kStep) : own;
}

/// The same where B may be read along its columns: memory is fastest along long ones, but what all
/// rows of A have of them is to stay in the L2.
template <class As>
int64_t DepthAlongColumns(const Cpu& cpu, int64_t own, int64_t depth, int64_t rows) {
  using D = DotOf<As>;
  if (rows > FewRows<D>(/*by_columns=*/true)) return DepthFor<As>(cpu, own, depth, rows);
  constexpr int64_t kBytes{sizeof(typename D::KGroup) / D::kKPerGroup};
  const int64_t most = cpu.l2_bytes / 4 / HWY_MAX(rows, int64_t{1});
  return ChooseKC(depth, kBytes, most, most, kUnknownRows);
}

/// The same where B may be read unpacked, with rows that are `stride` elements apart.
template <class As>
int64_t DepthFor(const Cpu& cpu, int64_t own, int64_t depth, int64_t rows, int64_t stride) {
  using B = typename DotOf<As>::B;
  constexpr int64_t kBytes{sizeof(B)};
  const BAccess access = ChooseBAccess<DotOf<As>, B>(cpu, rows, depth, stride);
  constexpr int64_t kNarrow = 128;  // which a row of B cannot have more of than it is long
  if (0 < stride && stride <= FewColumns(/*transposed=*/false))  // and A is read along its rows
    return DepthAlongColumns<As>(cpu, own, depth, stride);
  if (access == BAccess::kPacked)
    return DepthFor<As>(cpu, own, depth, rows, 0 < stride && stride <= kNarrow);
  if (access == BAccess::kUnpackedRows) return DepthFor<As>(cpu, own, depth);
  const KCBytes bytes = KCBytesFor(cpu, kTilesOf8Rows, /*long_rows=*/true);
  const auto unpacked = [&](int64_t most) {
    return UnpackedKCBytes(cpu, depth, stride * kBytes, most);
  };
  return ChooseKC(depth, kBytes, unpacked(bytes.most), unpacked(bytes.single), kUnknownRows);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
