// A product of few rows of A with an unpacked B whose k-groups are pairs or fours of rows: whole
// lines of some rows of B at a time.
#if defined(KILN_FEW_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_LINES_INL_H_
#undef KILN_FEW_LINES_INL_H_
#else
#define KILN_FEW_LINES_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <utility>

#include "kiln/core/version.h"
#include "kiln/dot/few/streamed-inl.h"
#include "kiln/dot/few/sums-inl.h"
#include "kiln/simd/stream-inl.h"
#include "kiln/simd/transpose-inl.h"

#if HWY_TARGET == HWY_AVX3_DL

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
constexpr size_t kLineOf = kLineBytes / sizeof(T);  // elements

/// Of each group of rows the vectors of its k-groups, out of a line of each row. They are made
/// within blocks of 128 bits: vector v has in each of them four columns, which are v fours of
/// columns after those of the first vector.
template <class Dot, size_t kGroups>
class VectorsOfLines {
 public:
  template <typename T>
  HWY_INLINE VectorsOfLines(const T* first, int64_t stride) {
    const auto load = [&]<size_t... g>(std::index_sequence<g...>) HWY_ATTR {
      (Load<g>(first, stride), ...);
    };
    load(std::make_index_sequence<kGroups>());
  }

  /// Adds their products with the k-groups of a row of A.
  HWY_INLINE void AddTo(const typename Dot::KGroup* groups, typename Dot::Acc* sums) const {
    const size_t n = hn::Lanes(hn::ScalableTag<typename Dot::Acc>());
    const auto add = [&]<size_t... g>(size_t v, std::index_sequence<g...>) HWY_ATTR {
      AddProducts<Dot>(groups, sums + v * n, of_[g][v]...);
    };
    const auto add_all = [&]<size_t... v>(std::index_sequence<v...>) HWY_ATTR {
      (add(v, std::make_index_sequence<kGroups>()), ...);
    };
    add_all(std::make_index_sequence<kVectors>());
  }

 private:
  using D = hn::ScalableTag<typename Dot::KGroup>;
  static constexpr size_t kVectors = Dot::kKPerGroup;

  template <size_t kGroup, typename T>
  HWY_INLINE void Load(const T* first, int64_t stride) {
    const hn::Repartition<uint16_t, D> d16;
    const T* const group = first + int64_t{kGroup * Dot::kKPerGroup} * stride;
    const auto row = [&](int64_t i) HWY_ATTR {
      return hn::BitCast(
          d16, hn::LoadU(D(), reinterpret_cast<const typename Dot::KGroup*>(group + i * stride)));
    };
    const auto keep = [&](size_t v, hn::Vec<decltype(d16)> groups) HWY_ATTR {
      of_[kGroup][v] = Flip<Dot>(hn::BitCast(D(), groups), Dot::kFlip);
    };
    if constexpr (kVectors == 2) {
      const auto even = row(0), odd = row(1);
      keep(0, hn::InterleaveLower(d16, even, odd));
      keep(1, hn::InterleaveUpper(d16, even, odd));
    } else {
      const hn::Repartition<uint8_t, D> d8;
      const auto bytes = [&](int64_t i) HWY_ATTR { return hn::BitCast(d8, row(i)); };
      const auto row_0 = bytes(0), row_1 = bytes(1), row_2 = bytes(2), row_3 = bytes(3);
      const auto low_01 = hn::BitCast(d16, hn::InterleaveLower(d8, row_0, row_1));
      const auto low_23 = hn::BitCast(d16, hn::InterleaveLower(d8, row_2, row_3));
      keep(0, hn::InterleaveLower(d16, low_01, low_23));
      keep(1, hn::InterleaveUpper(d16, low_01, low_23));
      const auto high_01 = hn::BitCast(d16, hn::InterleaveUpper(d8, row_0, row_1));
      const auto high_23 = hn::BitCast(d16, hn::InterleaveUpper(d8, row_2, row_3));
      keep(2, hn::InterleaveLower(d16, high_01, high_23));
      keep(3, hn::InterleaveUpper(d16, high_01, high_23));
    }
  }

  hn::Vec<D> of_[kGroups][kVectors];
};

/// Sums of the columns of a line, in their order, to the places that VectorsOfLines has them in, or
/// back.
template <class Dot>
HWY_INLINE void MoveSums(bool back, typename Dot::Acc* sums) {
  const hn::ScalableTag<uint64_t> d;
  const size_t n = hn::Lanes(hn::ScalableTag<typename Dot::Acc>());
  const auto place = [&](size_t v) { return reinterpret_cast<uint64_t*>(sums + v * n); };
  auto a = hn::Load(d, place(0)), b = hn::Load(d, place(1));
  if constexpr (Dot::kKPerGroup == 4) {
    auto c = hn::Load(d, place(2)), e = hn::Load(d, place(3));
    TransposeBlocks(d, a, b, c, e);
    hn::Store(c, d, place(2));
    hn::Store(e, d, place(3));
  } else {
    alignas(64) static constexpr uint64_t kPlaces[2][2][8] = {
        {{0, 1, 4, 5, 8, 9, 12, 13}, {2, 3, 6, 7, 10, 11, 14, 15}},
        {{0, 1, 8, 9, 2, 3, 10, 11}, {4, 5, 12, 13, 6, 7, 14, 15}}};
    const auto pick = [&](const uint64_t* from) HWY_ATTR {
      return hn::Vec<decltype(d)>{_mm512_permutex2var_epi64(a.raw, hn::Load(d, from).raw, b.raw)};
    };
    const auto first = pick(kPlaces[back][0]);
    b = pick(kPlaces[back][1]);
    a = first;
  }
  hn::Store(a, d, place(0));
  hn::Store(b, d, place(1));
}

