// Operands of a dot that a body computes, such as dequantised weights: packed out of registers, and
// never in memory as a whole.
//
// `fn(at, row, col)` gives the elements of a row from a column on, as the vector that represents
// them; rows and columns are those of the operand as it is multiplied. A B may be given by its
// columns instead, as in dot(x, (w * scale).T): `fn(at, col, row)`, from a row on. Where it is
// called in a loop it is copied first: stores of vectors may alias all but what is a function's
// own.
#if defined(KILN_COMPUTED_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_COMPUTED_INL_H_
#undef KILN_COMPUTED_INL_H_
#else
#define KILN_COMPUTED_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kiln/core/version.h"
#include "kiln/dot/panels-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// An operand of these extents, as packing takes it: a Source without memory.
template <class Fn, bool kByColumns = false>
struct Computed {
  const Fn& fn;
  size_t extent[2];

  static constexpr bool IsTransposed() { return kByColumns; }
  /// With columns as rows; others never are transposed.
  Computed Transposed() const { return {fn, {extent[1], extent[0]}}; }
};

/// A rectangle of it, with zeros where it ends: of rows, or of columns as rows.
template <typename As, class Fn, bool kByColumns>
HWY_INLINE Fetched<As> Fetch(const Computed<Fn, kByColumns>& from, size_t r, size_t c, size_t rows,
                             size_t cols, As* HWY_RESTRICT buffer) {
  const size_t inside = HWY_MIN(cols, HWY_MAX(from.extent[1], c) - c);
  for (size_t i = 0; i < rows; ++i) {
    As* const row = buffer + i * cols;
    const size_t count = r + i < from.extent[0] ? inside : 0;
    ForLanes(kFloats, count,
             [&](auto at, size_t j) HWY_ATTR { at.Store(from.fn(at, r + i, c + j), row + j); });
    memset(static_cast<void*>(row + count), 0, (cols - count) * sizeof(As));
  }
  return {buffer, static_cast<int64_t>(cols)};
}

/// As PackA does a tile.
template <class As, class Fn>
HWY_INLINE auto PackAOf(size_t rows, size_t k, void* to, const Fn& fn) {
  using Format = PackedA<As>;
  auto* const groups = static_cast<typename Format::KGroup*>(to);
  PackAFrom<DotOf<As>>(Computed<Fn>{fn, {rows, k}}, groups);
  return Format::ViewOfPacked(groups, rows, k);
}

/// A vector of k-group i of the columns from c on, out of registers.
template <class Dot, class Fn>
HWY_INLINE auto ComputedKGroups(const Fn& fn, size_t i, size_t c) {
  using B = typename Dot::B;
  const Whole<hn::ScalableTag<float>> at;
  if constexpr (Dot::kKPerGroup == 1) {
    const auto elements = fn(at, ElementOf<Dot>(i), c);
    if constexpr (kIsNarrowFloat<B>) {
      return RoundTo<B>(elements);
    } else {
      return elements;
    }
  } else {
    static_assert(std::is_same_v<B, bf16>, "bytes are packed");
    const auto even = fn(at, ElementOf<Dot>(i), c), odd = fn(at, ElementOf<Dot>(i) + 1, c);
    return hn::BitCast(hn::ScalableTag<typename Dot::KGroup>(), RoundedPairs(even, odd));
  }
}

/// PackBFrom, of a B that is computed: vectors of it go to their panels out of registers, but for
/// what its last row or column leaves incomplete.
template <class D, class Fn>
HWY_NOINLINE void PackComputedB(const Computed<Fn>& b, typename D::KGroup* to) {
  using KGroup = typename D::KGroup;
  const hn::ScalableTag<KGroup> dw;
  const size_t n = hn::Lanes(dw), cols = PaddedCols<KGroup>(b.extent[1]);
  const size_t depth = PackedKGroupsOf<D>(b.extent[0]);
  HWY_ALIGN typename D::B buffer[D::kKPerGroup * hn::MaxLanes(dw)];
  const Fn fn = b.fn;
  for (size_t k = 0; k < depth; ++k) {
    const size_t row = ElementOf<D>(k);
    const size_t whole = row + D::kKPerGroup <= b.extent[0] ? b.extent[1] : 0;
    for (size_t c = 0, width = 0; c < cols; c += width) {
      width = PanelVectors<KGroup>(c, cols) * n;
      KGroup* HWY_RESTRICT panel = to + c * (depth + 1) + width * k;
      for (size_t at = c; at < c + width; at += n, panel += n) {
        if (HWY_LIKELY(at + n <= whole)) {
          hn::Store(ComputedKGroups<D>(fn, k, at), dw, panel);
        } else {
          Fetch(b, row, at, D::kKPerGroup, n, buffer);
          hn::Store(KGroupsAcross<D>(dw, buffer, static_cast<int64_t>(n)), dw, panel);
        }
      }
    }
  }
}

