// A product of few rows of A with an unpacked B, row by row of B as in a GEMV. Packing B, which is
// used once, would take longer than reading it.
#if defined(KILN_FEW_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_ROWS_INL_H_
#undef KILN_FEW_ROWS_INL_H_
#else
#define KILN_FEW_ROWS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "kiln/core/blocks.h"
#include "kiln/core/version.h"
#include "kiln/dot/few/amx-inl.h"
#include "kiln/dot/few/lines-inl.h"
#include "kiln/dot/few/rows_by_columns-inl.h"
#include "kiln/dot/few/streamed-inl.h"
#include "kiln/dot/few/sums-inl.h"
#include "kiln/dot/k_groups-inl.h"
#include "kiln/dot/tile_operands-inl.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of k-group i of columns.
template <class Dot, typename T>
HWY_INLINE auto StreamedKGroups(const T* columns, size_t i, int64_t stride) {
  const hn::ScalableTag<typename Dot::KGroup> dw;
  const T* const first = columns + static_cast<int64_t>(ElementOf<Dot>(i)) * stride;
  return Flip<Dot>(KGroupsAcross<Dot>(dw, first, stride), Dot::kFlip);
}

/// Vectors of k-group i of as many columns as a line has.
template <class Dot, typename T, class... V>
HWY_INLINE void LoadLine([[maybe_unused]] const T* columns, [[maybe_unused]] size_t i,
                         [[maybe_unused]] int64_t stride, [[maybe_unused]] V&... groups) {
#if HWY_TARGET == HWY_AVX3_DL
  InterleaveLine<Dot>(columns + static_cast<int64_t>(ElementOf<Dot>(i)) * stride, stride,
                      groups...);
  ((groups = Flip<Dot>(groups, Dot::kFlip)), ...);
#endif
}

/// AddVectors of `cols` columns in memory, a multiple of kAcross vectors; `b` is the row of group
/// 0. Prefetches the rows of B that are `ahead` elements further on, into the L2, as they have to
/// wait for longer than the L1 keeps them. `ask(bytes)` asks for as many as were read.
template <class Dot, typename T, class Ask = NothingToAsk>
HWY_INLINE void AddKGroups(const KGroupsOfRows<Dot>& groups, size_t rows, const T* b,
                           int64_t stride, int64_t ahead, size_t cols, typename Dot::Acc* sums,
                           size_t sums_stride, const Ask& ask = Ask()) {
  constexpr size_t kLine = kLineBytes / sizeof(T);  // elements
  const size_t n = hn::Lanes(hn::ScalableTag<typename Dot::Acc>());
  const size_t width = kAcross<Dot> * n;
  for (size_t c = 0; c < cols; c += width) {
    for (size_t i = 0; ahead != 0 && c % kLine == 0 && i < kRowsAtOnce<Dot>; ++i) {
      const T* const row = b + static_cast<int64_t>(i) * stride + ahead + c;
      for (size_t line = 0; line < width; line += kLine) PrefetchToL2(row + line);
    }
    const auto load = [&](size_t j) HWY_ATTR {
      return StreamedKGroups<Dot>(b + c + j / kDeep<Dot> * n, j % kDeep<Dot>, stride);
    };
    hn::Vec<hn::ScalableTag<typename Dot::KGroup>> b_0, b_1, b_2, b_3, b_4, b_5, b_6, b_7;
    if constexpr (kInterleavesLines<Dot, T> && Dot::kKPerGroup == 2) {
      LoadLine<Dot>(b + c, 0, stride, b_0, b_4);
      LoadLine<Dot>(b + c, 1, stride, b_1, b_5);
      LoadLine<Dot>(b + c, 2, stride, b_2, b_6);
      LoadLine<Dot>(b + c, 3, stride, b_3, b_7);
    } else if constexpr (kInterleavesLines<Dot, T>) {
      LoadLine<Dot>(b + c, 0, stride, b_0, b_2, b_4, b_6);
      LoadLine<Dot>(b + c, 1, stride, b_1, b_3, b_5, b_7);
    } else {
      b_0 = load(0), b_1 = load(1), b_2 = load(2), b_3 = load(3);
      b_4 = load(4), b_5 = load(5), b_6 = load(6), b_7 = load(7);
    }
    AddVectors<Dot>(groups, rows, sums + c, sums_stride, b_0, b_1, b_2, b_3, b_4, b_5, b_6, b_7);
    ask(kRowsAtOnce<Dot> * width * sizeof(T));
  }
}

