// A product of few rows of A with an unpacked B whose columns are contiguous, as the weights in
// dot(x, w.T): a line of each of some columns becomes vectors of k-groups in registers, which all
// rows of A multiply. Panels of B, which is used once, would be written and read once more.
#if defined(KILN_FEW_ROWS_BY_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_ROWS_BY_COLUMNS_INL_H_
#undef KILN_FEW_ROWS_BY_COLUMNS_INL_H_
#else
#define KILN_FEW_ROWS_BY_COLUMNS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "kiln/core/version.h"
#include "kiln/dot/few/integers_by_columns-inl.h"
#include "kiln/dot/few/streamed-inl.h"
#include "kiln/dot/few/sums-inl.h"
#include "kiln/dot/k_groups-inl.h"
#include "kiln/simd/stream-inl.h"
#include "kiln/simd/transpose-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether a product of few rows reads a B of T along its columns.
template <class Dot, typename T>
constexpr bool kStreamsColumns =
    kMayStreamB<Dot, T>&& kTransposes<hn::ScalableTag<typename Dot::KGroup>>;

/// Columns of a square.
template <class Dot>
constexpr size_t kColumnsAtOnce = hn::MaxLanes(hn::ScalableTag<typename Dot::KGroup>());

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

/// A square of k-groups: as many of as many columns of B as a vector has lanes, each k-group's
/// columns in a vector.
template <class Dot>
class SquareOfB {
  using KGroup = typename Dot::KGroup;

 public:
  /// column(i) is where those of a column begin.
  template <class Column>
  HWY_INLINE explicit SquareOfB(const Column& column) {
    Transpose(
        D(),
        [&](size_t i) KILN_INLINE_ATTR {
          return Flip<Dot>(KGroupsAlong<Dot>(D(), column(i), 0), Dot::kFlip);
        },
        [&](V v, size_t i) KILN_INLINE_ATTR { of_[i] = v; });
  }

  /// Adds the products of the first `count` k-groups: those of a row of A are kToK apart, `at`
  /// k-groups after where it begins. Rows take turns, as a sum waits for the product before.
  template <size_t kToK, bool kAll>
  HWY_INLINE void AddTo(const KGroup* const* a, size_t rows, size_t at, size_t count,
                        typename Dot::Acc* sums, size_t sums_stride) const {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4)
      AddRows<4, kToK, kAll>(a + r, at, count, sums + r * sums_stride, sums_stride);
    for (; r < rows; ++r)
      AddRows<1, kToK, kAll>(a + r, at, count, sums + r * sums_stride, sums_stride);
  }

 private:
  using D = hn::ScalableTag<KGroup>;
  using V = hn::Vec<D>;
  static constexpr size_t kLanes = kColumnsAtOnce<Dot>;

  template <size_t kRows, size_t kToK, bool kAll>
  HWY_INLINE void AddRows(const KGroup* const* a, size_t at, size_t count, typename Dot::Acc* sums,
                          size_t sums_stride) const {
    const hn::ScalableTag<typename Dot::Acc> d;
    const KGroup* groups[kRows];
    hn::Vec<decltype(d)> sum[kRows];
    Unrolled<kRows>([&](auto r) KILN_INLINE_ATTR {
      groups[r] = a[r] + at;
      sum[r] = hn::Load(d, sums + r * sums_stride);
    });
    const auto add = [&](size_t i) KILN_INLINE_ATTR {
      Unrolled<kRows>([&](auto r) KILN_INLINE_ATTR {
        Dot::StepRow(groups[r][i * kToK], of_[i], NoColumns(), NoColumns(), sum[r], sum[r], sum[r]);
      });
    };
    if constexpr (kAll) {
      Unrolled<kLanes>(add);
    } else {
      for (size_t i = 0; i < count; ++i) add(i);
    }
    Unrolled<kRows>([&](auto r) KILN_INLINE_ATTR { hn::Store(sum[r], d, sums + r * sums_stride); });
  }

  V of_[kLanes];
};