/// B as panels, or, for few rows of A, the function that computes it where it is multiplied.
template <typename KGroup, class Fn, bool kByColumns = false>
struct ViewOfComputedB : ViewOfB<KGroup> {
  Fn fn;
  bool is_packed;
};

/// Whether a B that is computed is ever multiplied where it is computed. What undoes the flip of
/// bytes is known to packed ones, and they are packed by way of memory.
template <class D>
constexpr bool kStreamsComputed = sizeof(typename D::B) != 1;
template <class D>
constexpr bool kStreamsComputedColumns = kStreamsComputed<D>&& kStreamsColumns<D, typename D::B>;

/// Tiles of AMX add to sums in memory where B is not packed: of more rows that takes longer.
constexpr size_t kRowsByAmx = 8;

/// As PackB does a tile, for `a_rows` rows of A.
template <class As, class Fn>
HWY_INLINE auto PackBOf(size_t a_rows, size_t k, size_t cols, void* to, const Fn& fn) {
  using Format = PackedB<As>;
  using D = DotOf<As>;
  using KGroup = typename Format::KGroup;
  auto* const groups = static_cast<KGroup*>(to);
  ViewOfComputedB<KGroup, Fn> view{ViewOfB<KGroup>::OfPanels(groups, Format::Depth(k), cols), fn,
                                   true};
  view.rows = k;
  view.is_packed = !kStreamsComputed<D> || a_rows > (UsesAmx<D>() ? kRowsByAmx : kRowsAtATime);
  const Computed<Fn> b{fn, {k, cols}};
  if constexpr (!kStreamsComputed<D>) {
    PackBFrom<D>(b, groups);
  } else if (view.is_packed) {
    PackComputedB<D>(b, groups);
  }
  return view;
}

/// The same of a B that is given by its columns.
template <class As, class Fn>
HWY_INLINE auto PackBTOf(size_t a_rows, size_t k, size_t cols, void* to, const Fn& fn) {
  using Format = PackedB<As>;
  using D = DotOf<As>;
  using KGroup = typename Format::KGroup;
  auto* const groups = static_cast<KGroup*>(to);
  ViewOfComputedB<KGroup, Fn, true> view{ViewOfB<KGroup>::OfPanels(groups, Format::Depth(k), cols),
                                         fn, true};
  view.rows = k;
  view.is_packed =
      !kStreamsComputedColumns<D> || static_cast<int64_t>(a_rows) > FewRows<D>(/*by_columns=*/true);
  if (view.is_packed) PackBFrom<D>(Computed<Fn, true>{fn, {k, cols}}, groups);
  return view;
}

#if HWY_TARGET == HWY_AVX3_DL
/// AddComputedRows for one row of bf16, as AMX would add (AddRowAsTiles). B is computed into
/// memory, a few rows at a time, as subnormal numbers are zeros while they are multiplied, and not
/// before.
template <class A, class Fn>
HWY_INLINE void AddComputedRowAsTiles(const A& a, size_t row, const Computed<Fn>& b, size_t first,
                                      size_t cols, float* sums) {
  constexpr size_t kStep = kAmxStep<Dot<bf16>>, kPiece = 256;  // columns at a time
  const hn::ScalableTag<float> d;
  const Whole<decltype(d)> at;
  HWY_ALIGN bf16 rows_of_b[kRowsAsAmx * kPiece];
  HWY_ALIGN StepSumsOfLine of_step[kColsAsAmx / kAmxCols] = {};
  KGroupsAsAmx groups;
  const Fn fn = b.fn;
  for (size_t k = 0; k < RoundUp(b.extent[0], kStep); k += kRowsAsAmx) {
    LoadKGroupsAsAmx(a, row, k, groups);
    for (size_t c = 0; c < cols; c += kPiece) {
      const size_t piece = HWY_MIN(cols - c, kPiece), padded = RoundUp(piece, kAmxCols);
      for (size_t i = 0; i < kRowsAsAmx; ++i) {
        const size_t whole = k + i < b.extent[0] ? piece / kAmxCols * kAmxCols : 0;
        bf16* const to = rows_of_b + i * kPiece;
        for (size_t j = 0; j < whole; j += kAmxCols) {
          StoreRounded(fn(at, k + i, first + c + j), fn(at, k + i, first + c + j + hn::Lanes(d)),
                       to + j);
        }
        if (whole < padded) Fetch(b, k + i, first + c + whole, 1, padded - whole, to + whole);
      }
      const internal::FlushedSubnormals like_amx;
      AddRowsAsAmx(groups, rows_of_b, int64_t{kPiece}, /*ahead=*/0, padded, of_step + c / kAmxCols);
    }
    const internal::FlushedSubnormals like_amx;
    if ((k + kRowsAsAmx) % kStep == 0) FinishStepAsAmx(cols, of_step, sums);
  }
}

