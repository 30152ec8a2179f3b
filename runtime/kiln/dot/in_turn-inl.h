// Panels of B that are packed in turn: while tiles multiply one, they ask for what the next is made
// of, and pack it piece by piece. Packing a block before it is multiplied would wait for memory,
// and its first panels would have left the caches.
#if defined(KILN_IN_TURN_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_IN_TURN_INL_H_
#undef KILN_IN_TURN_INL_H_
#else
#define KILN_IN_TURN_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "kiln/core/packed_later.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/dot/tiles-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of the panel that begins at column c of `padded`, at k-group c * (depth + 1).
template <typename KGroup>
HWY_INLINE size_t PanelVectors(size_t c, size_t padded) {
  return TileVectors((padded - c) / hn::Lanes(hn::ScalableTag<KGroup>()));
}

/// Where the elements are that panels are made of, if those of rows or columns are neighbours and
/// have to come from beyond the L2.
struct PanelHome {
  const char* first = nullptr;                   // null: else
  int64_t to_k = 0, to_column = 0, element = 1;  // bytes

  bool IsAlongK() const { return to_k == element; }
};

/// Who packs in turn, and how far that is.
struct PackingInTurn {
  PackedLater* later = nullptr;
  PackedPart* part = nullptr;  // null: all panels are there
  PanelHome home{};
};

/// The same of the panels of a block.
template <typename KGroup>
struct PanelsInTurnOf {
  const PackingInTurn& turn;
  const KGroup* panels;
  size_t depth, cols;  // k-groups and columns of the block

  /// Before so many rows are multiplied. `one_pass`: they need each panel once, so that memory for
  /// two of them does, which stays in the L2, where no other step needs the block.
  void Begin(size_t rows, bool one_pass) const {
    if (!Pays(rows)) return Finish();
    Unwrap();
    PackedPart& part = *turn.part;
    part.wraps = one_pass && part.is_last && part.steps == 1 && part.columns == 0;
  }

  /// Packs all that has not been.
  void Finish() const {
    Unwrap();
    PackedPart& part = *turn.part;
    if (part.groups != 0) PackGroups(depth);
    const int64_t left = Signed(cols) - part.columns;
    if (left > 0) Pack({part.columns, left, 0, Signed(depth)});
    part.columns = HWY_MAX(part.columns, Signed(cols));
  }

  /// Packs what the panel of `width` columns from c on lacks, or else a piece of the one behind it.
  HWY_NOINLINE void Advance(size_t c, size_t width) const {
    const PackedPart& part = *turn.part;
    if (part.columns <= Signed(c)) return PackGroups(depth);
    if (part.columns == Signed(c + width) && !IsDone()) PackGroups(PieceGroups());
  }

  bool IsDone() const { return turn.part->columns >= Signed(cols); }

  const KGroup* PanelAt(size_t c) const {
    constexpr size_t kTwoPanels = 2 * kTileVectors * hn::MaxLanes(hn::ScalableTag<KGroup>());
    return panels + (turn.part->wraps ? c % kTwoPanels : c) * (depth + 1);
  }

  /// Asks for what the next piece is made of, two lines of each of its rows at a time; a tile of
  /// `depth` has steps for more lines than that.
  template <class D, class Steps>
  HWY_INLINE void SetPrefetch(TileOperands<D, Steps>* tile) const {
    const PanelHome& home = turn.home;
    const int64_t k = turn.part->groups * int64_t{D::kKPerGroup};
    const bool along_k = home.IsAlongK();
    const size_t rows = along_k ? kTileVectors * hn::Lanes(hn::ScalableTag<KGroup>())
                                : PieceGroups() * D::kKPerGroup;
    const int64_t to_row = along_k ? home.to_column : home.to_k;
    tile->ahead = {home.first + k * home.to_k + turn.part->columns * home.to_column, to_row, rows,
                   int64_t{2 * kLineBytes} - Signed(rows) * to_row, /*is_of_rows=*/true};
  }

 private:
  // So many tiles of a panel pack the one behind it.
  static constexpr size_t kPieces = 8;

  /// Of panels that took turns nothing is left.
  void Unwrap() const {
    PackedPart& part = *turn.part;
    if (part.wraps) part.wraps = false, part.columns = part.groups = 0;
  }
  /// With few rows tiles are over before all has come that they ask for; of a small depth they do
  /// not take long enough for more calls. (AVX2: rows of less than a line 0.94 to 1.02, and with
  /// more than 256 of A 0.98 to 0.99. Attention, 64 and 128 deep, 0.99.)
  bool Pays(size_t rows) const {
    constexpr size_t kFewAlongK = 32, kFew = 48, kMostForTilesOf4 = 256, kLeastDepth = 256;
    const PanelHome& home = turn.home;
    if (home.first == nullptr || depth < kLeastDepth) return false;
    if (!kTilesOf8Rows && (home.element < 4 || rows > kMostForTilesOf4)) return false;
    return rows > (home.IsAlongK() ? kFewAlongK : kFew);
  }
  /// Whole tiles of AMX, and whole pairs.
  size_t PieceGroups() const {
    constexpr size_t kWhole = 16;
    return RoundUp(DivUp(depth, kPieces), kWhole);
  }
  size_t WidthAt(size_t c) const {
    return PanelVectors<KGroup>(c, PaddedCols<KGroup>(cols)) * hn::Lanes(hn::ScalableTag<KGroup>());
  }
  /// Up to so many k-groups of the panel that is not whole yet.
  void PackGroups(size_t most) const {
    PackedPart& part = *turn.part;
    const int64_t count = HWY_MIN(Signed(most), Signed(depth) - part.groups);
    const auto width = Signed(WidthAt(Unsigned(part.columns)));
    Pack({part.columns, width, part.groups, count});
    part.groups += count;
    if (part.groups == Signed(depth)) part.columns += width, part.groups = 0;
  }
  void Pack(const PanelPiece& piece) const {
    const size_t c = Unsigned(piece.first_column);
    turn.later->PackPiece(
        piece, const_cast<KGroup*>(PanelAt(c)) + Unsigned(piece.first_group) * WidthAt(c));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
