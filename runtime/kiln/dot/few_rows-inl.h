// A product of few rows of A with an unpacked B, row by row of B as in a GEMV. Packing B, which is
// used once, would take longer than reading it.
#if defined(KILN_FEW_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_ROWS_INL_H_
#undef KILN_FEW_ROWS_INL_H_
#else
#define KILN_FEW_ROWS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "hwy/cache_control.h"
#include "kiln/core/blocks.h"
#include "kiln/dot/k_groups-inl.h"
#include "kiln/simd/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kMaxStreamedRows = 32;  // of A, at a time

/// Bytes are always packed: making their k-groups takes as long as packing does.
template <class D>
constexpr bool kCanStreamRows = sizeof(typename D::B) > 1;
/// Columns of a strip, whose sums stay in the L1 beside the rows of B that are prefetched: 1 KiB of
/// each for up to 16 rows of A. With the fewest rows memory is the limit, which is fastest along
/// long pieces.
constexpr size_t kStripCols = 256, kMostStripCols = 16 * kStripCols;
template <typename T>
constexpr size_t StripCols(size_t rows) {
  if (rows <= size_t{kFewestRows}) return kMostStripCols;
  return rows <= kMaxStreamedRows / 2 ? HWY_MAX(1024 / sizeof(T), kStripCols) : kStripCols;
}
/// From a row of sums to the next: no power of two, so that rows use different cache sets.
constexpr size_t SumsStride(size_t strip_cols) { return strip_cols + 16; }

/// K-groups that are multiplied at a time.
constexpr size_t kDeep = 4;
/// Of each row of A.
template <typename KGroup>
using KGroupsOfRows = KGroup[kMaxStreamedRows][kDeep];

/// `count` k-groups of rows of A, from k on.
template <class A, typename KGroup>
HWY_INLINE void LoadKGroups(const A& a, size_t row, size_t rows, size_t k, size_t count,
                            KGroupsOfRows<KGroup>& groups) {
  for (size_t r = 0; r < rows; ++r) {
    const KGroup* const from = a.At(row + r) + static_cast<ptrdiff_t>(k) * a.to_k;
    if (count == kDeep && a.to_k == 1) {
      memcpy(groups[r], from, sizeof(groups[r]));
    } else {
      for (size_t i = 0; i < count; ++i) groups[r][i] = from[static_cast<ptrdiff_t>(i) * a.to_k];
    }
  }
}

/// sums[r][c] += groups[r][i] B[i][c] for each k-group i in turn from `first` on, as register tiles
/// do; kGroups are 4 or 1. `b` is the row of group 0; `cols` are whole pairs of vectors. Prefetches
/// the rows of B that are `ahead` elements further on.
template <class Dot, size_t kGroups, typename T>
HWY_INLINE void AddKGroups(const KGroupsOfRows<typename Dot::KGroup>& groups, size_t first,
                           size_t rows, const T* b, int64_t stride, int64_t ahead, size_t cols,
                           typename Dot::Acc* sums, size_t sums_stride) {
  constexpr size_t kLine = kLineBytes / sizeof(T);  // elements
  const hn::ScalableTag<typename Dot::KGroup> dw;
  const hn::ScalableTag<typename Dot::Acc> d;
  const size_t n = hn::Lanes(d);
  const auto load = [&](size_t i, size_t c) HWY_ATTR {
    const T* const row = b + static_cast<int64_t>(ElementOf<Dot>(first + i % kGroups)) * stride;
    return KGroupsAcross<Dot>(dw, row + c, stride);
  };
  for (size_t c = 0; c < cols; c += 2 * n) {
    for (size_t i = 0; ahead != 0 && c % kLine == 0 && i < kDeep * Dot::kKPerGroup; ++i) {
      const T* const row = b + static_cast<int64_t>(i) * stride + ahead + c;
      hwy::Prefetch(row);
      if (kLine < 2 * n) hwy::Prefetch(row + kLine);
    }
    const auto b_00 = load(0, c), b_01 = load(0, c + n);
    const auto b_10 = load(1, c), b_11 = load(1, c + n);
    const auto b_20 = load(2, c), b_21 = load(2, c + n);
    const auto b_30 = load(3, c), b_31 = load(3, c + n);
    for (size_t r = 0; r < rows; ++r) {
      auto* const to = sums + r * sums_stride + c;
      auto sum_0 = hn::Load(d, to), sum_1 = hn::Load(d, to + n);
      const auto step = [&](auto a, auto b_0, auto b_1) HWY_ATTR {
        Dot::StepRow(a, b_0, b_1, NoColumns(), sum_0, sum_1, sum_1);
      };
      step(groups[r][first], b_00, b_01);
      if constexpr (kGroups == 4) {
        step(groups[r][1], b_10, b_11);
        step(groups[r][2], b_20, b_21);
        step(groups[r][3], b_30, b_31);
      }
      hn::Store(sum_0, d, to);
      hn::Store(sum_1, d, to + n);
    }
  }
}