/// AddStreamedColumns of rows of A whose k-groups are kToK apart, and `to_square` those of a square
/// and of the next.
template <class Dot, size_t kToK, class Columns>
HWY_INLINE void AddColumns(const typename Dot::KGroup* const* a, size_t rows, size_t to_square,
                           Columns b, size_t b_rows, size_t cols, typename Dot::Acc* sums,
                           size_t sums_stride) {
  using T = std::remove_cvref_t<decltype(*b.first)>;
  constexpr size_t kLanes = kColumnsAtOnce<Dot>;
  constexpr size_t kStep = kLanes * Dot::kKPerGroup, kLine = kLineBytes / sizeof(T);
  constexpr size_t kMostVectors = 2;
  constexpr int64_t kAhead = 16 * int64_t{kLine};
  // Squares take turns, as sums wait. Of what is in memory a core foresees 16 columns better than
  // 32, unless they share a set of the L1; and those of many rows need no turns (f32, Zen 3, one
  // row, columns of 4000 bytes and more: eight take 1.15 to 1.3 times as long).
  const bool far = b.IsFar(), takes_turns = rows <= 2 && !ShareSets(b);
  const size_t most = !far          ? kMostVectors
                      : takes_turns ? HWY_MIN(HWY_MAX(16 / kLanes, 1), kMostVectors)
                                    : 1;
  const size_t whole = b_rows / kStep * kStep;
  HWY_ALIGN T copy[kLanes * kStep];
  for (size_t c = 0; c < cols; c += most * kLanes) {
    // Columns that a vector lacks are the last one again, and count nowhere.
    const size_t count = HWY_MIN(cols - c, most * kLanes), vectors = DivUp(count, kLanes);
    const T* column[kMostVectors * kLanes];
    for (size_t i = 0; i < vectors * kLanes; ++i) column[i] = b.At(c + HWY_MIN(i, count - 1));
    const int64_t to_next =
        static_cast<int64_t>(most * kLanes) * b.apart - static_cast<int64_t>(b_rows);
    for (size_t k = 0; k < whole; k += kStep) {
      const bool in_these = static_cast<int64_t>(k) + kAhead < static_cast<int64_t>(b_rows);
      const int64_t ahead = kAhead + (in_these ? 0 : to_next);
      for (size_t i = 0; far && k % kLine == 0 && i < vectors * kLanes; ++i)
        PrefetchToL2(column[i] + (static_cast<int64_t>(k) + ahead));
      for (size_t v = 0; v < vectors; ++v) {
        const T* const* const from = column + v * kLanes;
        const SquareOfB<Dot> square([&](size_t i) KILN_INLINE_ATTR { return from[i] + k; });
        square.template AddTo<kToK, true>(a, rows, k / kStep * to_square, kLanes,
                                          sums + c + v * kLanes, sums_stride);
        b.Ask(kLanes * kStep * sizeof(T));
      }
    }
    if (whole == b_rows) continue;
    memset(static_cast<void*>(copy), 0, sizeof(copy));
    for (size_t v = 0; v < vectors; ++v) {
      for (size_t i = 0; i < kLanes; ++i)
        memcpy(static_cast<void*>(copy + i * kStep), column[v * kLanes + i] + whole,
               (b_rows - whole) * sizeof(T));
      const SquareOfB<Dot> square([&](size_t i) KILN_INLINE_ATTR { return copy + i * kStep; });
      square.template AddTo<kToK, false>(a, rows, whole / kStep * to_square,
                                         KGroupsOf<Dot>(b_rows - whole), sums + c + v * kLanes,
                                         sums_stride);
    }
  }
}

