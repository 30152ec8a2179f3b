// Matrices in VMEM as operands of a dot, where it uses them: packed, or read where they are.
//
//   PackA<As>(tile)     in panels, as a dot of As multiplies them; PackAT of the transpose
//   PackAFor, PackBFor  where it is, for few columns of B or rows of A, or in panels
//   MatrixA, MatrixB    where it is, if its elements are k-groups or parts of them
//   SmallA, SmallB      the same of a small one, else in panels; SmallAFor and SmallBFor do both
#if defined(KILN_MATRICES_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_MATRICES_INL_H_
#undef KILN_MATRICES_INL_H_
#else
#define KILN_MATRICES_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <type_traits>

#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/dot/panels-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Packs a tile of VMEM where a dot uses it, as it would be packed for a dot of `As`. The T forms
/// are for the transpose of the tile; extents are always those of the operand. `to` has
/// PackedA<As>::Bytes(rows, k).
template <class As, bool kTransposed = false, typename T>
ViewOfA<typename DotOf<As>::KGroup> PackA(const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  using Format = PackedA<As>;
  auto* const groups = static_cast<typename Format::KGroup*>(to);
  PackAFrom<DotOf<As>>(SourceOf<kTransposed>(a, rows, k), groups);
  return Format::ViewOfPacked(groups, rows, k);
}
template <class As, typename T>
auto PackAT(const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  return PackA<As, true>(a, rows, k, to);
}

/// `to` has PackedB<As>::Bytes(k, cols).
template <class As, bool kTransposed = false, typename T>
auto PackB(const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using Format = PackedB<As>;
  auto* const groups = static_cast<typename Format::KGroup*>(to);
  PackBFrom<DotOf<As>>(SourceOf<kTransposed>(b, k, cols), groups);
  return ViewOfB<typename Format::KGroup>::OfPanels(groups, Format::Depth(k), cols);
}
template <class As, typename T>
auto PackBT(const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  return PackB<As, true>(b, k, cols, to);
}

/// Whether a matrix stays in the L1 whichever way it is read, so that packing it takes longer than
/// it gains. (The generator knows it of sizes that a spec has.)
constexpr bool IsSmallMatrix(size_t rows, size_t cols) { return rows <= 64 && cols <= 64; }

/// What a view says of elements that are read where they are: T, unless that is what is multiplied.
template <class D, typename T>
using StoredIfWidened = std::conditional_t<kIsWidened<D, T>, T, void>;

/// A tile of VMEM where it is, for few columns of B; nothing, if it is to be packed. Direct may
/// have left it in the array, whose size nobody knows here.
template <class View, class D, typename T>
std::optional<View> StreamedA(size_t b_cols, const Tile<T, 2>& a, size_t rows, size_t k) {
  using Element = std::remove_const_t<T>;
  const auto streamed = [&](bool transposed) -> std::optional<View> {
    if (UsesAmx<D>() || a.stride[transposed ? 0 : 1] != 1 ||
        !FewColumnsPay(Signed(rows), Signed(k), Signed(b_cols), transposed))
      return std::nullopt;
    const size_t stride = Unsigned(a.stride[transposed ? 1 : 0]);
    View view = View::Streamed(a.data, rows, k, stride, transposed);
    view.array_bytes = ~size_t{0};
    return view;
  };
  std::optional<View> view;
  if constexpr (kStreamsA<D, Element, false>) view = streamed(/*transposed=*/false);
  if constexpr (kStreamsA<D, Element, true>) {
    if (!view) view = streamed(/*transposed=*/true);
  }
  return view;
}

/// The same for few rows of A, fewer if B is `in_l2`. (8192 products of 16 x 16 of bf16 take three
/// times as long so: a small one is packed.)
template <class View, class D, typename T>
std::optional<View> StreamedB(size_t a_rows, const Tile<T, 2>& b, size_t k, size_t cols,
                              bool in_l2 = true) {
  using Element = std::remove_const_t<T>;
  std::optional<View> view;
  if constexpr (kMayStreamB<D, Element>) {
    if (IsSmallMatrix(k, cols)) return view;
    const size_t depth = PackedKGroupsOf<D>(k);
    if (b.stride[1] == 1 && Signed(a_rows) <= FewRows<D>()) {
      view = View::StreamedRows(b.data, depth, k, cols, Unsigned(b.stride[0]));
    } else if (kStreamsColumns<D, Element> && b.stride[0] == 1 &&
               Signed(a_rows) <= FewRows<D>(/*by_columns=*/true, in_l2)) {
      view = View::StreamedColumns(b.data, depth, k, cols, Unsigned(b.stride[1]));
    }
    if (view) view->array_bytes = ~size_t{0};
  }
  return view;
}

/// PackA, unless so few columns of B that `b_cols` are multiply the tile where it is.
template <class As, typename T>
auto PackAFor(size_t b_cols, const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  using D = DotOf<As>;
  using Stored = StoredIfWidened<D, std::remove_const_t<T>>;
  using View = ViewOfA<typename D::KGroup, PanelSteps, Stored>;
  if (const std::optional<View> view = StreamedA<View, D>(b_cols, a, rows, k)) return *view;
  auto* const groups = static_cast<typename D::KGroup*>(to);
  PackAFrom<D>(SourceOf<false>(a, rows, k), groups);
  return PackedA<As>::template ViewOfPacked<View>(groups, rows, k);
}
/// PackB, unless so few rows of A that `a_rows` are read the tile where it is.
template <class As, typename T>
auto PackBFor(size_t a_rows, const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using D = DotOf<As>;
  using Stored = StoredIfWidened<D, std::remove_const_t<T>>;
  using View = ViewOfB<typename D::KGroup, false, Stored>;
  if (const std::optional<View> view = StreamedB<View, D>(a_rows, b, k, cols)) return *view;
  auto* const groups = static_cast<typename D::KGroup*>(to);
  PackBFrom<D>(SourceOf<false>(b, k, cols), groups);
  return View::OfPanels(groups, PackedB<As>::Depth(k), cols);
}

