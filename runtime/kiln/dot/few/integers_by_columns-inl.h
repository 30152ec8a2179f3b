// A product of few rows of A with an unpacked B of integers whose columns are contiguous. Their
// sums are exact in any order, so that a vector adds up along a column what its lanes hold, and no
// square has to be transposed.
#if defined(KILN_FEW_INTEGERS_BY_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_INTEGERS_BY_COLUMNS_INL_H_
#undef KILN_FEW_INTEGERS_BY_COLUMNS_INL_H_
#else
#define KILN_FEW_INTEGERS_BY_COLUMNS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "kiln/core/machine.h"
#include "kiln/core/version.h"
#include "kiln/dot/few/sums-inl.h"
#include "kiln/dot/k_groups-inl.h"
#include "kiln/simd/storage-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

/// Adds the products of rows of A, whose k-groups are contiguous, with columns of `depth` elements.
template <class Dot, typename T>
class IntegersByColumns {
  using KGroup = typename Dot::KGroup;
  using Acc = typename Dot::Acc;
  using D = hn::ScalableTag<KGroup>;
  static_assert(std::is_integral_v<Acc> && sizeof(Acc) == sizeof(KGroup));

 public:
  /// Columns are `apart` elements from each other; `far`: they have to be asked for.
  IntegersByColumns(const KGroup* const* a, size_t rows, size_t depth, int64_t apart, bool far)
      : a_(a), rows_(rows), depth_(depth) {
    constexpr size_t kAhead = 32 << 10, kMostAhead = 16;  // bytes, columns
    const size_t columns =
        RoundUp(HWY_MIN(DivUp(kAhead, depth * sizeof(T)), kMostAhead), ColumnsAtOnce());
    if (far) ahead_ = static_cast<int64_t>(columns) * apart;
  }

  /// Columns that are read at a time: so many sums are in registers.
  size_t ColumnsAtOnce() const { return ColumnsOf(RowsAtOnce(rows_)); }

  /// `count` columns, at most ColumnsAtOnce().
  void Add(const T* const* columns, size_t count, Acc* sums, size_t sums_stride) const {
    for (size_t row = 0; row < rows_;) {
      const size_t rows = RowsAtOnce(rows_ - row);
      Acc* const to = sums + row * sums_stride;
      if (rows == 4) {
        AddColumns<4>(row, columns, count, to, sums_stride);
      } else if (rows == 3) {
        AddColumns<3>(row, columns, count, to, sums_stride);
      } else if (rows == 2) {
        AddColumns<2>(row, columns, count, to, sums_stride);
      } else {
        AddColumns<1>(row, columns, count, to, sums_stride);
      }
      row += rows;
    }
  }

 private:
  // As many sums as registers have room for, and few lines in flight (Zen 4: 8 rows take 1.4 times
  // as long from memory in tiles of 8 x 2 as of 4 x 4).
  static constexpr size_t kMostRows = kTilesOf8Rows ? 4 : 2;
  static constexpr size_t ColumnsOf(size_t rows) {
    return 2 * rows <= kMostRows || rows == 1 ? 8 : 4;
  }
  static constexpr size_t kStep = hn::MaxLanes(D()) * Dot::kKPerGroup;  // elements

  static constexpr size_t RowsAtOnce(size_t rows) { return HWY_MIN(rows, kMostRows); }

  template <size_t kRows>
  HWY_INLINE void AddColumns(size_t row, const T* const* columns, size_t count, Acc* sums,
                             size_t sums_stride) const {
    constexpr size_t kColumns = ColumnsOf(kRows);
    size_t c = 0;
    for (; c + kColumns <= count; c += kColumns)
      AddTile<kRows, kColumns>(row, columns + c, sums + c, sums_stride);
    for (; c + 4 <= count; c += 4) AddTile<kRows, 4>(row, columns + c, sums + c, sums_stride);
    for (; c < count; ++c) AddTile<kRows, 1>(row, columns + c, sums + c, sums_stride);
  }

