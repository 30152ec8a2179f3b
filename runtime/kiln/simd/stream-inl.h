// Streaming stores, for outputs that do not fit into the caches, and prefetches of later rows.
#if defined(KILN_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_STREAM_INL_H_
#undef KILN_STREAM_INL_H_
#else
#define KILN_STREAM_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <type_traits>

#include "kiln/core/machine.h"
#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/prefetch.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

constexpr size_t kLaterBytes = kPrefetchAheadBytes;

/// About kLaterBytes after an element of a row of `count`, of which `next` is the one in the next
/// row: so many rows later, since rows need not be close.
template <typename T>
HWY_INLINE const T* LaterRow(const T* element, const T* next, size_t count) {
  const size_t bytes = BytesFor<T>(count);
  if (bytes >= 4 * kLaterBytes) return element + 8 * kLaterBytes / kBitsOf<T>;
  const int shift =
      1 + (bytes < kLaterBytes / 2) + (bytes < kLaterBytes / 4) + (bytes < kLaterBytes / 8);
  return element + (next - element) * (ptrdiff_t{1} << shift);
}

/// Prefetches the same columns some rows later. Rows of a matrix are in pages of their own, where
/// the hardware sees nothing coming; those behind a block are the first ones of the next.
template <class Pointer>
HWY_INLINE void PrefetchRowsAhead(const Pointer& element, const Pointer& next) {
  constexpr ptrdiff_t kRows = 16;
  PrefetchToL1(element + kRows * (next - element));
}

/// Where a tile has the element 32 behind another one, row by row; the last one, if there are
/// fewer, and the same one where all of the tile is outside of its array.
template <typename T, int V, typename... I>
HWY_INLINE T* LaterOf(const Tile<T, V>& tile, I... indices) {
  constexpr size_t kBehind = 32;
  bool dense = true;
  int64_t count = 1;
  for (int v = V; v-- > 0; count *= static_cast<int64_t>(tile.high[v])) {
    if (tile.high[v] == 0) return tile.At(indices...);
    dense = dense && tile.stride[v] == count;
  }
  // What holds for all elements of a tile is known before the loops over them.
  if (dense) {
    T* const later = tile.At(indices...) + kBehind;
    T* const last = tile.data + (count - 1);
    return later < last ? later : last;
  }
  std::array<size_t, V> at{static_cast<size_t>(indices)...};
  at[V - 1] += kBehind;
  for (int v = V; --v > 0;) {
    for (; at[v] >= tile.high[v]; ++at[v - 1]) at[v] -= tile.high[v];
  }
  if (at[0] >= tile.high[0]) {
    for (int v = 0; v < V; ++v) at[v] = tile.high[v] - 1;
  }
  T* later = tile.data;
  for (int v = 0; v < V; ++v) later += static_cast<int64_t>(at[v]) * tile.stride[v];
  return later;
}

/// Prefetches a row of `count` elements; of a long one its beginning, behind which the hardware's
/// own prefetcher goes on.
template <typename T>
HWY_INLINE void PrefetchRow(const T* row, size_t count) {
  constexpr size_t kMostBytes = 2048;
  const size_t bytes = HWY_MIN(BytesFor<T>(count), kMostBytes);
  const auto* const first = reinterpret_cast<const char*>(row);
  for (size_t b = 0; b < bytes; b += kLineBytes) PrefetchToL2(first + b);
}

/// All lanes of a vector, as Whole; but its stores are streaming ones, to addresses that are
/// multiples of its size.
template <class D>
struct Streamed : Whole<D> {
  bool prefetches;  // what is read once

  template <class V, typename T>
  HWY_INLINE void Store(V v, T* p) const {
    const TagFor<RawBits<T>, D> d;
    hn::Stream(ToStorage<T>(v), d, RawPointer(p));
  }
  template <typename T>
  HWY_INLINE void Copy(const T* from, T* to) const {
    const TagFor<RawBits<T>, D> d;
    hn::Stream(hn::LoadU(d, RawPointer(from)), d, RawPointer(to));
  }

  static constexpr bool kStoresPastCaches = true;
  template <typename T>
  HWY_INLINE void PrefetchStored(const T*, ptrdiff_t) const {}  // it is not read first

  template <typename T>
  HWY_INLINE void PrefetchStream(const T* row, const T* next, size_t i, size_t count) const {
    if (prefetches) PrefetchToL2(LaterRow(row, next, count) + i);
  }
  template <typename T>
  HWY_INLINE void PrefetchStream(const T* p) const {
    if (prefetches) PrefetchToL2(p + 8 * kLaterBytes / kBitsOf<T>);
  }

  // Of rows whose parts are read by turns no CPU sees what is next. Requests are dropped where
  // there are too many at a time, so each is made twice.
  template <typename T>
  HWY_INLINE void PrefetchParts(const T* p) const {
    PrefetchToL2(p + 4 * kLaterBytes / kBitsOf<T>);
    PrefetchToL2(p + 2 * kLaterBytes / kBitsOf<T>);
  }
  /// Of short pieces of rows.
  template <typename T>
  HWY_INLINE void PrefetchParts(const T* p, ptrdiff_t to_row) const {
    PrefetchToL2(p + 16 * to_row);
    PrefetchToL2(p + 8 * to_row);
  }
};

/// Whether an output is to be written by streaming stores in pieces of so many columns, which have
/// to be whole lines.
template <typename T, int V>
HWY_INLINE bool StreamsPieces(size_t columns, const Tile<T, V>& to) {
  if (kIsPacked<T>) return false;
  auto bytes = reinterpret_cast<uintptr_t>(to.data) | columns * sizeof(T);
  for (int v = 0; v + 1 < V; ++v) bytes |= static_cast<uintptr_t>(to.stride[v]) * sizeof(T);
  return to.stream && bytes % kLineBytes == 0;
}

