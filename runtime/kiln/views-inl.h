// The operands of a dot as register tiles read them.
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

/// K-groups of a panel of A: whole cache lines, and one more for the start values. Without it
/// panels would be a power of two apart and share cache sets, which is why panels of B have one row
/// more, too.
constexpr size_t PanelAKGroups(size_t depth) {
  constexpr size_t kLine = 16;
  return RoundUp(kPanelRows * depth, kLine) + kLine;
}

/// Vectors of the panel that begins at column c of `padded`, at k-group c * (depth + 1).
template <typename KGroup>
HWY_INLINE size_t PanelVectors(size_t c, size_t padded) {
  return TileVectors((padded - c) / hn::Lanes(hn::ScalableTag<KGroup>()));
}

/// K-groups from one row of A to the next, and from one k to the next. An A that is always packed
/// has them as constants, which saves registers in the tile.
struct PanelSteps {
  static constexpr ptrdiff_t to_row = 1, to_k = kPanelRows;
};
struct AnySteps {
  ptrdiff_t to_row = 1, to_k = kPanelRows;
};

/// A as a register tile reads it: panels or, with AnySteps, unpacked rows.
template <typename KGroup, class Steps = PanelSteps>
struct ViewOfA : Steps {
  const KGroup* groups = nullptr;
  size_t rows = 0;         // that exist, or are padded
  size_t depth = 0;        // groups of k
  ptrdiff_t to_panel = 0;  // groups from one to the next

  static ViewOfA OfPanels(const KGroup* groups, size_t rows, size_t depth) {
    return {Steps(), groups, rows, depth, static_cast<ptrdiff_t>(PanelAKGroups(depth))};
  }
  static ViewOfA OfRows(const KGroup* groups, size_t rows, size_t depth, ptrdiff_t stride) {
    return {AnySteps{stride, 1}, groups, rows, depth, ptrdiff_t{kPanelRows} * stride};
  }

  /// Groups from those of row 0 to those of another.
  HWY_INLINE ptrdiff_t To(size_t row) const {
    return static_cast<ptrdiff_t>(row / kPanelRows) * to_panel +
           static_cast<ptrdiff_t>(row % kPanelRows) * Steps::to_row;
  }
  /// KGroup 0 of a row.
  const KGroup* At(size_t row) const { return groups + To(row); }
};

/// A vector of columns of a register tile: all lanes or, if kOnlyThose, those of `at`, where
/// reading beyond them may leave the array.
template <bool kOnlyThose, class D, class At>
HWY_INLINE auto LoadColumns(D d, const hn::TFromD<D>* groups, At at) {
  if constexpr (!kHasLanes<At>) {
    return NoColumns();
  } else if constexpr (kOnlyThose && kIsPart<At>) {
    return LoadFirst(d, groups, at.lanes());
  } else {
    return hn::LoadU(d, groups);
  }
}

/// The columns of B that a register tile reads: of a panel or, if kUnpacked, of the array itself.
template <typename KGroup, bool kUnpacked, class At_0, class At_1, class At_2>
struct ColumnsOfB {
  const KGroup* groups;  // of k 0
  ptrdiff_t to_k;        // from one k to the next
  size_t last;           // from this k on memory may end behind the last column
  At_0 at_0;
  At_1 at_1;
  At_2 at_2;

  /// Calls fn with the vectors of a k.
  template <bool kIsLast = false, class Fn>
  HWY_INLINE void Load(size_t k, const Fn& fn) const {
    const hn::ScalableTag<KGroup> d;
    const size_t n = hn::Lanes(d);
    const KGroup* const from = groups + static_cast<ptrdiff_t>(k) * to_k;
    fn(LoadColumns<kIsLast>(d, from, at_0), LoadColumns<kIsLast>(d, from + n, at_1),
       LoadColumns<kIsLast>(d, from + 2 * n, at_2));
  }
  /// The same for k from `last` on.
  template <class Fn>
  HWY_INLINE void LoadLast(size_t k, const Fn& fn) const {
    Load<kUnpacked>(k, fn);
  }
};

