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

/// A vector of columns of a register tile: `at` of them, or all, where there is something behind.
template <bool kOnlyThose, class D, class At>
HWY_INLINE auto LoadColumns(D d, const hn::TFromD<D>* words, At at) {
  if constexpr (!kHasLanes<At>) {
    return NoColumns();
  } else if constexpr (kOnlyThose && kIsPart<At>) {
    return LoadFirst(d, words, at.lanes());
  } else {
    return hn::LoadU(d, words);
  }
}

/// The columns of y for a register tile: those of a panel or, if kMayLie, where they lie.
template <typename Word, bool kMayLie, class At_0, class At_1, class At_2>
struct RightColumns {
  const Word* words;  // of k 0
  ptrdiff_t to_k;     // from one k to the next
  size_t last;        // from this k on there may be nothing behind the last column
  At_0 at_0;
  At_1 at_1;
  At_2 at_2;

  /// Calls fn with the vectors of a k.
  template <bool kIsLast = false, class Fn>
  HWY_INLINE void Load(size_t k, const Fn& fn) const {
    const hn::ScalableTag<Word> d;
    const size_t n = hn::Lanes(d);
    const Word* const from = words + static_cast<ptrdiff_t>(k) * to_k;
    fn(LoadColumns<kIsLast>(d, from, at_0), LoadColumns<kIsLast>(d, from + n, at_1),
       LoadColumns<kIsLast>(d, from + 2 * n, at_2));
  }
  /// Of one of the last.
  template <class Fn>
  HWY_INLINE void LoadLast(size_t k, const Fn& fn) const {
    Load<kMayLie>(k, fn);
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
/// Asks for nothing.
struct FetchNothing {
  HWY_INLINE void operator()() const {}
};

/// What a dot sees of y: panels, or elements where they lie in the array, for register tiles if
/// they are words, or to go along their rows.
template <typename Word, bool kMayLie = false>
struct RightView {
  const Word* words = nullptr;  // of panels, or those that lie
  size_t depth = 0;             // words of k
  size_t cols = 0;              // that exist, or are padded
  size_t stride = 0;            // of what lies, from one row to the next; 0: of panels
  size_t last = 0;              // for tiles: rows behind which there may be nothing
  const void* along = nullptr;  // row 0, to go along rows
  size_t rows = 0;              // of elements

  static RightView OfPanels(const Word* words, size_t depth, size_t cols) {
    return {words, depth, cols};
  }
  /// `apart`: whether what is between rows is not of this matrix.
  static RightView OfRows(const Word* words, size_t depth, size_t cols, size_t stride, bool apart) {
    // A tile for few rows has a second vector of columns, even if none of them exist.
    const size_t beyond = 2 * hn::Lanes(hn::ScalableTag<Word>());
    const size_t last = apart ? depth : HWY_MIN(DivUp(beyond, stride), depth);
    return {words, depth, cols, stride, last};
  }
  static RightView AlongRows(const void* first, size_t depth, size_t rows, size_t cols,
                             size_t stride) {
    return {nullptr, depth, cols, stride, 0, first, rows};
  }

  /// Columns c, c + 1, … for a tile whose vectors of columns are these.
  template <class At_0, class At_1, class At_2>
  HWY_INLINE auto At(size_t c, At_0 at_0, At_1 at_1, At_2 at_2) const {
    constexpr size_t kVectors = kHasLanes<At_2> ? 3 : 2;
    const size_t to_k = Lies() ? stride : kVectors * hn::Lanes(hn::ScalableTag<Word>());
    return RightColumns<Word, kMayLie, At_0, At_1, At_2>{
        words + c * (Lies() ? 1 : depth + 1),
        static_cast<ptrdiff_t>(to_k),
        kMayLie && kIsPart<At_0> ? depth - last : depth,
        at_0,
        at_1,
        at_2};
  }

  /// For the tile of row r: an eighth of the columns after c's, or of the first after the last, so
  /// that eight tiles ask for all of them. A large y has left the L2 when the next rows of x come,
  /// and is further away than the hardware looks ahead. A small one is still there, and to ask
  /// costs; to ask for what is no memory, behind the array, costs most. Tiles of four rows are done
  /// twice as soon, with panels that the hardware sees coming (AVX2: 3 % slower if they ask).
  auto Ahead([[maybe_unused]] size_t r, [[maybe_unused]] size_t c) const {
    if constexpr (kTallTiles) {
      return FetchFor(r, c);
    } else {
      return FetchNothing();
    }
  }

 private:
  FetchAhead<Word> FetchFor(size_t r, size_t c) const {
    const size_t width = kTileVectors * hn::Lanes(hn::ScalableTag<Word>());
    if (cols * depth * sizeof(Word) <= kStaysBytes) return {words, 0};
    const bool more = c + width < cols;
    const size_t eighth = r / kTileRows % 8;
    if (!Lies()) {
      const size_t after = more ? c + width : 0;
      return {words + after * (depth + 1) + eighth * depth * (width / 8), width / 4};
    }
    // Three vectors lie in up to four lines of each row, and an eighth is one of them in half of
    // the rows.
    constexpr size_t kLine = 64 / sizeof(Word);
    const Word* const after = words + (more ? c + width : 0);
    return {after + eighth / 2 * kLine + eighth % 2 * (depth / 2) * stride, stride};
  }

  HWY_INLINE bool Lies() const { return kMayLie && stride != 0; }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