/// Whether streaming stores to all of them may begin at the same lane.
template <typename T, typename... Others>
HWY_INLINE bool AreAlignedAlike(const T* first, const Others*... others) {
  static_assert(((sizeof(T) == sizeof(Others)) && ...));
  const auto place = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % kLineBytes; };
  return ((place(first) == place(others)) && ...);
}

/// A line of each of some outputs, or some of each, before they are streamed.
template <typename T, size_t kStreams, size_t kBytes = kLineBytes>
struct Lines {
  static constexpr size_t kElements = kBytes / sizeof(T);
  alignas(kLineBytes) RawBits<T> lines[kStreams][kElements];
  RawBits<T>* to[kStreams];

  /// The first `elements`, which are whole lines, of the first `count`.
  HWY_INLINE void Stream(size_t count, size_t elements) const {
    const hn::ScalableTag<RawBits<T>> d;
    for (size_t k = 0; k < count; ++k) {
      for (size_t i = 0; i < elements; i += hn::Lanes(d))
        hn::Stream(hn::Load(d, lines[k] + i), d, to[k] + i);
    }
  }
};

/// As Streamed, but that each store is to the next ones of `lines`, at `part`. The function that
/// gets it stores by the one that it got, and by no copy of that. (A number of the next one that is
/// in memory would have each store wait for the one before.)
template <class D, class OfLines>
struct IntoLines : Streamed<D> {
  OfLines& of;
  mutable size_t next;
  size_t part;

  HWY_INLINE IntoLines(OfLines& lines, size_t first, size_t element)
      : of(lines), next(first), part(element) {
    this->prefetches = kPrefetchesStreams;
  }
  template <class V, typename T>
  HWY_INLINE void Store(V v, T* p) const {
    const TagFor<RawBits<T>, D> d;
    hn::Store(ToStorage<T>(v), d, Next(p));
  }
  template <typename T>
  HWY_INLINE void Copy(const T* from, T* p) const {
    const TagFor<RawBits<T>, D> d;
    hn::Store(hn::LoadU(d, RawPointer(from)), d, Next(p));
  }

 private:
  template <typename T>
  HWY_INLINE RawBits<T>* Next(T* p) const {
    const size_t k = next++;
    if (part == 0) of.to[k] = RawPointer(p);
    return of.lines[k] + part;
  }
};

/// From so many outputs on, lines are stored whole: a Zen 3 takes three times as long for halves of
/// three by turns.
constexpr size_t kStreamsByTurns = HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2 ? 3 : SIZE_MAX;

/// ForLanes for a function whose only stores, but those by `at.Cached()`, are to `to`, to + 1 … and
/// to others that are aligned alike: `kStreams` stores in all, in the same order in each call. The
/// operands' WaitOut makes what was stored visible to others.
template <size_t kStreams = 1, class D, typename T, class Fn>
HWY_INLINE void StreamLanes(D d, size_t count, bool stream, const T* to, Fn&& fn) {
  if constexpr (kIsPacked<T>) {
    ForLanes(d, count, fn);
  } else {
    const size_t n = hn::Lanes(d);
    const size_t bytes = n * sizeof(T);
    constexpr bool kOfLines = kStreams >= kStreamsByTurns;
    const size_t unit = kOfLines ? kLineBytes : bytes;
    const size_t beyond = reinterpret_cast<uintptr_t>(to) % unit;  // the last multiple
    // Vectors of less than 128 bits have no such store; short rows are not worth two more loops,
    // which those of whole lines do not need.
    const bool is_lines = (reinterpret_cast<uintptr_t>(to) | count * sizeof(T)) % kLineBytes == 0;
    if (!stream || bytes < 16 || beyond % sizeof(T) != 0 || (count < 4 * n && !is_lines)) {
      ForLanes(d, count, fn);
      return;
    }
    size_t i = beyond == 0 ? 0 : (unit - beyond) / sizeof(T);
    if constexpr (kOfLines) {
      constexpr size_t kLine = kLineBytes / sizeof(T);
      ForLanes(d, i, fn);
      Lines<T, kStreams> lines;
      for (; i + kLine <= count; i += kLine) {
        for (size_t part = 0; part < kLine; part += n)
          fn(IntoLines<D, Lines<T, kStreams>>(lines, 0, part), i + part);
        lines.Stream(kStreams, kLine);
      }
      for (; i + n <= count; i += n) fn(Whole<D>(), i);
    } else {
      Streamed<D> streamed;
      streamed.prefetches = kPrefetchesStreams;
      if (i != 0) fn(Part<D>(i), size_t{0});
      for (; i + n <= count; i += n) fn(streamed, i);
    }
    if (i < count) fn(Part<D>(count - i), i);
  }
}

/// Prefetches the next row, from element i of a pass over a row of `count`. If several rows fit
/// into the L1, the first pass prefetches into it, and a
/// later row into the L2. Longer rows are prefetched into the L2 alone, as the L1 has to keep what
/// passes read: each pass prefetches a share, from kFrom to kTo of kParts.
template <size_t kFrom, size_t kTo, size_t kParts, typename T>
HWY_INLINE void PrefetchNextRow(const T* row, const T* next, size_t i, size_t count) {
  if (BytesFor<T>(count) > size_t{kShortRowBytes}) {
    PrefetchToL2(next + (kFrom * count + (kTo - kFrom) * i) / kParts);
  } else if (kFrom == 0) {
    PrefetchToL1(next + i);
    PrefetchToL2(LaterRow(row, next, count) + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_STREAM_INL_H_