  template <size_t kRows, size_t kColumns>
  HWY_NOINLINE void AddTile(size_t row, const T* const* columns, Acc* sums,
                            size_t sums_stride) const {
    constexpr size_t kLine = kLineBytes / sizeof(T);
    const D d;
    hn::Vec<D> sum[kRows][kColumns];
    const KGroup* a[kRows];
    const T* column[kColumns];
    Unrolled<kRows>([&](auto r) KILN_INLINE_ATTR {
      a[r] = a_[row + r];
      Unrolled<kColumns>([&](auto c) KILN_INLINE_ATTR { sum[r][c] = hn::Zero(d); });
    });
    Unrolled<kColumns>([&](auto c) KILN_INLINE_ATTR { column[c] = columns[c]; });
    const auto step = [&](const auto& load_a, const auto& load_b) KILN_INLINE_ATTR {
      hn::Vec<D> b[kColumns];
      Unrolled<kColumns>([&](auto c) KILN_INLINE_ATTR { b[c] = load_b(column[c]); });
      Unrolled<kRows>([&](auto r) KILN_INLINE_ATTR {
        const auto groups = load_a(a[r]);
        Unrolled<kColumns>(
            [&](auto c) KILN_INLINE_ATTR { sum[r][c] = Dot::Step(groups, b[c], sum[r][c]); });
      });
    };
    const size_t whole = depth_ / kStep * kStep;
    for (size_t k = 0; k < whole; k += kStep) {
      if (ahead_ != 0 && k % kLine == 0) {
        Unrolled<kColumns>([&](auto c) KILN_INLINE_ATTR {
          PrefetchToL2(column[c] + (static_cast<int64_t>(k) + ahead_));
        });
      }
      step([&](const KGroup* groups)
               KILN_INLINE_ATTR { return hn::LoadU(d, groups + k / Dot::kKPerGroup); },
           [&](const T* elements) KILN_INLINE_ATTR { return Load(elements + k); });
    }
    if (whole < depth_) {
      // What lacks is zero in A.
      const size_t rest = depth_ - whole;
      step(
          [&](const KGroup* groups) KILN_INLINE_ATTR {
            return LoadFirst(d, groups + whole / Dot::kKPerGroup, KGroupsOf<Dot>(rest));
          },
          [&](const T* elements) KILN_INLINE_ATTR { return LoadLast(elements + whole, rest); });
    }
    Unrolled<kRows>([&](auto r) KILN_INLINE_ATTR {
      Acc* const to = sums + r * sums_stride;
      if constexpr (kColumns == 1) {
        *to += hn::GetLane(hn::SumOfLanes(d, sum[r][0]));
      } else {
        Unrolled<kColumns / 4>([&](auto c)
                                   KILN_INLINE_ATTR { AddLanes(&sum[r][4 * c], to + 4 * c); });
      }
    });
  }

