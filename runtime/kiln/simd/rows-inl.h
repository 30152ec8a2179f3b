// Loops over rows, some at a time.
#if defined(KILN_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ROWS_INL_H_
#undef KILN_ROWS_INL_H_
#else
#define KILN_ROWS_INL_H_
#endif

#include <stddef.h>

#include <array>
#include <type_traits>

#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/format/edges.h"
#include "kiln/simd/prefetch.h"
#include "kiln/simd/target-inl.h"

#ifndef KILN_SOME_ROWS_
#define KILN_SOME_ROWS_
namespace kiln::inline KILN_ABI {

/// A number of rows that is not a constant.
struct SomeRows {
  size_t count;
  size_t operator()() const { return count; }
};

}  // namespace kiln::inline KILN_ABI
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

using OneRow = std::integral_constant<size_t, 1>;
using FourRows = std::integral_constant<size_t, 4>;
/// With requests of the next ones, as these come from memory.
struct FourRowsAhead : FourRows {};

/// How ForRows takes rows that are added up, of which none is read again.
struct RowsToAdd {
  /// Of `columns`, `apart` from each other. Where they come from memory and follow each other,
  /// several to a page, no CPU sees what is next of four at a time (Zen 4: 0.35 to 0.5 of the speed
  /// of one at a time). Very short ones would wait for their sums.
  template <typename T, int V>
  RowsToAdd(const Tile<T, V>& x, ptrdiff_t apart, size_t columns)
      : ahead(x.stream && apart * kBytes<T> >= kLongRow),
        one_by_one(x.stream && !ahead && apart == static_cast<ptrdiff_t>(columns) &&
                   apart * kBytes<T> >= kShortRow) {}

  bool ahead, one_by_one;

 private:
  static constexpr ptrdiff_t kShortRow = 256, kLongRow = 1024;
  template <typename T>
  static constexpr auto kBytes = static_cast<ptrdiff_t>(sizeof(T));
};

/// Calls fn(rows, first) for the rows from `low` on, `rows()` of them at a time, a constant; one by
/// one at the end.
template <class Fn>
HWY_INLINE void ForRows(size_t low, size_t high, RowsToAdd to_add, const Fn& fn) {
  size_t row = low;
  const size_t ahead = to_add.ahead ? high : 0;
  for (; row + 4 <= ahead; row += 4) fn(FourRowsAhead(), row);
  const size_t together = to_add.one_by_one ? 0 : high;
  for (; row + 4 <= together; row += 4) fn(FourRows(), row);
  for (; row < high; ++row) fn(OneRow(), row);
}
template <class Fn>
HWY_INLINE void ForRows(size_t count, RowsToAdd to_add, const Fn& fn) {
  ForRows(size_t{0}, count, to_add, fn);
}
template <class Fn>
HWY_INLINE void ForRows(size_t low, size_t high, const Fn& fn) {
  size_t row = low;
  for (; row + 4 <= high; row += 4) fn(FourRows(), row);
  for (; row < high; ++row) fn(OneRow(), row);
}
template <class Fn>
HWY_INLINE void ForRows(size_t count, const Fn& fn) {
  ForRows(size_t{0}, count, fn);
}

/// Requests the same lanes of the rows after these. Requests are dropped where there are too many
/// at a time, so each is made twice.
template <class Rows, typename T>
HWY_INLINE void PrefetchRowsToAdd(Rows rows, const T* element, ptrdiff_t apart) {
  if constexpr (std::is_same_v<Rows, FourRowsAhead>) {
    for (size_t k = rows(); k < 2 * rows(); ++k) {
      PrefetchToL2(element + static_cast<ptrdiff_t>(k + rows()) * apart);
      PrefetchToL2(element + static_cast<ptrdiff_t>(k) * apart);
    }
  }
}

/// In which order the rows of two loops are taken that read an input across the order of its own:
/// so many of the inner loop's at a time, for each of the outer one's.
struct ReadOrder {
  /// `to_inner`: from a row to the inner loop's next. Where the input comes from memory its order
  /// is that of the inner loop. Long pieces, however, may take turns, so that rows of the output
  /// are stored some at a time.
  template <typename T, int V>
  ReadOrder(const Tile<T, V>& x, ptrdiff_t to_inner)
      : together(!x.stream                                      ? ~size_t{0}
                 : to_inner * ptrdiff_t{sizeof(T)} > kLongPiece ? 8
                                                                : 1) {}

  size_t together;

 private:
  static constexpr ptrdiff_t kLongPiece = ptrdiff_t{16} << 10;  // bytes
};

/// Calls fn(i, j) for each i of the outer loop and each j of the inner one.
template <class Fn>
HWY_INLINE void ForBoth(size_t outer, size_t inner, ReadOrder order, const Fn& fn) {
  if (order.together == 0) {
    for (size_t i = 0; i < outer; ++i) {
      for (size_t j = 0; j < inner; ++j) fn(i, j);
    }
    return;
  }
  for (size_t first = 0; first < inner; first += order.together) {
    const size_t end = HWY_MIN(first + order.together, inner);
    for (size_t i = 0; i < outer; ++i) {
      for (size_t j = first; j < end; ++j) fn(i, j);
    }
  }
}

/// A vector that several rows use: in a register, where GCC would load it again for each of them,
/// as an instruction that multiplies may as well read memory. Only vectors of 512 bits, of which a
/// core loads one a cycle, and has 32 registers for.
template <class V>
HWY_INLINE V Held(V v) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  asm("" : "+v"(v.raw));
#endif
  return v;
}
/// The same of one before which no load is made that is behind it: of many, that would each take a
/// register until it is used.
template <class V>
HWY_INLINE V HeldInOrder(V v) {
#if defined(__GNUC__)
  asm("" ::: "memory");
#endif
  return Held(v);
}