/// FillKGroup, of k-group `group` of a B that is computed, and its columns from `first` on.
template <class Dot, class Fn>
HWY_INLINE void FillComputedKGroup(const Computed<Fn>& b, size_t group, size_t first, size_t g,
                                   AmxPieces<Dot>* pieces) {
  constexpr size_t kRows = Dot::kKPerGroup;
  const hn::ScalableTag<typename Dot::KGroup> dw;
  const size_t k = ElementOf<Dot>(group + g);
  const size_t whole = k + kRows <= b.extent[0] ? pieces->cols / kAmxCols : 0;
  const Fn fn = b.fn;
  for (size_t piece = 0; piece < pieces->count(); ++piece) {
    auto* const to = pieces->groups[piece] + g * kAmxCols;
    const size_t c = first + piece * kAmxCols;
    if (piece < whole) {
      hn::Store(ComputedKGroups<Dot>(fn, group + g, c), dw, to);
      hn::Store(ComputedKGroups<Dot>(fn, group + g, c + kAmxCols / 2), dw, to + kAmxCols / 2);
    } else {
      HWY_ALIGN typename Dot::B copy[kRows * kAmxCols];
      Fetch(b, k, c, kRows, kAmxCols, copy);
      StoreTwoVectors<Dot>(copy, int64_t{kAmxCols}, to);
    }
  }
}
#endif

/// AddStreamedRows, of rows of B that are computed where they are multiplied: what fills vectors,
/// in registers, and the rest by way of a copy.
template <class Dot, class A, class Fn>
HWY_INLINE void AddComputedRows(const A& a, size_t row, size_t rows, const Computed<Fn>& b,
                                size_t first, size_t cols, typename Dot::Acc* sums,
                                size_t sums_stride) {
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (Dot::kAmx == AmxElements::kBf16) {
    if (UsesAmx<Dot>() && rows == 1) return AddComputedRowAsTiles(a, row, b, first, cols, sums);
    if (UsesAmx<Dot>()) {
      const auto fill = [&](size_t k, size_t c, size_t g, AmxPieces<Dot>* pieces) HWY_ATTR {
        FillComputedKGroup(b, k / Dot::kKPerGroup, first + c, g, pieces);
      };
      return AddByTiles<Dot>(a, row, rows, b.extent[0], cols, fill, sums, sums_stride);
    }
  }
#endif
  constexpr size_t kStep = kDeep<Dot> * Dot::kKPerGroup;
  constexpr size_t kPiece = 256;  // columns at a time
  const size_t n = hn::Lanes(hn::ScalableTag<typename Dot::Acc>()), width = kAcross<Dot> * n;
  KGroupsOfRows<Dot> groups;
  HWY_ALIGN typename Dot::B buffer[kStep * kPiece];
  const Fn fn = b.fn;
  for (size_t k = 0; k < b.extent[0]; k += kStep) {
    const size_t group = k / Dot::kKPerGroup;
    const size_t count = HWY_MIN(kDeep<Dot>, KGroupsOf<Dot>(b.extent[0] - k));
    LoadKGroups<Dot>(a, row, rows, group, count, groups);
    const size_t whole = k + kStep <= b.extent[0] ? cols / width * width : 0;
    for (size_t c = 0; c < whole; c += width) {
      const auto make = [&](size_t j) HWY_ATTR {
        return ComputedKGroups<Dot>(fn, group + j % kDeep<Dot>, first + c + j / kDeep<Dot> * n);
      };
      AddVectors<Dot>(groups, rows, sums + c, sums_stride, make(0), make(1), make(2), make(3),
                      make(4), make(5), make(6), make(7));
    }
    for (size_t c = whole; c < cols; c += kPiece) {
      const size_t padded = HWY_MIN(RoundUp(cols - c, width), kPiece);
      Fetch(b, k, first + c, kStep, padded, buffer);
      const auto stride = static_cast<int64_t>(padded);
      if (count == kDeep<Dot>) {
        AddKGroups<Dot>(groups, rows, buffer, stride, /*ahead=*/0, padded, sums + c, sums_stride);
        continue;
      }
      for (size_t i = 0; i < count; ++i)
        AddKGroup<Dot>(groups, i, rows, buffer, stride, padded, sums + c, sums_stride);
    }
  }
}

