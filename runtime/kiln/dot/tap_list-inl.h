// The taps of a dot: windows of A, each with the matrix of B that it is multiplied with.
#if defined(KILN_TAP_LIST_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_TAP_LIST_INL_H_
#undef KILN_TAP_LIST_INL_H_
#else
#define KILN_TAP_LIST_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <type_traits>

#include "kiln/core/tensor.h"
#include "kiln/core/version.h"
#include "kiln/dot/k_groups-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rows of a window: `count` of something, each `stride` elements after the one before.
struct RowLevel {
  size_t count = 1;
  int64_t stride = 0;
};

/// All rows of a window, those of the last level next to each other.
struct RowLevels {
  std::array<RowLevel, kMaxRank> levels{};
  size_t rank = 0;

  RowLevels(std::initializer_list<RowLevel> given) : rank(given.size()) {
    std::copy(given.begin(), given.end(), levels.begin());
  }
};

/// A walk over the rows of windows: how far each is from the first.
class RowWalk {
 public:
  RowWalk(const RowLevels& rows, size_t first) : rows_(rows) {
    for (size_t l = rows.rank; l-- > 0;) {
      const RowLevel& level = rows.levels[l];
      at_[l] = first % level.count;
      first /= level.count;
      offset_ += static_cast<int64_t>(at_[l]) * level.stride;
    }
  }
  int64_t offset() const { return offset_; }
  void Next() {
    for (size_t l = rows_.rank; l-- > 0;) {
      const RowLevel& level = rows_.levels[l];
      offset_ += level.stride;
      if (++at_[l] < level.count) return;
      offset_ -= static_cast<int64_t>(level.count) * level.stride;
      at_[l] = 0;
    }
  }

 private:
  const RowLevels& rows_;
  std::array<size_t, kMaxRank> at_{};
  int64_t offset_ = 0;
};

/// Whether rows of windows may have to be gathered, those of all taps side by side, before tiles
/// read them: where k-groups are not single elements as memory has them. A row may end within one,
/// and AMX reads rows that are evenly apart.
template <class Dot>
constexpr bool kGathersTaps = !std::is_same_v<typename Dot::A, typename Dot::KGroup>;

/// What a register tile knows of a tap.
template <typename KGroup>
struct Tap {
  ptrdiff_t k = 0;                 // from a row of the first tap's window to that of this one
  const KGroup* panels = nullptr;  // packed columns
};

/// The taps of a dot, of which all windows have the same rows and all matrices the same extents.
template <class Dot>
struct Taps {
  using KGroup = typename Dot::KGroup;

  /// K-groups of a row of all windows, if it is gathered, and from one to the next, of which those
  /// in between may hold the start value of StartRow.
  size_t GroupsOfRow() const { return count * groups; }
  size_t ToRow() const { return AmxRowKGroups(GroupsOfRow()); }

  RowLevels rows;
  size_t row_count = 0;  // of which so many are multiplied
  size_t depth;          // elements of each row of a window
  size_t groups;         // its k-groups, as they are packed
  size_t cols = 0;       // of all matrices
  size_t count = 0;
  const typename Dot::A* const* windows = nullptr;  // the first element of each
  const Tap<KGroup>* list = nullptr;
  KGroup* gathered = nullptr;  // memory for rows; null: they are read in place
};

/// Up to kMost taps.
template <class Dot, size_t kMost>
class TapList {
  using A = typename Dot::A;
  using KGroup = typename Dot::KGroup;

 public:
  TapList(std::initializer_list<RowLevel> rows, size_t depth, void* gathered = nullptr)
      : taps_{RowLevels(rows), 0, depth, PackedKGroupsOf<Dot>(depth)} {
    taps_.gathered = static_cast<KGroup*>(gathered);
  }

  /// `b`: packed.
  template <class B>
  HWY_INLINE void Add(const A* a, const B& b) {
    const size_t tap = taps_.count++;
    b.PackTheRest();
    taps_.cols = b.cols;
    windows_[tap] = a;
    list_[tap].panels = b.groups;
    if constexpr (kGathersTaps<Dot>)
      list_[tap].k = static_cast<ptrdiff_t>(tap * taps_.groups);
    else
      list_[tap].k = a - windows_[0];
  }
  /// Only as long as this is where it is.
  const Taps<Dot>& Get(size_t row_count) {
    taps_.row_count = row_count;
    taps_.windows = windows_.data();
    taps_.list = list_.data();
    if constexpr (kGathersTaps<Dot> && kIsPlain<Dot, A> && Dot::kFlip == 0) {
      if (!UsesAmx<Dot>() && AreOfKGroups()) ReadInPlace();
    }
    return taps_;
  }

 private:
  static constexpr int64_t kKPerGroup{Dot::kKPerGroup};

  /// Whether rows begin and end with k-groups that are aligned.
  bool AreOfKGroups() const {
    int64_t odd = static_cast<int64_t>(taps_.depth) % kKPerGroup;
    for (size_t l = 0; l < taps_.rows.rank; ++l) odd |= taps_.rows.levels[l].stride % kKPerGroup;
    for (size_t t = 0; t < taps_.count; ++t)
      odd |= static_cast<int64_t>(reinterpret_cast<uintptr_t>(windows_[t]) % sizeof(KGroup));
    return odd == 0;
  }
  void ReadInPlace() {
    taps_.gathered = nullptr;
    for (size_t t = 0; t < taps_.count; ++t)
      list_[t].k = static_cast<ptrdiff_t>((windows_[t] - windows_[0]) / kKPerGroup);
  }

  Taps<Dot> taps_;
  std::array<const A*, kMost> windows_;
  std::array<Tap<KGroup>, kMost> list_;
};

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
