// What looks along a line of elements, as kernels call it; compiled once, into the library:
//
//   CumsumLine(from, count, to)         running sums; CumprodLine CummaxLine CumminLine alike
//   SortLine(from, count, to, room)     elements by size; SortLine<kDescending>: the largest first
//   SortLines(from, count, to, lines, room)  the same of lines side by side: from, to are the first
//   ArgsortLine(from, count, to, room)  i32 positions of the same; equals keep their order
//   TopOfLine(from, count, k, to, room) i32 positions of the k largest; of equals the first first
//
// NaN is the largest of all. Zeros are equal, but for TopOfLine, to which 0 is larger than -0.
// `room` has RoomWords(count) elements, of lines side by side RoomWordsOfLines(count). Nothing of
// `to` is in the memory of `from`. All results but sums and products are the same for every target.
#if defined(KILN_LINE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_LINE_INL_H_
#undef KILN_LINE_INL_H_
#else
#define KILN_LINE_INL_H_
#endif

#include <type_traits>

#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/simd/target-inl.h"

#ifndef KILN_LINE_ONCE_
#define KILN_LINE_ONCE_
namespace kiln::inline KILN_ABI {

/// Elements `stride` apart; `stream`: neighbours are written past the caches.
template <typename T>
struct Line {
  T* first;
  int64_t stride;
  bool stream = false;
};
template <typename T>
Line(T*, int64_t) -> Line<T>;
template <typename T>
Line(T*, int64_t, bool) -> Line<T>;

enum class Sorted { kAscending, kDescending };
inline constexpr Sorted kAscending = Sorted::kAscending, kDescending = Sorted::kDescending;

/// A bool is sorted as the byte that it is.
template <typename T>
using Sortable = std::conditional_t<std::is_same_v<std::remove_const_t<T>, bool>, uint8_t,
                                    std::remove_const_t<T>>;

/// A key and a position for each element, and two vectors of what is larger than all.
constexpr size_t RoomWords(size_t count) { return 2 * count + 64; }
/// Of lines side by side so many bytes of keys are put in order at a time.
inline constexpr size_t kBytesOfRow = 128;
constexpr size_t RoomWordsOfLines(size_t count) { return kBytesOfRow / 8 * count + 64; }

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_LINE_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

template <typename T>
void CumsumLineOf(Line<const T> from, size_t count, Line<T> to);
template <typename T>
void CumprodLineOf(Line<const T> from, size_t count, Line<T> to);
template <typename T>
void CummaxLineOf(Line<const T> from, size_t count, Line<T> to);
template <typename T>
void CumminLineOf(Line<const T> from, size_t count, Line<T> to);
template <Sorted kOrder, typename T>
void SortLineOf(Line<const T> from, size_t count, Line<T> to, int64_t* room);
template <Sorted kOrder, typename T>
void SortLinesOf(Line<const T> from, size_t count, Line<T> to, size_t lines, int64_t* room);
template <Sorted kOrder, typename T>
void ArgsortLineOf(Line<const T> from, size_t count, Line<int32_t> to, int64_t* room);
template <typename T>
void TopOfLineOf(Line<const T> from, size_t count, size_t k, Line<int32_t> to, int64_t* room);

// A line to read may be one to write that is not written.
template <typename F, typename T>
HWY_INLINE void CumsumLine(Line<F> from, size_t count, Line<T> to) {
  CumsumLineOf<T>({from.first, from.stride}, count, to);
}
template <typename F, typename T>
HWY_INLINE void CumprodLine(Line<F> from, size_t count, Line<T> to) {
  CumprodLineOf<T>({from.first, from.stride}, count, to);
}
template <typename F, typename T>
HWY_INLINE void CummaxLine(Line<F> from, size_t count, Line<T> to) {
  CummaxLineOf<T>({from.first, from.stride}, count, to);
}
template <typename F, typename T>
HWY_INLINE void CumminLine(Line<F> from, size_t count, Line<T> to) {
  CumminLineOf<T>({from.first, from.stride}, count, to);
}
template <typename F>
HWY_INLINE Line<const Sortable<F>> ToSort(Line<F> line) {
  return {reinterpret_cast<const Sortable<F>*>(line.first), line.stride};
}
template <Sorted kOrder = kAscending, typename F, typename T>
HWY_INLINE void SortLine(Line<F> from, size_t count, Line<T> to, int64_t* room) {
  using S = Sortable<T>;
  SortLineOf<kOrder, S>(ToSort(from), count, {reinterpret_cast<S*>(to.first), to.stride}, room);
}
template <Sorted kOrder = kAscending, typename F, typename T>
HWY_INLINE void SortLines(Line<F> from, size_t count, Line<T> to, size_t lines, int64_t* room) {
  using S = Sortable<T>;
  SortLinesOf<kOrder, S>(ToSort(from), count, {reinterpret_cast<S*>(to.first), to.stride}, lines,
                         room);
}
template <Sorted kOrder = kAscending, typename F>
HWY_INLINE void ArgsortLine(Line<F> from, size_t count, Line<int32_t> to, int64_t* room) {
  ArgsortLineOf<kOrder, Sortable<F>>(ToSort(from), count, to, room);
}
template <typename F>
HWY_INLINE void TopOfLine(Line<F> from, size_t count, size_t k, Line<int32_t> to, int64_t* room) {
  TopOfLineOf<Sortable<F>>(ToSort(from), count, k, to, room);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_LINE_INL_H_