/// Where a row begins, in a register or on the stack: GCC would compute it again for each vector.
template <typename T>
HWY_INLINE T* Kept(T* row) {
#if defined(__GNUC__)
  asm("" : "+r"(row));
#endif
  return row;
}

/// Calls fn(a, b, c, d) with four rows at a time, from `low` on, and rest(row) with each of those
/// that are left over.
template <class Fn, class Rest>
HWY_INLINE void ForFourRows(size_t low, size_t high, const Fn& fn, const Rest& rest) {
  size_t row = low;
  for (; row + 4 <= high; row += 4) fn(row, row + 1, row + 2, row + 3);
  for (; row < high; ++row) rest(row);
}
template <class Fn, class Rest>
HWY_INLINE void ForFourRows(size_t count, const Fn& fn, const Rest& rest) {
  ForFourRows(size_t{0}, count, fn, rest);
}
template <class Fn>
HWY_INLINE void ForFourRows(size_t count, const Fn& fn) {
  for (size_t row = 0; row + 4 <= count; row += 4) fn(row, row + 1, row + 2, row + 3);
}

/// Calls fn(a, b, c, d) for all of at least four rows: the last turn takes some again.
template <class Fn>
HWY_INLINE void CoverFourRows(size_t count, const Fn& fn) {
  for (size_t row = 0; row < count; row += 4) {
    const size_t first = HWY_MIN(row, count - 4);
    fn(first, first + 1, first + 2, first + 3);
  }
}
/// Or rest(row) with each of fewer than four.
template <class Fn, class Rest>
HWY_INLINE void CoverFourRows(size_t low, size_t high, const Fn& fn, const Rest& rest) {
  const size_t together = high - low < 4 ? low : high;
  for (size_t row = low; row < together; row += 4) {
    const size_t first = HWY_MIN(row, high - 4);
    fn(first, first + 1, first + 2, first + 3);
  }
  for (size_t row = together; row < high; ++row) rest(row);
}
template <class Fn, class Rest>
HWY_INLINE void CoverFourRows(size_t count, const Fn& fn, const Rest& rest) {
  CoverFourRows(size_t{0}, count, fn, rest);
}

/// The same of two rows at a time.
template <class Fn, class Rest>
HWY_INLINE void ForRowPairs(size_t low, size_t high, const Fn& fn, const Rest& rest) {
  size_t row = low;
  for (; row + 2 <= high; row += 2) fn(row, row + 1);
  if (row < high) rest(row);
}
template <class Fn, class Rest>
HWY_INLINE void ForRowPairs(size_t count, const Fn& fn, const Rest& rest) {
  ForRowPairs(size_t{0}, count, fn, rest);
}
template <class Fn>
HWY_INLINE void ForRowPairs(size_t count, const Fn& fn) {
  for (size_t row = 0; row + 2 <= count; row += 2) fn(row, row + 1);
}
template <class Fn>
HWY_INLINE void CoverRowPairs(size_t count, const Fn& fn) {
  for (size_t row = 0; row < count; row += 2) {
    const size_t first = HWY_MIN(row, count - 2);
    fn(first, first + 1);
  }
}
template <class Fn, class Rest>
HWY_INLINE void CoverRowPairs(size_t low, size_t high, const Fn& fn, const Rest& rest) {
  const size_t together = high - low < 2 ? low : high;
  for (size_t row = low; row < together; row += 2) {
    const size_t first = HWY_MIN(row, high - 2);
    fn(first, first + 1);
  }
  if (together < high) rest(together);
}
template <class Fn, class Rest>
HWY_INLINE void CoverRowPairs(size_t count, const Fn& fn, const Rest& rest) {
  CoverRowPairs(size_t{0}, count, fn, rest);
}

/// Calls fn(tile, low, high) for the parts of `count` iterations of a loop that sees a window of x:
/// that of those whose elements are all inside of its array, and those of others, whose tile has
/// what is outside as well.
template <typename T, int V, class Fn>
HWY_INLINE void ForParts(const EdgedTile<T, V>& x, const std::array<EdgeRows, V - 2>& around,
                         EdgeWindow window, size_t count, const Fn& fn) {
  const Tile<T, V> tile = x;
  std::array<size_t, 2> part{0, count};
  if (x.pad != nullptr) part = x.Inside(around, window, count);
  const size_t most = RowTable<T, V>::Iterations(around, window);
  for (size_t low = 0, high; low < count; low = high) {  // in order, as rows may be added up
    if (low == part[0] && low < part[1]) {
      high = part[1];
      fn(tile, low, high);
    } else {
      high = HWY_MIN(low < part[0] ? part[0] : count, low + most);
      const RowTable<T, V> table(x, around, window, low, high);
      fn(table, low, high);
    }
  }
}

/// ForRows with as many rows at a time as there are lanes, and with all that are left at the end.
template <class D, class Fn>
HWY_INLINE void ForRows(D d, size_t count, const Fn& fn) {
  const size_t lanes = hn::Lanes(d);
  size_t row = 0;
  for (; row + lanes <= count; row += lanes) {
    if constexpr (HWY_HAVE_SCALABLE)
      fn(SomeRows{lanes}, row);
    else
      fn(std::integral_constant<size_t, hn::MaxLanes(D())>(), row);
  }
  if (row < count) fn(SomeRows{count - row}, row);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