  /// to[i] += the lanes of v[i], four at once.
  static HWY_INLINE void AddLanes(const hn::Vec<D>* v, Acc* to) {
    const D d;
    const hn::Repartition<uint64_t, D> d64;
    const auto pairs = [&](hn::Vec<D> a, hn::Vec<D> b) KILN_INLINE_ATTR {
      return hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
    };
    const auto low = pairs(v[0], v[1]), high = pairs(v[2], v[3]);
    const auto fours = hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, low, high)),
                               hn::BitCast(d, hn::InterleaveUpper(d64, low, high)));
    AddBlocks(d, fours, to);
  }

  /// to[i] += the lanes i of all blocks of 128 bits.
  template <class DV>
  static HWY_INLINE void AddBlocks(DV d, hn::Vec<DV> v, Acc* to) {
    if constexpr (hn::MaxLanes(d) > 4) {
      const hn::Half<DV> half;
      AddBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
    } else {
      hn::StoreU(hn::Add(hn::LoadU(d, to), v), d, to);
    }
  }

  static HWY_INLINE hn::Vec<D> Load(const T* elements) {
    return Flip<Dot>(KGroupsAlong<Dot>(D(), elements, 0), Dot::kFlip);
  }

  static HWY_INLINE hn::Vec<D> LoadLast(const T* elements, size_t count) {
    if constexpr (kIsPlain<Dot, T>) {
      const hn::Repartition<T, D> d;
      return Flip<Dot>(hn::BitCast(D(), LoadFirst(d, elements, count)), Dot::kFlip);
    } else {
      HWY_ALIGN T last[kStep] = {};
      memcpy(static_cast<void*>(last), elements, count * sizeof(T));
      return Load(last);
    }
  }

  /// `count` elements, with zeros behind.
  template <class DV>
  static HWY_INLINE hn::Vec<DV> LoadFirst(DV d, const hn::TFromD<DV>* elements, size_t count) {
    using Lane = hn::TFromD<DV>;
    if constexpr (kMaskedAccess<Lane>) {
      return hn::MaskedLoad(hn::FirstN(d, count), d, elements);
    } else {
      HWY_ALIGN Lane first[hn::MaxLanes(d)] = {};
      memcpy(static_cast<void*>(first), elements, count * sizeof(Lane));
      return hn::Load(d, first);
    }
  }

  const KGroup* const* a_;
  size_t rows_, depth_;
  int64_t ahead_ = 0;  // elements from those that are read to those that are asked for
};

/// AddStreamedColumns of integers, a piece of K at a time, of which all rows of A stay in half of
/// an L1: each tile reads them again (Zen 4, 4 rows, K = 11008: 2.3 ms in one piece, 1.5 in three).
/// Those whose k-groups are not contiguous are copied.
template <class Dot, class A, class Columns>
HWY_INLINE void AddIntegersByColumns(const A& a, size_t row, size_t rows, size_t k, Columns b,
                                     size_t b_rows, size_t cols, typename Dot::Acc* sums,
                                     size_t sums_stride) {
  using T = std::remove_cvref_t<decltype(*b.first)>;
  using KGroup = typename Dot::KGroup;
  constexpr size_t kGroups = (16 << 10) / sizeof(KGroup), kLeast = 512;  // k-groups
  static_assert(kLeast * kRowsAtATime >= kGroups);
  HWY_ALIGN KGroup copy[kLeast * kRowsAtATime];
  const bool contiguous = !std::is_same_v<typename A::ItsSteps, PanelSteps> && a.ToK() == 1;
  constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<KGroup>());
  const size_t most = HWY_MAX(kGroups / rows / kLanes * kLanes, kLeast) * Dot::kKPerGroup;
  const KGroup* of_a[kRowsAtATime];
  for (size_t begin = 0; begin < b_rows; begin += most) {
    const size_t piece = HWY_MIN(b_rows - begin, most), groups = KGroupsOf<Dot>(piece);
    for (size_t r = 0; r < rows; ++r) {
      const ptrdiff_t to_k = a.ToK();
      const KGroup* const from =
          a.At(row + r) + static_cast<ptrdiff_t>((k + begin) / Dot::kKPerGroup) * to_k;
      KGroup* const to = copy + r * groups;
      for (size_t i = 0; !contiguous && i < groups; ++i)
        to[i] = from[static_cast<ptrdiff_t>(i) * to_k];
      of_a[r] = contiguous ? from : to;
    }
    const IntegersByColumns<Dot, T> product(of_a, rows, piece, b.apart, b.IsFar());
    const size_t at_once = product.ColumnsAtOnce();
    for (size_t c = 0; c < cols; c += at_once) {
      const size_t count = HWY_MIN(cols - c, at_once);
      const T* columns[kRowsAtATime];
      for (size_t i = 0; i < count; ++i) columns[i] = b.From(begin).At(c + i);
      product.Add(columns, count, sums + c, sums_stride);
      b.Ask(count * piece * sizeof(T));
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
