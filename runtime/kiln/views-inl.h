// What a register tile sees of the operands of a dot.
#if defined(KILN_VIEWS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_VIEWS_INL_H_
#undef KILN_VIEWS_INL_H_
#else
#define KILN_VIEWS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "kiln/dot-inl.h"
#include "kiln/stream-inl.h"
#include "kiln/tiles-inl.h"
#include "kiln/types.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Words of a panel of x: whole lines of the cache, and one more for the start values. Without it
/// panels would be a power of two apart and compete for the same sets of the caches; so the panels
/// of y have one row more too.
constexpr size_t LeftPanelWords(size_t depth) {
  constexpr size_t kLine = 16;
  return RoundUp(kPanelRows * depth, kLine) + kLine;
}

/// Vectors of the panel of the columns from c on, of so many padded ones. It begins at word
/// c * (depth + 1).
template <typename Word>
HWY_INLINE size_t PanelVectors(size_t c, size_t padded) {
  return TileVectors((padded - c) / hn::Lanes(hn::ScalableTag<Word>()));
}

/// Words from one row of a panel to the next, and from one k to the next. What only panels can be
/// has them as constants: a register tile needs fewer registers for where its rows are.
struct PanelSteps {
  static constexpr ptrdiff_t to_row = 1, to_k = kPanelRows;
};
struct AnySteps {
  ptrdiff_t to_row = 1, to_k = kPanelRows;
};

/// What a register tile sees of x: panels, or (AnySteps) rows where they lie.
template <typename Word, class Steps = PanelSteps>
struct LeftView : Steps {
  const Word* words = nullptr;
  size_t rows = 0;         // that exist, or are padded
  size_t depth = 0;        // words of k
  ptrdiff_t to_panel = 0;  // words from one to the next

  static LeftView OfPanels(const Word* words, size_t rows, size_t depth) {
    return {Steps(), words, rows, depth, static_cast<ptrdiff_t>(LeftPanelWords(depth))};
  }
  static LeftView OfRows(const Word* words, size_t rows, size_t depth, ptrdiff_t stride) {
    return {AnySteps{stride, 1}, words, rows, depth, ptrdiff_t{kPanelRows} * stride};
  }

  /// Words from those of row 0 to those of another.
  HWY_INLINE ptrdiff_t To(size_t row) const {
    return static_cast<ptrdiff_t>(row / kPanelRows) * to_panel +
           static_cast<ptrdiff_t>(row % kPanelRows) * Steps::to_row;
  }
  /// Word 0 of a row.
  const Word* At(size_t row) const { return words + To(row); }
};

/// A panel of y: for each k, kVectors of columns.
template <typename Word, size_t kVectors>
struct RightPanel {
  const Word* words;

  HWY_INLINE auto Load(size_t k, size_t v) const {
    const hn::ScalableTag<Word> d;
    return hn::Load(d, words + (k * kVectors + v) * hn::Lanes(d));
  }
  /// For a tile whose vector v of columns is `at`.
  template <class At>
  HWY_INLINE auto Load(size_t k, size_t v, At) const {
    if constexpr (kHasLanes<At>) {
      return Load(k, v);
    } else {
      return NoColumns();
    }
  }
};
// A y that stays in an L2 of 1 MiB beside the rows of x and what they make.
constexpr size_t kStaysBytes = size_t{256} << 10;

/// Brings words into the L2, a piece with every second k.
template <typename Word>
struct FetchAhead {
  HWY_INLINE void operator()() {
    AskL2(words);
    words += piece;
  }
  const Word* words;
  size_t piece;
};
/// What a register tile sees of y.
template <typename Word>
struct RightView {
  const Word* words = nullptr;
  size_t depth = 0;  // words of k
  size_t cols = 0;   // that exist, or are padded
  // Of elements where they lie in the array, if they are no panels: row 0, how many there are, and
  // from one to the next.
  const void* lies = nullptr;
  size_t rows = 0, stride = 0;

  /// The panel of columns c, c + 1, … for a tile whose third vector of columns is `at_2`.
  template <class At_2>
  HWY_INLINE auto At(size_t c, At_2) const {
    constexpr size_t kVectors = kHasLanes<At_2> ? 3 : 2;
    return RightPanel<Word, kVectors>{words + c * (depth + 1)};
  }

  /// For the tile of row r: an eighth of the panel after c's, or of the first after the last, so
  /// that eight tiles ask for all of it. A large y has left the L2 when the next rows of x come,
  /// and is further away than the hardware looks ahead. A small one is still there, and to ask
  /// costs.
  FetchAhead<Word> Ahead(size_t r, size_t c) const {
    const size_t width = kTileVectors * hn::Lanes(hn::ScalableTag<Word>());
    if (cols * depth * sizeof(Word) <= kStaysBytes) return {words + c * (depth + 1), 0};
    const size_t after = c + width < cols ? c + width : 0;
    return {words + after * (depth + 1) + r / kTileRows % 8 * depth * (width / 8), width / 4};
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