/// AddStreamedColumns, of columns of B that are computed, pieces of a few at a time.
template <class Dot, class A, class Fn>
HWY_INLINE void AddComputedColumns(const A& a, size_t row, size_t rows, const Computed<Fn, true>& b,
                                   size_t first, size_t cols, typename Dot::Acc* sums,
                                   size_t sums_stride) {
  constexpr size_t kPiece = 256, kCols = kColumnsAtOnce<Dot>;
  HWY_ALIGN typename Dot::B buffer[kCols * kPiece];
  const Computed<Fn, true> columns = b.Transposed();
  for (size_t c = 0; c < cols; c += kCols) {
    for (size_t k = 0; k < b.extent[0]; k += kPiece) {
      Fetch(columns, first + c, k, kCols, kPiece, buffer);
      const InMemory<typename Dot::B> piece{buffer, int64_t{kPiece}, Distance::kClose};
      AddStreamedColumns<Dot>(a, row, rows, k, piece, HWY_MIN(b.extent[0] - k, kPiece),
                              HWY_MIN(cols - c, kCols), sums + c, sums_stride);
    }
  }
}

/// MultiplyStreamed, of a B that is computed.
template <class Dot, class A, class KGroup, class Fn, bool kByColumns, class Start, class Finish>
HWY_INLINE void MultiplyFewComputed(RowRange range, const A& a,
                                    const ViewOfComputedB<KGroup, Fn, kByColumns>& b,
                                    const Start& start, const Finish& finish) {
  const Computed<Fn, kByColumns> of{b.fn, {b.rows, b.cols}};
  const auto add = [&](size_t row, size_t rows, size_t strip, size_t cols, typename Dot::Acc* sums,
                       size_t sums_stride) HWY_ATTR {
    if constexpr (kByColumns) {
      AddComputedColumns<Dot>(a, row, rows, of, strip, cols, sums, sums_stride);
    } else {
      AddComputedRows<Dot>(a, row, rows, of, strip, cols, sums, sums_stride);
    }
  };
  MultiplyInStrips<Dot>(ColumnTag<Dot>(), range.begin, range.end, a, b.cols, StreamedCols, add,
                        start, finish);
}

/// MultiplyTiles for a B that is computed.
template <class Dot, class A, class KGroup, class Fn, bool kByColumns, class Sums,
          class Start = Nothing, class Finish = Nothing, class To = NoTile>
HWY_INLINE void MultiplyComputed(RowRange rows, const A& a,
                                 const ViewOfComputedB<KGroup, Fn, kByColumns>& b, const Sums& sums,
                                 const Start& start = Start(), const Finish& finish = Finish(),
                                 const To& to = To()) {
  if (b.is_packed) {
    const ViewOfB<KGroup>& panels = b;
    return MultiplyTiles<Dot>(rows, a, panels, sums, start, finish, to);
  }
  if constexpr (kByColumns ? kStreamsComputedColumns<Dot> : kStreamsComputed<Dot>) {
    if constexpr (std::is_same_v<Sums, StepSums<typename Dot::Acc>>) {
      if (!sums.step.last) return MultiplyComputed<Dot>(rows, a, b, sums.ThatAreKept());
    }
    WithSums<Dot>(sums, start, finish, [&](const auto& first, const auto& last) HWY_ATTR {
      MultiplyFewComputed<Dot>(rows, a, b, first, last);
    });
  }
}
template <class Dot, class A, class KGroup, class Fn, bool kByColumns>
HWY_INLINE void MultiplyComputed(RowRange rows, const A& a,
                                 const ViewOfComputedB<KGroup, Fn, kByColumns>& b,
                                 const SumsInRows<typename Dot::Acc>& sums) {
  if (b.is_packed) {
    const ViewOfB<KGroup>& panels = b;
    return MultiplyTiles<Dot>(rows, a, panels, sums);
  }
  if constexpr (kByColumns ? kStreamsComputedColumns<Dot> : kStreamsComputed<Dot>) {
    WithSums(sums, [&](const auto& first, const auto& last)
                       HWY_ATTR { MultiplyFewComputed<Dot>(rows, a, b, first, last); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
