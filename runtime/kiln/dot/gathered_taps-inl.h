// Rows of the windows of taps, side by side as k-groups: where these are not the elements of
// memory, such as pairs of bf16, and where AMX reads rows that are evenly apart. Copying takes some
// hundredths of the time, as each row is multiplied with all columns.
#if defined(KILN_GATHERED_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_GATHERED_TAPS_INL_H_
#undef KILN_GATHERED_TAPS_INL_H_
#else
#define KILN_GATHERED_TAPS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "kiln/core/machine.h"
#include "kiln/core/version.h"
#include "kiln/dot/tap_list-inl.h"
#include "kiln/dot/tile_operands-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// How many rows are gathered at a time: they stay in the L2 while all panels of B are read.
template <class Dot>
size_t GatheredRows(size_t to_row) {
  constexpr size_t kTile = kMostTileRows<typename Dot::Arithmetic>;
  constexpr size_t kEnough = 128;  // for a B that comes from beyond the L2
  const size_t bytes = to_row * sizeof(typename Dot::KGroup);
  const size_t fit = kTypicalCpu.l2_bytes / 4 / HWY_MAX(bytes, 1);
  return HWY_MAX(HWY_MIN(fit, kEnough) / kTile, 1) * kTile;
}

/// The memory that a dot of so many taps needs for its rows.
template <class Dot>
size_t GatheredBytes(size_t taps, size_t depth) {
  if constexpr (!kGathersTaps<Dot>) return 0;
  const size_t to_row = AmxRowKGroups(taps * PackedKGroupsOf<Dot>(depth));
  return GatheredRows<Dot>(to_row) * to_row * sizeof(typename Dot::KGroup);
}

/// Calls fn(from, to) for each row from `begin` on and before `end`, of each window.
template <class Dot, class Fn>
HWY_INLINE void ForRowsOfTaps(const Taps<Dot>& taps, size_t begin, size_t end, const Fn& fn) {
  const auto* const* const windows = taps.windows;
  const size_t count = taps.count, groups = taps.groups, to_row = taps.ToRow();
  RowWalk walk(taps.rows, begin);
  auto* row = taps.gathered;
  for (size_t r = begin; r < end; ++r, row += to_row, walk.Next()) {
    const int64_t offset = walk.offset();
    auto* to = row;
    for (size_t t = 0; t < count; ++t, to += groups) fn(windows[t] + offset, to);
  }
}

/// Copies rows of kWord to 2 * kWord bytes as two pieces, which may overlap; what the last k-groups
/// lack are zeros.
template <size_t kWord, class Dot>
HWY_INLINE void GatherWords(const Taps<Dot>& taps, size_t begin, size_t end) {
  const size_t bytes = taps.depth * sizeof(typename Dot::A);
  const size_t zeros = taps.groups * sizeof(typename Dot::KGroup) - bytes;
  ForRowsOfTaps(taps, begin, end, [=](const auto* from, auto* to) HWY_ATTR {
    const char* const elements = reinterpret_cast<const char*>(from);
    char* const at = reinterpret_cast<char*>(to);
    if (zeros > sizeof(*to)) {
      memset(at + bytes, 0, zeros);
    } else if (zeros != 0) {
      memset(at + bytes + zeros - sizeof(*to), 0, sizeof(*to));
    }
    size_t done = 0;
    if constexpr (kWord == 32) {
      for (; done + 2 * kWord < bytes; done += 2 * kWord)
        memcpy(at + done, elements + done, 2 * kWord);
    }
    char words[2][kWord];
    const size_t first = HWY_MIN(done, bytes - kWord), second = bytes - kWord;
    memcpy(words[0], elements + first, kWord);
    memcpy(words[1], elements + second, kWord);
    memcpy(at + first, words[0], kWord);
    memcpy(at + second, words[1], kWord);
  });
}

/// K-groups that are the elements of memory as they are.
template <class Dot>
HWY_INLINE void GatherPlain(const Taps<Dot>& taps, size_t begin, size_t end) {
  const size_t bytes = taps.depth * sizeof(typename Dot::A);
  if (bytes >= 32) return GatherWords<32>(taps, begin, end);
  if (bytes >= 16) return GatherWords<16>(taps, begin, end);
  if (bytes >= 8) return GatherWords<8>(taps, begin, end);
  if (bytes >= 4) return GatherWords<4>(taps, begin, end);
  if (bytes >= 2) return GatherWords<2>(taps, begin, end);
  if (bytes == 1) GatherWords<1>(taps, begin, end);
}

/// K-groups of elements that become wider.
template <class Dot>
HWY_INLINE void GatherWidened(const Taps<Dot>& taps, size_t begin, size_t end) {
  using A = typename Dot::A;
  constexpr hn::ScalableTag<typename Dot::KGroup> d;
  constexpr size_t kLeast = Dot::kSwapsPairs ? 2 : 1;  // that are whole without those behind
  constexpr size_t kMost = HWY_MAX(hn::MaxLanes(d), kLeast) * Dot::kKPerGroup;
  const size_t n = hn::Lanes(d), whole = HWY_MAX(n, kLeast);
  const size_t depth = taps.depth, groups = taps.groups;
  ForRowsOfTaps(taps, begin, end, [=](const A* from, typename Dot::KGroup* to) HWY_ATTR {
    size_t k = 0, left = depth;
    for (; left >= whole * Dot::kKPerGroup; left -= whole * Dot::kKPerGroup) {
      for (const size_t after = k + whole; k < after; k += n)
        hn::StoreU(KGroupsAlong<Dot>(d, from, k), d, to + k);
    }
    if (k == groups) return;
    HWY_ALIGN A rest[kMost] = {};
    memcpy(static_cast<void*>(rest), from + (depth - left), left * sizeof(A));
    for (size_t i = 0; k < groups; ++k, ++i) to[k] = KGroupAt<Dot>(rest, i);
  });
}

/// Behind each row, what undoes the flip of B.
template <class Dot>
HWY_INLINE void StoreStarts(const Taps<Dot>& taps, size_t rows) {
  const hn::ScalableTag<int32_t> d;
  const size_t n = hn::Lanes(d), groups = taps.GroupsOfRow();
  int32_t* row = taps.gathered;
  for (size_t r = 0; r < rows; ++r, row += taps.ToRow()) {
    auto sum = hn::Zero(d);
    const auto ones = hn::Set(d, 0x01010101);
    size_t k = 0;
    for (; k + n <= groups; k += n) sum = Dot::Step(hn::LoadU(d, row + k), ones, sum);
    int32_t start =
        hn::GetLane(hn::SumOfLanes(d, Dot::Step(LoadFirst(d, row + k, groups - k), ones, sum)));
    // As in PanelAStarts.
    row[groups] = start * (std::is_signed_v<typename Dot::B> ? -128 : 128);
  }
}

/// Gathers these rows of all windows.
template <class Dot>
HWY_NOINLINE void GatherTaps(const Taps<Dot>& taps, size_t begin, size_t end) {
  if constexpr (kIsPlain<Dot, typename Dot::A>) {
    GatherPlain(taps, begin, end);
  } else {
    GatherWidened(taps, begin, end);
  }
  if constexpr (Dot::kFlip != 0) {
    if (!UsesAmx<Dot>()) StoreStarts(taps, end - begin);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
