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

#include "kiln/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kFewRows = 32;
/// Sums of a strip of columns, which stay in the L1. The fewer rows, the wider it is.
constexpr size_t kStripCols = 256;
HWY_INLINE size_t StripCols(size_t rows) { return rows <= kFewRows / 2 ? 512 : kStripCols; }
/// From a row of sums to the next: no power of two, for which lines compete.
HWY_INLINE constexpr size_t SumsStride(size_t strip_cols) { return strip_cols + 16; }

/// Calls fn(at_0, at_1, c) for each two vectors of columns.
template <class D, class Fn>
HWY_INLINE void ForColumns(D d, size_t cols, const Fn& fn) {
  const size_t n = hn::Lanes(d);
  size_t c = 0;
  for (; c + 2 * n <= cols; c += 2 * n) fn(Whole<D>(), Whole<D>(), c);
  if (c == cols) return;
  const size_t left = HWY_MIN(n, cols - c);
  fn(Part<D>(left), Part<D>(cols - c - left), c);
}

/// sums[r][c] += x[r][k] y[k][c] for each k in turn, as register tiles do. Four rows of y at a
/// time, along them, as memory likes it; those that come two passes later are asked for.
template <class Dot, class X, typename Word>
HWY_NOINLINE void AddFewRows(const X& x, size_t row, size_t rows, const Word* y, size_t stride,
                             size_t cols, Word* sums, size_t sums_stride) {
  constexpr size_t kDeep = 4;
  const hn::ScalableTag<Word> d;
  const size_t n = hn::Lanes(d);
  Word of_x[kFewRows][kDeep];
  size_t k = 0;
  for (; k + kDeep <= x.depth; k += kDeep) {
    for (size_t r = 0; r < rows; ++r) {
      const Word* const from = x.At(row + r) + k * X::kStep;
      for (size_t i = 0; i < kDeep; ++i) of_x[r][i] = from[i * X::kStep];
    }
    const Word *const y_0 = y + k * stride, *const y_1 = y_0 + stride;
    const Word *const y_2 = y_1 + stride, *const y_3 = y_2 + stride;
    const size_t ahead = HWY_MIN(2 * kDeep, x.depth - kDeep - k) * stride;
    ForColumns(d, cols, [&](auto at_0, auto at_1, size_t c) HWY_ATTR {
      const auto ask = [&](const Word* from) HWY_ATTR {
        hwy::Prefetch(from + ahead + c);
        hwy::Prefetch(from + ahead + c + n);
      };
      ask(y_0), ask(y_1), ask(y_2), ask(y_3);
      const auto v_00 = at_0.Load(y_0 + c), v_01 = at_1.Load(y_0 + c + n);
      const auto v_10 = at_0.Load(y_1 + c), v_11 = at_1.Load(y_1 + c + n);
      const auto v_20 = at_0.Load(y_2 + c), v_21 = at_1.Load(y_2 + c + n);
      const auto v_30 = at_0.Load(y_3 + c), v_31 = at_1.Load(y_3 + c + n);
      for (size_t r = 0; r < rows; ++r) {
        Word* const to = sums + r * sums_stride + c;
        auto sum_0 = hn::Load(d, to), sum_1 = hn::Load(d, to + n);
        Dot::StepRow(of_x[r][0], v_00, v_01, sum_0, sum_1);
        Dot::StepRow(of_x[r][1], v_10, v_11, sum_0, sum_1);
        Dot::StepRow(of_x[r][2], v_20, v_21, sum_0, sum_1);
        Dot::StepRow(of_x[r][3], v_30, v_31, sum_0, sum_1);
        hn::Store(sum_0, d, to);
        hn::Store(sum_1, d, to + n);
      }
    });
  }
  for (; k < x.depth; ++k) {
    ForColumns(d, cols, [&](auto at_0, auto at_1, size_t c) HWY_ATTR {
      const Word* const from = y + k * stride + c;
      const auto v_0 = at_0.Load(from), v_1 = at_1.Load(from + n);
      for (size_t r = 0; r < rows; ++r) {
        Word* const to = sums + r * sums_stride + c;
        auto sum_0 = hn::Load(d, to), sum_1 = hn::Load(d, to + n);
        Dot::StepRow(x.At(row + r)[k * X::kStep], v_0, v_1, sum_0, sum_1);
        hn::Store(sum_0, d, to);
        hn::Store(sum_1, d, to + n);
      }
    });
  }
}

/// What MultiplyTiles does. `d` is the tag that `start` and `finish` are called for.
template <class Dot, class D, class X, class Y, class Start, class Finish>
HWY_INLINE void MultiplyFewRows(D d, size_t begin, size_t end, const X& x, const Y& y,
                                const Start& start, const Finish& finish) {
  using Acc = typename Dot::Acc;
  const hn::ScalableTag<Acc> da;
  HWY_ALIGN Acc sums[kFewRows * SumsStride(kStripCols)];
  for (size_t row = begin; row < end; row += kFewRows) {
    const size_t rows = HWY_MIN(kFewRows, end - row);
    const size_t strip_cols = StripCols(rows), sums_stride = SumsStride(strip_cols);
    for (size_t strip = 0; strip < y.cols; strip += strip_cols) {
      const size_t cols = HWY_MIN(strip_cols, y.cols - strip);
      const auto for_sums = [&](const auto& fn) HWY_ATTR {
        for (size_t r = 0; r < rows; ++r) {
          ForLanes(d, cols, [&](auto at, size_t c) HWY_ATTR {
            fn(at, sums + r * sums_stride + c, row + r, strip + c);
          });
        }
      };
      for_sums([&](auto at, Acc* sum, size_t r, size_t c)
                   HWY_ATTR { hn::Store(start(at, r, c), da, sum); });
      AddFewRows<Dot>(x, row, rows, y.words + strip, y.stride, cols, sums, sums_stride);
      for_sums([&](auto at, Acc* sum, size_t r, size_t c)
                   HWY_ATTR { finish(at, hn::Load(da, sum), r, c); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
