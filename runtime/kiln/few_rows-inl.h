// Few rows of x times y where it lies. To pack y, which is then used once, would take longer than
// to read it.
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
#include "kiln/blocks.h"
#include "kiln/lanes-inl.h"
#include "kiln/words-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kFewRows = 32;  // at a time

/// Bytes always become panels: their words take as long to make as those do to pack.
template <class D>
constexpr bool kMayGoAlong = sizeof(typename D::Y) > 1;
/// Sums of a strip of columns, which stay in the L1 beside the rows of y that are asked for: of up
/// to 16 rows of x it takes 1 KiB of each. For the fewest, memory alone counts, which likes long
/// pieces.
constexpr size_t kStripCols = 256, kMostStripCols = 16 * kStripCols;
template <typename T>
constexpr size_t StripCols(size_t rows) {
  if (rows <= size_t{kFewestRows}) return kMostStripCols;
  return rows <= kFewRows / 2 ? HWY_MAX(1024 / sizeof(T), kStripCols) : kStripCols;
}
/// From a row of sums to the next: no power of two, for which lines compete.
constexpr size_t SumsStride(size_t strip_cols) { return strip_cols + 16; }

/// So many words of k at a time.
constexpr size_t kDeep = 4;
/// Of each row of x.
template <typename Word>
using FewWords = Word[kFewRows][kDeep];

/// Words k, k + 1, … of rows of x, `count` of them.
template <class X, typename Word>
HWY_INLINE void LoadFewWords(const X& x, size_t row, size_t rows, size_t k, size_t count,
                             FewWords<Word>& words) {
  for (size_t r = 0; r < rows; ++r) {
    const Word* const from = x.At(row + r) + static_cast<ptrdiff_t>(k) * x.to_k;
    if (count == kDeep && x.to_k == 1) {
      memcpy(words[r], from, sizeof(words[r]));
    } else {
      for (size_t i = 0; i < count; ++i) words[r][i] = from[static_cast<ptrdiff_t>(i) * x.to_k];
    }
  }
}

/// sums[r][c] += words[r][i] y[i][c] for each word i in turn from `first` on, as register tiles do;
/// kWords are 4 or 1. `y` is the row of word 0; `cols` are whole pairs of vectors. Asks for rows of
/// y that come `ahead`.
template <class Dot, size_t kWords, typename T>
HWY_INLINE void AddFewWords(const FewWords<typename Dot::Word>& words, size_t first, size_t rows,
                            const T* y, int64_t stride, int64_t ahead, size_t cols,
                            typename Dot::Acc* sums, size_t sums_stride) {
  constexpr size_t kLine = 64 / sizeof(T);  // elements
  const hn::ScalableTag<typename Dot::Word> dw;
  const hn::ScalableTag<typename Dot::Acc> d;
  const size_t n = hn::Lanes(d);
  const auto load = [&](size_t i, size_t c) HWY_ATTR {
    const T* const row = y + static_cast<int64_t>(ElementOf<Dot>(first + i % kWords)) * stride;
    return WordsAcross<Dot>(dw, row + c, stride);
  };
  for (size_t c = 0; c < cols; c += 2 * n) {
    for (size_t i = 0; ahead != 0 && c % kLine == 0 && i < kDeep * Dot::kPerWord; ++i) {
      const T* const row = y + static_cast<int64_t>(i) * stride + ahead + c;
      hwy::Prefetch(row);
      if (kLine < 2 * n) hwy::Prefetch(row + kLine);
    }
    const auto y_00 = load(0, c), y_01 = load(0, c + n);
    const auto y_10 = load(1, c), y_11 = load(1, c + n);
    const auto y_20 = load(2, c), y_21 = load(2, c + n);
    const auto y_30 = load(3, c), y_31 = load(3, c + n);
    for (size_t r = 0; r < rows; ++r) {
      auto* const to = sums + r * sums_stride + c;
      auto sum_0 = hn::Load(d, to), sum_1 = hn::Load(d, to + n);
      const auto step = [&](auto x, auto y_0, auto y_1) HWY_ATTR {
        Dot::StepRow(x, y_0, y_1, NoColumns(), sum_0, sum_1, sum_1);
      };
      step(words[r][first], y_00, y_01);
      if constexpr (kWords == 4) {
        step(words[r][1], y_10, y_11);
        step(words[r][2], y_20, y_21);
        step(words[r][3], y_30, y_31);
      }
      hn::Store(sum_0, d, to);
      hn::Store(sum_1, d, to + n);
    }
  }
}