/// The sums of a strip of columns over all of K, a few rows of B at a time. Rows or columns that a
/// k-group or a vector lacks are zeros in a copy.
template <class Dot, class A, typename T>
HWY_NOINLINE void AddStreamedRows(const A& a, size_t row, size_t rows, const T* b, size_t b_rows,
                                  int64_t stride, size_t cols, typename Dot::Acc* sums,
                                  size_t sums_stride) {
  constexpr size_t kStep = kDeep * Dot::kKPerGroup;
  const size_t two = 2 * hn::Lanes(hn::ScalableTag<typename Dot::Acc>());
  const size_t whole = cols / two * two;
  KGroupsOfRows<typename Dot::KGroup> groups;
  HWY_ALIGN T copy[kStep * kMostStripCols];
  const auto add_copied = [&](const T* from, size_t from_rows, size_t c) HWY_ATTR {
    const size_t width = RoundUp(cols - c, two);
    memset(static_cast<void*>(copy), 0, kStep * width * sizeof(T));
    for (size_t i = 0; i < from_rows; ++i) {
      memcpy(static_cast<void*>(copy + i * width), from + static_cast<int64_t>(i) * stride + c,
             (cols - c) * sizeof(T));
    }
    const auto copied = static_cast<int64_t>(width);
    if (from_rows == kStep) {
      AddKGroups<Dot, kDeep>(groups, 0, rows, copy, copied, /*ahead=*/0, width, sums + c,
                             sums_stride);
      return;
    }
    for (size_t i = 0; i < KGroupsOf<Dot>(from_rows); ++i) {
      AddKGroups<Dot, 1>(groups, i, rows, copy, copied, /*ahead=*/0, width, sums + c, sums_stride);
    }
  };
  for (size_t k = 0; k < b_rows; k += kStep) {
    const T* const from = b + static_cast<int64_t>(k) * stride;
    const size_t left = b_rows - k;
    const size_t count = HWY_MIN(kDeep, KGroupsOf<Dot>(left));
    LoadKGroups(a, row, rows, k / Dot::kKPerGroup, count, groups);
    if (left < kStep) return add_copied(from, left, 0);
    // Along long strips the hardware prefetcher does better by itself.
    const bool prefetches = rows > size_t{kFewestRows};
    const auto ahead = prefetches ? static_cast<int64_t>(HWY_MIN(kStep, left - kStep)) * stride : 0;
    AddKGroups<Dot, kDeep>(groups, 0, rows, from, stride, ahead, whole, sums, sums_stride);
    if (whole < cols) add_copied(from, kStep, whole);
  }
}

/// What MultiplyTiles does. `d` is the tag that `start` and `finish` are called for.
template <class Dot, class D, class A, class B, class Start, class Finish>
HWY_INLINE void MultiplyStreamed(D d, size_t begin, size_t end, const A& a, const B& b,
                                 const Start& start, const Finish& finish) {
  using Acc = typename Dot::Acc;
  const hn::ScalableTag<Acc> da;
  const auto* const elements = static_cast<const typename Dot::B*>(b.streamed);
  HWY_ALIGN Acc sums[kMaxStreamedRows * SumsStride(kStripCols)];
  // Parts of equal size, of which the later ones find the strip of B in the L2.
  const size_t most = DivUp(end - begin, HWY_MAX(DivUp(end - begin, kMaxStreamedRows), 1));
  const size_t strip_cols = StripCols<typename Dot::B>(most), sums_stride = SumsStride(strip_cols);
  for (size_t strip = 0; strip < b.cols; strip += strip_cols) {
    const size_t cols = HWY_MIN(strip_cols, b.cols - strip);
    for (size_t row = begin; row < end; row += most) {
      const size_t rows = HWY_MIN(most, end - row);
      const auto for_sums = [&](const auto& fn) HWY_ATTR {
        for (size_t r = 0; r < rows; ++r) {
          ForLanes(d, cols, [&](auto at, size_t c) HWY_ATTR {
            fn(at, sums + r * sums_stride + c, row + r, strip + c);
          });
        }
      };
      for_sums([&](auto at, Acc* sum, size_t r, size_t c)
                   HWY_ATTR { hn::Store(start(at, r, c), da, sum); });
      AddStreamedRows<Dot>(a, row, rows, elements + strip, b.rows, static_cast<int64_t>(b.stride),
                           cols, sums, sums_stride);
      for_sums([&](auto at, Acc* sum, size_t r, size_t c)
                   HWY_ATTR { finish(at, hn::Load(da, sum), r, c); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