/// The same for k-group i alone, where fewer than kDeep are left.
template <class Dot, typename T>
HWY_INLINE void AddKGroup(const KGroupsOfRows<Dot>& groups, size_t i, size_t rows, const T* b,
                          int64_t stride, size_t cols, typename Dot::Acc* sums,
                          size_t sums_stride) {
  for (size_t c = 0; c < cols; c += hn::Lanes(hn::ScalableTag<typename Dot::Acc>())) {
    const auto of_b = StreamedKGroups<Dot>(b + c, i, stride);
    for (size_t r = 0; r < rows; ++r)
      AddProducts<Dot>(groups[r] + i, sums + r * sums_stride + c, of_b);
  }
}

/// The sums of a strip of columns over all of K, a few rows of B at a time. Rows or columns that a
/// k-group or a vector lacks are zeros in a copy.
template <class Dot, class A, class Rows>
HWY_NOINLINE void AddStreamedRows(const A& a, size_t row, size_t rows, Rows b, size_t b_rows,
                                  size_t cols, typename Dot::Acc* sums, size_t sums_stride) {
  using T = std::remove_cvref_t<decltype(*b.first)>;
  [[maybe_unused]] constexpr bool kInMemory = std::is_same_v<Rows, InMemory<T>>;
  const int64_t stride = b.apart;
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (Dot::kAmx != AmxElements::kNone && kInMemory) {
    if (StreamsByAmx<Dot>(rows)) {
      return AddStreamedRowsByAmx<Dot>(a, row, rows, b.first, b_rows, stride, b.IsFar(), cols, sums,
                                       sums_stride);
    }
  }
#endif
  constexpr size_t kStep = kRowsAtOnce<Dot>;
  static_assert(kMostRowsAtOnce<Dot> % kStep == 0);
  const size_t width = kAcross<Dot> * hn::Lanes(hn::ScalableTag<typename Dot::Acc>());
  const size_t whole = cols / width * width;
  const auto ask = [&](size_t bytes) HWY_ATTR { b.Ask(bytes); };
  KGroupsOfRows<Dot> groups;
  constexpr size_t kCopied = 256;  // columns at a time
  HWY_ALIGN T copy[kStep * kCopied];
  const auto add_copied = [&](const T* from, size_t from_rows, size_t begin) HWY_ATTR {
    for (size_t c = begin; c < cols; c += kCopied) {
      const size_t piece = HWY_MIN(cols - c, kCopied), padded = RoundUp(piece, width);
      memset(static_cast<void*>(copy), 0, kStep * padded * sizeof(T));
      for (size_t i = 0; i < from_rows; ++i) {
        memcpy(static_cast<void*>(copy + i * padded), from + static_cast<int64_t>(i) * stride + c,
               piece * sizeof(T));
      }
      const auto copied = static_cast<int64_t>(padded);
      if (from_rows == kStep) {
        AddKGroups<Dot>(groups, rows, copy, copied, /*ahead=*/0, padded, sums + c, sums_stride);
        continue;
      }
      for (size_t i = 0; i < KGroupsOf<Dot>(from_rows); ++i)
        AddKGroup<Dot>(groups, i, rows, copy, copied, padded, sums + c, sums_stride);
    }
  };
  size_t k = 0;
#if HWY_TARGET == HWY_AVX3_DL
  // One or two rows from memory take a twentieth longer so, for a reason that nobody knows yet.
  if constexpr (kInterleavesLines<Dot, T>) {
    bool by_lines = rows > 2;
    if constexpr (kInMemory) by_lines = by_lines || b.is != Distance::kMemory;
    if (by_lines) k = AddStreamedLines<Dot>(a, row, rows, b, b_rows, cols, sums, sums_stride);
  }
#endif
  for (; k < b_rows; k += kStep) {
    const T* const from = b.At(k);
    const size_t left = b_rows - k;
    const size_t count = HWY_MIN(kDeep<Dot>, KGroupsOf<Dot>(left));
    LoadKGroups<Dot>(a, row, rows, k / Dot::kKPerGroup, count, groups);
    if (left < kStep) return add_copied(from, left, 0);
    const auto ahead = b.IsFar() ? static_cast<int64_t>(HWY_MIN(kStep, left - kStep)) * stride : 0;
    AddKGroups<Dot>(groups, rows, from, stride, ahead, whole, sums, sums_stride, ask);
    if (whole < cols) add_copied(from, kStep, whole);
  }
}

