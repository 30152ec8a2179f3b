// Where the sums of a dot are: in the memory of a tile, in accumulators, or in rows of a block.
#if defined(KILN_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_SUMS_INL_H_
#undef KILN_SUMS_INL_H_
#else
#define KILN_SUMS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/dot/tile_operands-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Columns of a packed block: whole vectors, at least two, as no panel has one alone.
template <typename KGroup = float>
HWY_INLINE size_t PaddedCols(size_t cols) {
  const size_t n = hn::Lanes(hn::ScalableTag<KGroup>());
  return HWY_MAX(RoundUp(cols, n), 2 * n);
}

/// Accumulators of a block are kept by vectors of columns: all rows of the first, then those of the
/// next. So the registers of a tile are a few contiguous pieces.
template <typename Acc = float>
HWY_INLINE size_t TileOffset(size_t rows, size_t r, size_t c) {
  return c * RoundUp(rows, kTileRows) + r * hn::Lanes(hn::ScalableTag<Acc>());
}

/// The accumulator of row r and column c of a block whose register tiles are contiguous.
template <typename Acc>
HWY_INLINE Acc* AccumulatorAt(Acc* accumulators, size_t rows, size_t r, size_t c) {
  const size_t n = hn::Lanes(hn::ScalableTag<Acc>());
  const size_t first = c / n * n;
  return accumulators + TileOffset<Acc>(rows, r, first) + (c - first);
}

/// Elements of a buffer for the accumulators of a block of this size, or of a smaller one.
inline size_t AccumulatorSize(size_t rows, size_t cols) {
  return RoundUp(rows, kTileRows) * PaddedCols(cols);
}

// Where the sums of a dot are, as MultiplyTiles knows them: whether they stay in the accumulators
// of a block of `rows`, where there, and whether they begin at zero or go on from what those hold.

/// Sums of tiles that are gone after `finish`. They begin at zero, or with what `start` returns.
struct TileSums {
  static constexpr size_t rows = 0;
  static constexpr bool IsKept() { return false; }
  static constexpr bool FromZero() { return true; }
};

/// Sums that stay.
template <typename Acc>
struct Accumulators {
  Accumulators(Acc* accumulators, size_t block_rows, bool zero)
      : sums(accumulators), rows(block_rows), from_zero(zero) {}
  static constexpr bool IsKept() { return true; }
  bool FromZero() const { return from_zero; }

  Acc* sums;
  size_t rows;
  bool from_zero;
};

/// What a step is in its reduction. A single step is both.
struct ReductionStep {
  bool first, last;
};

/// Sums that add up over the steps of a reduction, and are only wanted after the last one.
template <typename Acc>
struct StepSums {
  bool IsKept() const { return !(step.first && step.last); }
  bool FromZero() const { return step.first; }
  /// Those of a step that is not the last.
  Accumulators<Acc> ThatAreKept() const { return {sums, rows, step.first}; }

  Acc* sums;
  size_t rows;
  ReductionStep step;
};
template <typename Acc>
HWY_INLINE StepSums<Acc> SumsOf(ReductionStep step, Acc* accumulators, size_t rows) {
  return {accumulators, rows, step};
}

/// Sums that are elements of a block, `to_row` apart from one row to the next. (Others are copied
/// from a tile's memory to where `finish` stores them: int8 of 512 to 2048 is 1 to 5 % slower so.)
template <typename Acc>
struct SumsInRows {
  SumsInRows(Acc* first, int64_t stride, bool zero)
      : sums(first), to_row(static_cast<ptrdiff_t>(stride)), from_zero(zero) {}
  Acc* At(size_t r, size_t c) const { return sums + static_cast<ptrdiff_t>(r) * to_row + c; }
  size_t Bytes(size_t rows) const { return rows * static_cast<size_t>(to_row) * sizeof(Acc); }

  Acc* sums;
  ptrdiff_t to_row;
  bool from_zero;
};

template <typename Acc>
HWY_INLINE Acc* SumsAt(TileSums, size_t, size_t) {
  return nullptr;
}
template <typename Acc, class Sums>
HWY_INLINE Acc* SumsAt(const Sums& sums, size_t r, size_t c) {
  return AccumulatorAt(sums.sums, sums.rows, r, c);
}

// The steps of a reduction as types, for bodies that differ in more than their sums.
struct First {};       // start anew
struct Middle {};      // add
struct Last {};        // add and finish
struct SingleStep {};  // the first and the last

/// Calls fn with what a step is.
template <class Fn>
HWY_INLINE void ForReductionStep(ReductionStep step, const Fn& fn) {
  if (step.first && step.last) {
    fn(SingleStep());
  } else if (step.first) {
    fn(First());
  } else if (step.last) {
    fn(Last());
  } else {
    fn(Middle());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
