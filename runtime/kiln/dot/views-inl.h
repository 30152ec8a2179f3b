// The operands of a dot as register tiles read them.
#if defined(KILN_VIEWS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_VIEWS_INL_H_
#undef KILN_VIEWS_INL_H_
#else
#define KILN_VIEWS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "kiln/core/blocks.h"
#include "kiln/core/pages.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/dot/dot-inl.h"
#include "kiln/dot/in_turn-inl.h"
#include "kiln/dot/tiles-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// K-groups of a panel of A: whole cache lines, and one more for the start values. Without it
/// panels would be a power of two apart and share cache sets, which is why panels of B have one row
/// more, too.
constexpr size_t PanelAKGroups(size_t depth) {
  constexpr size_t kLine = 16;
  return RoundUp(kPanelRows * depth, kLine) + kLine;
}

template <typename KGroup, bool kUnpacked, typename Stored>
struct ViewOfB;

/// A as a register tile reads it: panels or, with AnySteps, unpacked rows; or rows for AMX, each of
/// which is a panel of its own. Or, for few columns of B, where it is.
/// `Stored`: what that is made of, if it is not what the dot multiplies.
template <typename KGroup, class Steps = PanelSteps, typename Stored = void>
struct ViewOfA : Steps {
  using ItsSteps = Steps;
  using Panels = ViewOfA<KGroup>;

  const KGroup* groups = nullptr;
  size_t rows = 0;                 // that exist, or are padded
  size_t depth = 0;                // groups of k
  ptrdiff_t to_panel = 0;          // groups from one to the next
  size_t panel_rows = kPanelRows;  // or 1
  size_t l2_bytes = kTypicalCpu.l2_bytes, last_cache_bytes = kTypicalCpu.last_cache_bytes;
  size_t array_bytes = 0;          // of what this is a block of, if that is known
  const void* streamed = nullptr;  // element 0, if it is read where it is for few columns
  size_t stride = 0;               // then: elements from one row of the array to the next
  size_t elements = 0;             // and of K
  bool transposed = false;         // and whether the array is [k, m]

  static ViewOfA OfPanels(const KGroup* groups, size_t rows, size_t depth) {
    return {Steps(), groups, rows, depth, static_cast<ptrdiff_t>(PanelAKGroups(depth))};
  }
  static ViewOfA OfRows(const KGroup* groups, size_t rows, size_t depth, ptrdiff_t stride) {
    return {AnySteps{stride, 1}, groups, rows, depth, ptrdiff_t{kPanelRows} * stride};
  }

  static ViewOfA OfSingleRows(const KGroup* groups, size_t rows, size_t depth, ptrdiff_t stride) {
    return {Steps(), groups, rows, depth, stride, 1};
  }

  static ViewOfA Streamed(const void* first, size_t rows, size_t k, size_t stride,
                          bool transposed) {
    ViewOfA view;
    view.rows = rows;
    view.streamed = first;
    view.stride = stride;
    view.elements = k;
    view.transposed = transposed;
    return view;
  }

  /// The B of the product of the transposes, if it is streamed.
  ViewOfB<KGroup, false, Stored> AsB() const {
    ViewOfB<KGroup, false, Stored> b;
    b.streamed = streamed;
    b.rows = elements;
    b.cols = rows;
    b.stride = stride;
    b.by_columns = !transposed;
    b.l2_bytes = l2_bytes;
    b.last_cache_bytes = last_cache_bytes;
    b.array_bytes = array_bytes;
    return b;
  }

  /// KGroup 0 of a row.
  const KGroup* At(size_t row) const {
    if (panel_rows == 1) return groups + static_cast<ptrdiff_t>(row) * to_panel;
    return groups + static_cast<ptrdiff_t>(row / kPanelRows) * to_panel +
           static_cast<ptrdiff_t>(row % kPanelRows) * this->to_row;
  }
  /// K-groups from one of a row to the next.
  ptrdiff_t ToK() const { return panel_rows == 1 ? 1 : ptrdiff_t{this->to_k}; }

  /// Whether rows are read where they are, one right behind the other in an array that is larger
  /// than the L2.
  bool IsFar() const {
    return this->to_row == static_cast<ptrdiff_t>(depth) && array_bytes > l2_bytes;
  }
  /// Of such rows the tiles of the first columns ask for those of a tile further down, from `row`
  /// on, a line with every second k, as the hardware does not see eight rows coming. The other
  /// tiles of a row find it in the L2.
  template <class D>
  HWY_INLINE void SetPrefetch(size_t row, TileOperands<D, Steps>* tile) const {
    tile->ahead = {reinterpret_cast<const char*>(At(row)), kLineBytes};
  }