/// What undoes the flip of B in a row's sums: it is behind the last k of a packed A, unless that is
/// packed for AMX.
template <class Dot, class A>
HWY_INLINE typename Dot::Acc StartOfRow(const A& a, size_t row) {
  const auto* const groups = a.At(row);
  if (!UsesAmx<Dot>()) return groups[static_cast<ptrdiff_t>(a.depth) * a.to_k];
  using T = typename Dot::A;
  const auto* const elements = reinterpret_cast<const T*>(groups);
  typename Dot::Acc sum = 0;
  for (size_t k = 0; k < a.depth * Dot::kKPerGroup; ++k) sum += elements[k];
  return sum * (std::is_signed_v<T> ? -128 : 128);
}

/// Where a B is that is a block of so many bytes. One or two rows take little more time than the
/// prefetches, which are for nothing where the hardware's suffice: in the last cache (f32 of 1000
/// rows and columns: 10 to 13 % slower with them). Lines of 32 rows, as AMX has them, are more than
/// it foresees.
template <class Dot, class B>
HWY_INLINE Distance DistanceOf(size_t rows, const B& b, size_t b_bytes) {
  const bool far = StreamsByAmx<Dot>(rows) ? b_bytes > (rows == 1 ? 32 : 1) * b.l2_bytes
                                           : rows > 2 || b_bytes > 8 * b.l2_bytes;
  if (!far) return Distance::kClose;
  return b_bytes > b.last_cache_bytes ? Distance::kMemory : Distance::kLastCache;
}

/// Rows of A that are multiplied at a time: parts of equal size, of which the later ones find the
/// strip of B in the L2.
inline size_t RowsOfAPart(size_t rows) {
  return DivUp(rows, HWY_MAX(DivUp(rows, kRowsAtATime), 1));
}

/// Rows `begin` to `end` of A by `b_cols` columns of B, in strips of `cols_of(rows)` columns:
/// `add(row, rows, strip, cols, sums, sums_stride)` adds up those of a strip between `start` and
/// `finish`, which are called for the tag `d`.
template <class Dot, class D, class A, class Add, class Start, class Finish>
HWY_INLINE void MultiplyInStrips(D d, size_t begin, size_t end, const A& a, size_t b_cols,
                                 int64_t (*cols_of)(int64_t rows), const Add& add,
                                 const Start& start, const Finish& finish) {
  using Acc = typename Dot::Acc;
  const hn::ScalableTag<Acc> da;
  HWY_ALIGN Acc sums[kRowsAtATime * SumsStride(StreamedCols(kRowsAtATime))];
  const size_t most = RowsOfAPart(end - begin);
  const size_t strip_cols = Unsigned(cols_of(static_cast<int64_t>(most))),
               sums_stride = SumsStride(strip_cols);
  for (size_t strip = 0; strip < b_cols; strip += strip_cols) {
    const size_t cols = HWY_MIN(strip_cols, b_cols - strip);
    for (size_t row = begin; row < end; row += most) {
      const size_t rows = HWY_MIN(most, end - row);
      [[maybe_unused]] Acc starts[kRowsAtATime];
      if constexpr (Dot::kFlip != 0) {
        for (size_t r = 0; r < rows; ++r)
          starts[r] = StreamsByAmx<Dot>(rows) ? 0 : StartOfRow<Dot>(a, row + r);
      }
      const auto for_sums = [&](const auto& fn) HWY_ATTR {
        for (size_t r = 0; r < rows; ++r) {
          ForLanes(d, cols, [&](auto at, size_t c) HWY_ATTR {
            fn(at, sums + r * sums_stride + c, row + r, strip + c);
          });
        }
      };
      for_sums([&](auto at, Acc* sum, size_t r, size_t c) HWY_ATTR {
        auto first = start(at, r, c);
        if constexpr (Dot::kFlip != 0) first = hn::Add(first, hn::Set(da, starts[r - row]));
        hn::Store(first, da, sum);
      });
      add(row, rows, strip, cols, sums, sums_stride);
      for_sums([&](auto at, const Acc* sum, size_t r, size_t c)
                   HWY_ATTR { finish(at, hn::Load(da, sum), r, c); });
    }
  }
}

