// Stores past the caches, for outputs that do not fit into them, and rows that are asked for ahead
// of time.
#if defined(KILN_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_STREAM_INL_H_
#undef KILN_STREAM_INL_H_
#else
#define KILN_STREAM_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <array>

#include "kiln/lanes-inl.h"
#include "kiln/tile.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {

/// All lanes of a vector, as Whole; but a store goes past the caches, to an address that is a
/// multiple of its size.
template <class D>
struct Streamed : Whole<D> {
  template <class V, typename T>
  HWY_INLINE void Store(V v, T* p) const {
    const TagFor<RawBits<T>, D> d;
    hn::Stream(ToStorage<T>(v), d, RawPointer(p));
  }

  template <typename T>
  HWY_INLINE void Prefetch(const T*) const {}  // it is not read first
};

/// Whether an output is to be written past the caches in pieces of so many columns: pieces that are
/// whole lines, as memory is slow to take others.
template <typename T, int V>
HWY_INLINE bool StreamsPieces(size_t columns, const Tile<T, V>& to) {
  constexpr size_t kLine = 64;
  auto bytes = reinterpret_cast<uintptr_t>(to.data) | columns * sizeof(T);
  for (int v = 0; v + 1 < V; ++v) bytes |= static_cast<uintptr_t>(to.stride[v]) * sizeof(T);
  return to.stream && bytes % kLine == 0;
}

/// ForLanes for a function whose only store is to `to`, to + 1 … The operand's WaitOut makes what
/// was stored visible to others.
template <class D, typename T, class Fn>
HWY_INLINE void StreamLanes(D d, size_t count, bool stream, const T* to, Fn&& fn) {
  const size_t n = hn::Lanes(d);
  const size_t bytes = n * sizeof(T);
  const size_t beyond = reinterpret_cast<uintptr_t>(to) % bytes;  // the last multiple
  // Vectors of less than 128 bits have no such store; short rows are not worth two more loops.
  if (!stream || bytes < 16 || beyond % sizeof(T) != 0 || count < 4 * n) {
    ForLanes(d, count, fn);
    return;
  }
  size_t i = beyond == 0 ? 0 : (bytes - beyond) / sizeof(T);
  if (i != 0) fn(Part<D>(i), size_t{0});
  for (; i + n <= count; i += n) fn(Streamed<D>(), i);
  if (i < count) fn(Part<D>(count - i), i);
}

/// Where the i of a pass over all `count` elements is, asks for a part of the same length of a row
/// that is read in another pass: by the L2, since the L1 has to keep what this pass reads.
template <size_t kPart, size_t kParts, typename T>
HWY_INLINE void PrefetchPart(const T* row, size_t i, size_t count) {
  const T* const there = row + (kPart * count + i) / kParts;
#if HWY_COMPILER_GCC  // or clang
  __builtin_prefetch(there, /*write=*/0, /*locality=*/2);
#else
  hwy::Prefetch(there);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();

#endif  // KILN_STREAM_INL_H_