/// The sums of a strip of columns, for all k: a few rows of y at a time, along them, as memory
/// likes it. Where rows or columns are missing that words need, a copy has them, filled up with
/// zeros.
template <class Dot, class X, typename T>
HWY_NOINLINE void AddFewRows(const X& x, size_t row, size_t rows, const T* y, size_t y_rows,
                             int64_t stride, size_t cols, typename Dot::Acc* sums,
                             size_t sums_stride) {
  constexpr size_t kStep = kDeep * Dot::kPerWord;
  const size_t two = 2 * hn::Lanes(hn::ScalableTag<typename Dot::Acc>());
  const size_t whole = cols / two * two;
  FewWords<typename Dot::Word> words;
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
      AddFewWords<Dot, kDeep>(words, 0, rows, copy, copied, /*ahead=*/0, width, sums + c,
                              sums_stride);
      return;
    }
    for (size_t i = 0; i < WordsOf<Dot>(from_rows); ++i) {
      AddFewWords<Dot, 1>(words, i, rows, copy, copied, /*ahead=*/0, width, sums + c, sums_stride);
    }
  };
  for (size_t k = 0; k < y_rows; k += kStep) {
    const T* const from = y + static_cast<int64_t>(k) * stride;
    const size_t left = y_rows - k;
    const size_t count = HWY_MIN(kDeep, WordsOf<Dot>(left));
    LoadFewWords(x, row, rows, k / Dot::kPerWord, count, words);
    if (left < kStep) return add_copied(from, left, 0);
    // Along so long pieces the hardware looks ahead by itself, and better.
    const bool asks = rows > size_t{kFewestRows};
    const auto ahead = asks ? static_cast<int64_t>(HWY_MIN(kStep, left - kStep)) * stride : 0;
    AddFewWords<Dot, kDeep>(words, 0, rows, from, stride, ahead, whole, sums, sums_stride);
    if (whole < cols) add_copied(from, kStep, whole);
  }
}

/// What MultiplyTiles does. `d` is the tag that `start` and `finish` are called for.
template <class Dot, class D, class X, class Y, class Start, class Finish>
HWY_INLINE void MultiplyFewRows(D d, size_t begin, size_t end, const X& x, const Y& y,
                                const Start& start, const Finish& finish) {
  using Acc = typename Dot::Acc;
  const hn::ScalableTag<Acc> da;
  const auto* const elements = static_cast<const typename Dot::Y*>(y.along);
  HWY_ALIGN Acc sums[kFewRows * SumsStride(kStripCols)];
  // As many rows at a time as the next time, which finds the strip of y in the L2.
  const size_t most = DivUp(end - begin, HWY_MAX(DivUp(end - begin, kFewRows), 1));
  const size_t strip_cols = StripCols<typename Dot::Y>(most), sums_stride = SumsStride(strip_cols);
  for (size_t strip = 0; strip < y.cols; strip += strip_cols) {
    const size_t cols = HWY_MIN(strip_cols, y.cols - strip);
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
      AddFewRows<Dot>(x, row, rows, elements + strip, y.rows, static_cast<int64_t>(y.stride), cols,
                      sums, sums_stride);
      for_sums([&](auto at, Acc* sum, size_t r, size_t c)
                   HWY_ATTR { finish(at, hn::Load(da, sum), r, c); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