  /// What all tiles have in common.
  template <class D>
  TileOperands<D, Steps> OperandsOf() const {
    TileOperands<D, Steps> tile;
    static_cast<Steps&>(tile) = *this;
    tile.to_panel = to_panel;
    tile.depth = depth;
    return tile;
  }
};

/// B as a dot reads it: panels, or unpacked for register tiles, or unpacked and streamed by rows or
/// columns unless `later` packs it, as more rows of A turn out to need it.
/// `Stored`: what a streamed B is made of, if that is not what the dot multiplies.
template <typename KGroup, bool kUnpacked = false, typename Stored = void>
struct ViewOfB {
  using ItsStored = Stored;
  static constexpr bool kIsInPages = false;

  const KGroup* groups = nullptr;  // of panels, or of the array
  size_t depth = 0;                // groups of k
  size_t cols = 0;                 // that exist, or are padded
  size_t stride = 0;               // unpacked: from one row to the next; 0: packed
  size_t last = 0;  // unpacked: from this row on memory may end behind the last column
  const void* streamed = nullptr;  // element 0, if B is streamed
  bool by_columns = false;         // streamed: columns are contiguous, not rows
  size_t rows = 0;                 // of elements
  size_t l2_bytes = kTypicalCpu.l2_bytes, last_cache_bytes = kTypicalCpu.last_cache_bytes;
  size_t array_bytes = 0;  // of what this is a block of, if that is known
  PackingInTurn turn{};

  static ViewOfB OfPanels(const KGroup* groups, size_t depth, size_t cols) {
    return {groups, depth, cols};
  }
  /// `apart`: whether memory between rows belongs to something else.
  static ViewOfB OfRows(const KGroup* groups, size_t depth, size_t cols, size_t stride,
                        bool apart) {
    // A tile reads two vectors of columns, even where the second has none.
    const size_t beyond = 2 * hn::Lanes(hn::ScalableTag<KGroup>());
    const size_t last = apart ? depth : HWY_MIN(DivUp(beyond, stride), depth);
    return {groups, depth, cols, stride, last};
  }
  static ViewOfB StreamedRows(const void* first, size_t depth, size_t rows, size_t cols,
                              size_t stride) {
    return {nullptr, depth, cols, stride, 0, first, /*by_columns=*/false, rows};
  }
  static ViewOfB StreamedColumns(const void* first, size_t depth, size_t rows, size_t cols,
                                 size_t stride) {
    return {nullptr, depth, cols, stride, 0, first, /*by_columns=*/true, rows};
  }

  /// `count` rows of a streamed one of T, from k on.
  template <typename T>
  ViewOfB Piece(size_t k, size_t count) const {
    ViewOfB piece = *this;
    const auto to_k = static_cast<ptrdiff_t>(by_columns ? 1 : stride);  // it may be negative
    piece.streamed = static_cast<const T*>(streamed) + static_cast<ptrdiff_t>(k) * to_k;
    piece.rows = count;
    return piece;
  }

  bool IsPacked() const { return streamed == nullptr && !IsUnpacked(); }
  /// The k-groups of a column, unless it is streamed.
  struct Column {
    const KGroup* first;
    size_t to_k;
  };
  Column ColumnAt(size_t column) const {
    if (IsUnpacked()) return {groups + column, stride};
    const size_t lanes = hn::Lanes(hn::ScalableTag<KGroup>()), padded = PaddedCols<KGroup>(cols);
    const auto width_at = [&](size_t c) { return PanelVectors<KGroup>(c, padded) * lanes; };
    size_t panel = 0, width = width_at(0);
    for (; column >= panel + width; width = width_at(panel)) panel += width;
    return {groups + panel * (depth + 1) + (column - panel), width};
  }

  /// As so many rows of A read it, where they are few up to `few_rows`.
  HWY_INLINE ViewOfB For(size_t a_rows, int64_t few_rows) const {
    PackedLater* const later = turn.later;
    if (streamed == nullptr || later == nullptr || Signed(a_rows) <= few_rows) return *this;
    const bool unpacked = kUnpacked && !by_columns && PaysUnpacked(a_rows) && !later->HasPanels();
    ViewOfB other;
    if (unpacked) {
      other = OfRows(static_cast<const KGroup*>(streamed), depth, cols, stride, /*apart=*/true);
    } else {
      const PanelsInTurn made = later->Panels();
      other = OfPanels(static_cast<const KGroup*>(made.panels), depth, cols);
      other.turn = {later, made.packed, turn.home};
    }
    other.l2_bytes = l2_bytes;
    return other;
  }