// A B of this size stays in an L2 of 1 MiB beside rows of A and of the output.
constexpr size_t kStaysBytes = size_t{256} << 10;

/// Prefetches columns of B into the L2, a piece with every second k.
template <typename KGroup>
struct PrefetchColumns {
  HWY_INLINE void operator()() {
    PrefetchToL2(groups);
    groups += piece;
  }
  const KGroup* groups;
  size_t piece;
};
/// Prefetches nothing.
struct PrefetchNothing {
  HWY_INLINE void operator()() const {}
};

/// B as a dot reads it: panels, or unpacked for register tiles, or unpacked and streamed by rows.
template <typename KGroup, bool kUnpacked = false>
struct ViewOfB {
  const KGroup* groups = nullptr;  // of panels, or of the array
  size_t depth = 0;                // groups of k
  size_t cols = 0;                 // that exist, or are padded
  size_t stride = 0;               // unpacked: from one row to the next; 0: packed
  size_t last = 0;  // unpacked: from this row on memory may end behind the last column
  const void* streamed = nullptr;  // row 0, if B is streamed by rows
  size_t rows = 0;                 // of elements

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
    return {nullptr, depth, cols, stride, 0, first, rows};
  }

  /// Columns c, c + 1, … for a tile whose vectors of columns are these.
  template <class At_0, class At_1, class At_2>
  HWY_INLINE auto At(size_t c, At_0 at_0, At_1 at_1, At_2 at_2) const {
    constexpr size_t kVectors = kHasLanes<At_2> ? 3 : 2;
    const size_t to_k = IsUnpacked() ? stride : kVectors * hn::Lanes(hn::ScalableTag<KGroup>());
    return ColumnsOfB<KGroup, kUnpacked, At_0, At_1, At_2>{
        groups + c * (IsUnpacked() ? 1 : depth + 1),
        static_cast<ptrdiff_t>(to_k),
        kUnpacked && kIsPart<At_0> ? depth - last : depth,
        at_0,
        at_1,
        at_2};
  }

  /// The tile of row r prefetches an eighth of the columns after c's, or of the first after the
  /// last, so that eight tiles prefetch all of them. A large B has left the L2 when the next rows
  /// of A are multiplied, and the hardware prefetcher does not reach that far. A small B is still
  /// there, and prefetching costs time, most of all behind the end of the array. Tiles of four rows
  /// take half as long and read panels in order, which the hardware sees (AVX2: 3 % slower with
  /// prefetches).
  auto PrefetchTile([[maybe_unused]] size_t r, [[maybe_unused]] size_t c) const {
    if constexpr (kTilesOf8Rows) {
      return PrefetchFor(r, c);
    } else {
      return PrefetchNothing();
    }
  }

 private:
  PrefetchColumns<KGroup> PrefetchFor(size_t r, size_t c) const {
    const size_t width = kTileVectors * hn::Lanes(hn::ScalableTag<KGroup>());
    if (cols * depth * sizeof(KGroup) <= kStaysBytes) return {groups, 0};
    const bool more = c + width < cols;
    const size_t eighth = r / kTileRows % 8;
    if (!IsUnpacked()) {
      const size_t after = more ? c + width : 0;
      return {groups + after * (depth + 1) + eighth * depth * (width / 8), width / 4};
    }
    // Three vectors are in up to four lines of each row: an eighth is one line of every second row.
    constexpr size_t kLine = 64 / sizeof(KGroup);
    const KGroup* const after = groups + (more ? c + width : 0);
    return {after + eighth / 2 * kLine + eighth % 2 * (depth / 2) * stride, stride};
  }

  HWY_INLINE bool IsUnpacked() const { return kUnpacked && stride != 0; }
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();
#endif