/// Pairs of bf16 are multiplied so fast that sums in the L2 would be waited for, unless by AMX (Zen
/// 5, 4 and 8 rows of A: 1.31 and 1.25 times as long with strips of 64 KiB of sums).
template <class Dot>
HWY_INLINE int64_t StripCols(int64_t rows) {
  const bool pairs = Dot::kKPerGroup == 2 && !UsesAmx<Dot>();
  return pairs ? NarrowCols(rows) : StreamedCols(rows);
}

/// What a streamed B is made of.
template <class Dot, class B>
using ElementOfStreamed = std::conditional_t<std::is_void_v<typename B::ItsStored>, typename Dot::B,
                                             typename B::ItsStored>;

/// Where it is, for products of so many rows of A.
template <class Dot, class B>
HWY_INLINE Distance DistanceOfStreamed(size_t rows, const B& b) {
  const size_t bytes =
      (b.by_columns ? b.cols : b.rows) * b.stride * sizeof(ElementOfStreamed<Dot, B>);
  return DistanceOf<Dot>(RowsOfAPart(rows), b, HWY_MAX(b.array_bytes, bytes));
}

/// Adds the products of rows of A with the columns of a strip of it to their sums.
template <class Dot, class A, class B>
HWY_INLINE void AddStreamed(const A& a, size_t row, size_t rows, const B& b, Distance b_is,
                            size_t strip, size_t cols, typename Dot::Acc* sums,
                            size_t sums_stride) {
  if constexpr (B::kIsInPages && Dot::kAmx != AmxElements::kNone) {
    using Whole = typename B::Whole;  // AMX reads no pages, and they have come home
    if (UsesAmx<Dot>())
      return AddStreamed<Dot, A, Whole>(a, row, rows, b, b_is, strip, cols, sums, sums_stride);
  }
  using T = ElementOfStreamed<Dot, B>;
  const auto* const elements = static_cast<const T*>(b.streamed);
  const auto stride = static_cast<int64_t>(b.stride);
  const auto lines = [&](const T* first) {
    if constexpr (B::kIsInPages) {
      return InPages<T>{first, stride, b.pages};
    } else {
      return InMemory<T>{first, stride, b_is};
    }
  };
  if constexpr (kStreamsColumns<Dot, T>) {
    if (b.by_columns) {
      return AddStreamedColumns<Dot>(a, row, rows, /*k=*/0,
                                     lines(elements + static_cast<int64_t>(strip) * stride), b.rows,
                                     cols, sums, sums_stride);
    }
  }
  AddStreamedRows<Dot>(a, row, rows, lines(elements + strip), b.rows, cols, sums, sums_stride);
}

/// MultiplyInStrips with a B in memory.
template <class Dot, class D, class A, class B, class Start, class Finish>
HWY_INLINE void MultiplyStreamed(D d, size_t begin, size_t end, const A& a, const B& b,
                                 const Start& start, const Finish& finish) {
  const Distance b_is = DistanceOfStreamed<Dot>(end - begin, b);
  const auto add =
      [&](size_t row, size_t rows, size_t strip, size_t cols, auto* sums, size_t sums_stride)
          HWY_ATTR { AddStreamed<Dot>(a, row, rows, b, b_is, strip, cols, sums, sums_stride); };
  MultiplyInStrips<Dot>(d, begin, end, a, b.cols, StripCols<Dot>, add, start, finish);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
