// Which rows of a block a product is of.
#if defined(KILN_ROW_RANGE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ROW_RANGE_INL_H_
#undef KILN_ROW_RANGE_INL_H_
#else
#define KILN_ROW_RANGE_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/dot/tile_operands-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Rows of a block for which tiles are computed, and those among them that are needed.
struct RowRange {
  RowRange(size_t rows) : RowRange(0, rows) {}  // NOLINT: all of them
  RowRange(size_t from, size_t to) : RowRange(from, to, from, to) {}
  RowRange(size_t from, size_t to, size_t from_needed, size_t to_needed)
      : begin(from), end(to), needed_begin(from_needed), needed_end(to_needed) {}
  size_t Needed() const { return needed_end - needed_begin; }

  size_t begin, end, needed_begin, needed_end;
};

/// Those from `low` on and before `high` of `count`.
inline RowRange Within(int64_t low, int64_t high, size_t count) {
  const int64_t end = HWY_MAX(HWY_MIN(high, static_cast<int64_t>(count)), int64_t{0});
  const int64_t begin = HWY_MIN(HWY_MAX(low, int64_t{0}), end);
  return {static_cast<size_t>(begin), static_cast<size_t>(end)};
}

/// The rows from `low` on and before `high` of a block of `rows`, widened to whole panels: tiles
/// begin where panels do, and a whole tile is faster than the small ones of a remainder.
inline RowRange LiveRows(int64_t low, int64_t high, size_t rows) {
  const RowRange live = Within(low, high, rows);
  return {live.begin / kPanelRows * kPanelRows, HWY_MIN(RoundUp(live.end, kPanelRows), rows),
          live.begin, live.end};
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