/// The sums of columns that fill lines, over rows of B from the first to `k_end`, a multiple of
/// those of kGroups. first(k) is the first of as many rows from k on; the lines `ahead` elements
/// further on are asked for, and as many bytes as were read by `ask(bytes)`.
template <class Dot, size_t kGroups, class A, class First, class Ask = NothingToAsk>
HWY_INLINE void AddLines(const A& a, size_t row, size_t rows, size_t k_end, const First& first,
                         int64_t stride, int64_t ahead, size_t cols, typename Dot::Acc* sums,
                         size_t sums_stride, const Ask& ask = Ask()) {
  using T = typename Dot::B;
  constexpr size_t kRows = kGroups * Dot::kKPerGroup;
  const auto move = [&](bool back) HWY_ATTR {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < cols; c += kLineOf<T>) MoveSums<Dot>(back, sums + r * sums_stride + c);
    }
  };
  move(/*back=*/false);
  KGroupsOfRows<Dot, kGroups> groups;
  for (size_t k = 0; k < k_end; k += kRows) {
    LoadKGroups<Dot>(a, row, rows, k / Dot::kKPerGroup, kGroups, groups);
    const T* const lines = first(k);
    const bool asks = ahead != 0 && k + kRows < k_end;
    for (size_t c = 0; c < cols; c += kLineOf<T>) {
      for (size_t i = 0; asks && i < kRows; ++i)
        PrefetchToL2(lines + static_cast<int64_t>(i) * stride + ahead + c);
      const VectorsOfLines<Dot, kGroups> b(lines + c, stride);
      for (size_t r = 0; r < rows; ++r) b.AddTo(groups[r], sums + r * sums_stride + c);
      ask(kRows * kLineBytes);
    }
  }
  move(/*back=*/true);
}

/// Of AddStreamedRows the rows of B that fill steps of kGroups k-groups. Gives their number.
template <class Dot, size_t kGroups, class A, class Rows>
HWY_INLINE size_t AddStreamedLinesBy(const A& a, size_t row, size_t rows, Rows b, size_t b_rows,
                                     size_t cols, typename Dot::Acc* sums, size_t sums_stride) {
  using T = typename Dot::B;
  constexpr size_t kRows = kGroups * Dot::kKPerGroup;
  static_assert(kMostRowsAtOnce<Dot> % kRows == 0);
  const size_t k_end = b_rows / kRows * kRows;
  const size_t whole = cols / kLineOf<T> * kLineOf<T>;
  const auto at = [&](size_t k) { return b.At(k); };
  AddLines<Dot, kGroups>(a, row, rows, k_end, at, b.apart, b.IsFar() ? int64_t{kRows} * b.apart : 0,
                         whole, sums, sums_stride, [&](size_t bytes) HWY_ATTR { b.Ask(bytes); });
  if (whole == cols) return k_end;
  // What is left of a line of columns is in a copy, with zeros.
  HWY_ALIGN T copy[kRows * kLineOf<T>] = {};
  const auto copied = [&](size_t k) {
    const T* const from = at(k) + whole;
    for (size_t i = 0; i < kRows; ++i)
      memcpy(static_cast<void*>(copy + i * kLineOf<T>), from + static_cast<int64_t>(i) * b.apart,
             (cols - whole) * sizeof(T));
    return copy;
  };
  AddLines<Dot, kGroups>(a, row, rows, k_end, copied, kLineOf<T>, /*ahead=*/0, kLineOf<T>,
                         sums + whole, sums_stride);
  return k_end;
}

/// The same of as many k-groups at a time as are best. With more of them sums are loaded and stored
/// less often, and a store of 64 bytes takes as long as two products on some cores: of bytes four
/// are 1.2 to 1.7 times as fast as two. But lines of 16 rows that are a multiple of 4 KiB apart
/// belong to one set of the L1, which has 8 or 12, so that those which the hardware prefetched are
/// gone; that costs more than the stores of few rows of A.
template <class Dot, class A, class Rows>
HWY_INLINE size_t AddStreamedLines(const A& a, size_t row, size_t rows, Rows b, size_t b_rows,
                                   size_t cols, typename Dot::Acc* sums, size_t sums_stride) {
  if constexpr (Dot::kKPerGroup == 4) {
    if (rows <= 4 && ShareSets(b))
      return AddStreamedLinesBy<Dot, 2>(a, row, rows, b, b_rows, cols, sums, sums_stride);
  }
  return AddStreamedLinesBy<Dot, 4>(a, row, rows, b, b_rows, cols, sums, sums_stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // HWY_AVX3_DL
#endif