  bool IsPackedInTurn() const { return turn.part != nullptr; }
  PanelsInTurnOf<KGroup> InTurn() const { return {turn, groups, depth, cols}; }
  /// Before so many rows are multiplied with it. What is packed is a B like any other.
  HWY_INLINE void BeginTurns(size_t a_rows, bool one_pass) {
    if (!IsPackedInTurn()) return;
    InTurn().Begin(a_rows, one_pass);
    if (InTurn().IsDone()) turn.part = nullptr;
  }
  /// All of it, for what does not pack in turn.
  void PackTheRest() const {
    if (IsPackedInTurn()) InTurn().Finish();
  }

  /// The columns of a tile whose vectors begin at c, and what it prefetches. `inside`: whether the
  /// array has all lanes of the widest tile there.
  template <class D, class Steps>
  HWY_INLINE void SetColumns(size_t r, size_t c, size_t vectors, bool inside,
                             TileOperands<D, Steps>* tile) const {
    const size_t panel_vectors = HWY_MAX(vectors, 2);
    const size_t to_k = panel_vectors * hn::Lanes(hn::ScalableTag<KGroup>());
    if (IsPackedInTurn() && !InTurn().IsDone()) InTurn().Advance(c, to_k);
    tile->b = IsPackedInTurn() ? InTurn().PanelAt(c) : groups + c * (IsUnpacked() ? 1 : depth + 1);
    tile->b_to_k = static_cast<ptrdiff_t>(IsUnpacked() ? stride : to_k);
    tile->last = kUnpacked && !inside ? depth - last : depth;
    tile->cols = cols - c;
    SetPrefetch(r, c, tile);
  }

 private:
  /// The tile of row r prefetches an eighth of the columns after c's, or of the first after the
  /// last, so that eight tiles prefetch all of them. A large B has left the L2 when the next rows
  /// of A are multiplied, and the hardware prefetcher does not reach that far. A small B is still
  /// there, and prefetching costs time, most of all behind the end of the array. Tiles of four rows
  /// take half as long and read panels in order, which the hardware sees (AVX2: 3 % slower with
  /// prefetches). A quarter of the L2 stays there beside rows of A and of the output.
  template <class D, class Steps>
  HWY_INLINE void SetPrefetch(size_t r, size_t c, TileOperands<D, Steps>* tile) const {
    const size_t width = kTileVectors * hn::Lanes(hn::ScalableTag<KGroup>());
    if (IsPackedInTurn() && !InTurn().IsDone()) return InTurn().template SetPrefetch<D>(tile);
    if constexpr (!kTilesOf8Rows) {
      tile->ahead = {};
      return;
    }
    if (cols * depth * sizeof(KGroup) <= l2_bytes / 4) {
      tile->ahead = {reinterpret_cast<const char*>(groups)};
      return;
    }
    const bool more = c + width < cols;
    const size_t eighth = r / kTileRows % 8;
    const auto set = [=](const KGroup* first, size_t piece) {
      tile->ahead = {reinterpret_cast<const char*>(first),
                     static_cast<ptrdiff_t>(piece * sizeof(KGroup))};
    };
    if (!IsUnpacked()) {
      const size_t after = more ? c + width : 0;
      set(groups + after * (depth + 1) + eighth * depth * (width / 8), width / 4);
      return;
    }
    // Three vectors are in up to four lines of each row: an eighth is one line of every second row.
    constexpr size_t kLine = kLineBytes / sizeof(KGroup);
    const KGroup* const after = groups + (more ? c + width : 0);
    set(after + eighth / 2 * kLine + eighth % 2 * (depth / 2) * stride, stride);
  }

  bool PaysUnpacked(size_t a_rows) const {
    const Cpu cpu{.l2_bytes = Signed(l2_bytes), .last_cache_bytes = Signed(last_cache_bytes)};
    const UnpackedB b{Signed(a_rows), Signed(rows), Signed(stride * sizeof(KGroup)),
                      Signed(array_bytes)};
    return ChooseBAccess(cpu, b, /*few_rows=*/0, kUnpacked, kTilesOf8Rows) ==
           BAccess::kUnpackedTiles;
  }

  HWY_INLINE bool IsUnpacked() const { return kUnpacked && stride != 0; }
};

/// The same of a buffer of which copies may have left pages elsewhere, if it is streamed;
/// `streamed` is its home.
template <typename KGroup, typename Stored = void>
struct ViewOfPages : ViewOfB<KGroup, false, Stored> {
  using Whole = ViewOfB<KGroup, false, Stored>;
  static constexpr bool kIsInPages = true;

  Pages* pages;

  HWY_INLINE ViewOfPages For(size_t /*a_rows*/, int64_t /*few_rows*/) const { return *this; }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