/// The same of a matrix in a buffer that may be in pages. What cannot be streamed from these comes
/// home before it is packed, and copies bring all that follows there.
template <class As, typename T>
auto PackBFor(size_t a_rows, const Tile<T, 2>& b, size_t k, size_t cols, void* to, Pages& pages) {
  using D = DotOf<As>;
  using View = ViewOfPages<typename D::KGroup, StoredIfWidened<D, std::remove_const_t<T>>>;
  using Whole = typename View::Whole;
  if (const std::optional<Whole> whole = StreamedB<Whole, D>(a_rows, b, k, cols, /*in_l2=*/false)) {
    const size_t line = whole->by_columns ? k : cols;
    const size_t at_once = whole->by_columns ? 1 : kMostRowsAtOnce<D>;
    const auto apart = static_cast<int64_t>(whole->stride * sizeof(T));
    if (!UsesAmx<D>() && pages.HasLines(b.data, line * sizeof(T), apart, at_once))
      return View{*whole, &pages};
  }
  pages.Close();
  return View{PackBFor<As>(a_rows, b, k, cols, to), &pages};
}

/// PackA, to what MatrixA returns of a matrix where it is.
template <class As, typename T>
auto PackAsMatrixA(const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  using Format = UnpackedA<As>;
  auto* const groups = static_cast<typename Format::KGroup*>(to);
  PackAFrom<DotOf<As>>(SourceOf<false>(a, rows, k), groups);
  return PackedA<As>::template ViewOfPacked<typename Format::View>(groups, rows, k);
}

/// A matrix of a tile of VMEM whose rows are contiguous, where it is: elements of `As` are
/// k-groups, or parts of one, which some dots need packed; `to` then has PackedA<As>::Bytes(rows,
/// k).
template <class As, typename T>
auto MatrixA(const Tile<T, 2>& a, size_t rows, size_t k, void* to = nullptr) {
  using Format = UnpackedA<As>;
  using D = DotOf<As>;
  if constexpr (!Format::kCanReadUnpacked && !Format::kAmxReadsUnpacked) {
    return PackA<As>(a, rows, k, to);
  } else {
    using KGroup = typename Format::KGroup;
    const size_t odd = k % D::kKPerGroup + static_cast<size_t>(a.stride[0]) % D::kKPerGroup +
                       reinterpret_cast<uintptr_t>(a.data) % sizeof(KGroup);
    if (odd == 0 && (Format::kCanReadUnpacked || UsesAmx<D>())) {
      return Format::OfRows(reinterpret_cast<const KGroup*>(a.data), rows, KGroupsOf<D>(k),
                            a.stride[0] / int64_t{D::kKPerGroup});
    }
    return PackAsMatrixA<As>(a, rows, k, to);
  }
}
/// `to` has PackedB<As>::Bytes(k, cols), for tiles that read panels alone.
template <class As, typename T>
auto MatrixB(const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using D = DotOf<As>;
  if constexpr (kCanReadUnpackedB<D, std::remove_const_t<T>>) {
    return ViewOfB<typename D::KGroup, true>::OfRows(
        b.data, k, cols, static_cast<size_t>(b.stride[0]), /*apart=*/false);
  } else {
    return PackB<As>(b, k, cols, to);
  }
}

/// A matrix where it is if it is small, else packed.
template <class As, typename T>
auto SmallA(const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  using Format = UnpackedA<As>;
  if constexpr (!Format::kCanReadUnpacked && !Format::kAmxReadsUnpacked) {
    return PackA<As>(a, rows, k, to);
  } else {
    if (IsSmallMatrix(rows, k)) return MatrixA<As>(a, rows, k, to);
    return PackAsMatrixA<As>(a, rows, k, to);
  }
}
/// The same, unless the columns of B, or the rows of A, are so few that they read it where it is.
template <class As, typename T>
auto SmallAFor(size_t b_cols, const Tile<T, 2>& a, size_t rows, size_t k, void* to) {
  using View = decltype(SmallA<As>(a, rows, k, to));
  const bool small = IsSmallMatrix(rows, k);
  const std::optional<View> view =
      small ? std::nullopt : StreamedA<View, DotOf<As>>(b_cols, a, rows, k);
  return view ? *view : SmallA<As>(a, rows, k, to);
}
template <class As, typename T>
auto SmallB(const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using D = DotOf<As>;
  if constexpr (kCanReadUnpackedB<D, std::remove_const_t<T>>) {
    if (IsSmallMatrix(k, cols)) return MatrixB<As>(b, k, cols, to);
    auto* const groups = static_cast<typename D::KGroup*>(to);
    PackBFrom<D>(SourceOf<false>(b, k, cols), groups);
    return ViewOfB<typename D::KGroup, true>::OfPanels(groups, PackedB<As>::Depth(k), cols);
  } else {
    return PackB<As>(b, k, cols, to);
  }
}
template <class As, typename T>
auto SmallBFor(size_t a_rows, const Tile<T, 2>& b, size_t k, size_t cols, void* to) {
  using View = decltype(SmallB<As>(b, k, cols, to));
  const std::optional<View> view = StreamedB<View, DotOf<As>>(a_rows, b, k, cols);
  return view ? *view : SmallB<As>(b, k, cols, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