/// AddStreamedColumns by squares, each sum in the order of K. Rows of A that are half a page apart
/// are in few sets of the L1, together with what is asked for of B. Where a line of one is read for
/// more than one square, more than a few are copied as they will be read (K = 4096, AVX2: 16 rows
/// take half of the time).
template <class Dot, class A, class Columns>
HWY_INLINE void AddBySquares(const A& a, size_t row, size_t rows, size_t k, Columns b,
                             size_t b_rows, size_t cols, typename Dot::Acc* sums,
                             size_t sums_stride) {
  using KGroup = typename Dot::KGroup;
  constexpr size_t kLanes = kColumnsAtOnce<Dot>, kStep = kLanes * Dot::kKPerGroup;
  const KGroup* of_a[kRowsAtATime];
  for (size_t r = 0; r < rows; ++r)
    of_a[r] = a.At(row + r) + static_cast<ptrdiff_t>(k / Dot::kKPerGroup) * a.ToK();
  if (std::is_same_v<typename A::ItsSteps, PanelSteps> || a.ToK() != 1) {
    return AddColumns<Dot, kPanelRows>(of_a, rows, kLanes * kPanelRows, b, b_rows, cols, sums,
                                       sums_stride);
  }
  constexpr size_t kMaxRowsInPlace = 4;
  constexpr size_t kCopied = 8192, kHalfPage = 2048 / sizeof(KGroup);  // k-groups
  const bool share_sets =
      rows > kMaxRowsInPlace && static_cast<size_t>(of_a[1] - of_a[0]) % kHalfPage == 0;
  if (kLanes * sizeof(KGroup) >= kLineBytes || !share_sets)
    return AddColumns<Dot, 1>(of_a, rows, kLanes, b, b_rows, cols, sums, sums_stride);
  HWY_ALIGN KGroup copy[kCopied];
  const KGroup* of_copy[kRowsAtATime];
  for (size_t r = 0; r < rows; ++r) of_copy[r] = copy + r * kLanes;
  const size_t squares = kCopied / kLanes / rows;
  for (size_t begin = 0; begin < b_rows; begin += squares * kStep) {
    const size_t piece = HWY_MIN(b_rows - begin, squares * kStep), groups = KGroupsOf<Dot>(piece);
    for (size_t g = 0; g < groups; g += kLanes) {
      for (size_t r = 0; r < rows; ++r) {
        memcpy(copy + g * rows + r * kLanes, of_a[r] + begin / Dot::kKPerGroup + g,
               HWY_MIN(groups - g, kLanes) * sizeof(KGroup));
      }
    }
    AddColumns<Dot, 1>(of_copy, rows, rows * kLanes, b.From(begin), piece, cols, sums, sums_stride);
  }
}

/// Whether sums of integers, which have no order, are nevertheless added up by squares: 16 columns
/// that are read at once come from memory in less time than four or eight, as long as they do not
/// share a set of the L1 (Zen 4, columns of 5120 to 13824 bytes: one row 0.85 to 0.95, two 0.8; of
/// 4096 and 8192 1.3 to 2).
template <class Dot, class Columns>
HWY_INLINE bool SquaresPay(size_t rows, const Columns& b) {
  return kColumnsAtOnce<Dot> == 16 && b.IsOutOfCaches() && rows <= 4 && !ShareSets(b);
}

/// The sums of a strip of columns over `b_rows` elements of K from `k` on, the first of a k-group;
/// `b` begins with the first of these elements of the first column.
template <class Dot, class A, class Columns>
HWY_NOINLINE void AddStreamedColumns(const A& a, size_t row, size_t rows, size_t k, Columns b,
                                     size_t b_rows, size_t cols, typename Dot::Acc* sums,
                                     size_t sums_stride) {
  if constexpr (std::is_integral_v<typename Dot::Acc>) {
    if (!SquaresPay<Dot>(rows, b))
      return AddIntegersByColumns<Dot>(a, row, rows, k, b, b_rows, cols, sums, sums_stride);
  }
  AddBySquares<Dot>(a, row, rows, k, b, b_rows, cols, sums, sums_stride);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
