// A product with few columns of B, as of a matrix and a vector: the transposes are a product of few
// rows, which are the columns of B, with A where it is. Packing A, which is used once, would take
// longer than reading it.
#if defined(KILN_FEW_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_COLUMNS_INL_H_
#undef KILN_FEW_COLUMNS_INL_H_
#else
#define KILN_FEW_COLUMNS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/dot/few/rows-inl.h"
#include "kiln/dot/k_groups-inl.h"
#include "kiln/simd/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Columns of B up to which they are few: more are multiplied in less time by register tiles, for
/// which an A is packed that is transposed (Zen 4, f32: 8 and 16 columns take 0.8 and 1.35 of the
/// time; of an A that is transposed 16 take 0.6, 32 0.75 to 0.9).
constexpr size_t kMaxFewColumns = 32;
constexpr int64_t FewColumns(bool transposed) { return transposed ? kMaxFewColumns : 8; }

/// Whether a product is so large that to turn the columns of B into rows, and the sums back, is
/// little of it.
constexpr bool FewColumnsPay(int64_t rows, int64_t depth, int64_t columns, bool transposed) {
  return 0 < columns && columns <= FewColumns(transposed) &&
         rows >= HWY_MAX(4 * columns, int64_t{16}) && (transposed || depth >= 32 * columns);
}

/// How the transposes are multiplied, whose first operand is B.
template <class D>
struct TransposedDot {
  using type = std::conditional_t<std::is_same_v<typename D::A, typename D::B>, D,
                                  Dot<typename D::B, typename D::A>>;
};

/// Whether an A of T, or the transpose of one, is read where it is for few columns.
template <class D, typename T, bool kTransposed>
constexpr bool kStreamsA = kMayStreamB<typename TransposedDot<D>::type, T> &&
                           (kTransposed || kStreamsColumns<typename TransposedDot<D>::type, T>);

/// K-group k of a column of a streamed B of `rows`, as panels have it but for what they flip.
template <class D, class B>
HWY_INLINE typename D::KGroup StreamedKGroup(const B& b, size_t k, size_t column) {
  using T = ElementOfStreamed<D, B>;
  const auto* const first = static_cast<const T*>(b.streamed);
  const int64_t stride = Signed(b.stride);
  T elements[2 * D::kKPerGroup] = {};  // k and its neighbour, which changes places with it
  const size_t even = D::kSwapsPairs ? k & ~size_t{1} : k;
  for (size_t i = 0; i < (D::kSwapsPairs ? 2 : D::kKPerGroup); ++i) {
    const size_t row = even * D::kKPerGroup + i;
    if (row >= b.rows) break;
    elements[i] = first[b.by_columns ? Signed(column) * stride + Signed(row)
                                     : Signed(row) * stride + Signed(column)];
  }
  return KGroupAt<D>(elements, k - even);
}

/// The columns of B as rows of an A, in panels, a piece of K at a time.
template <class D, class Panels, class B>
class ColumnsAsRows {
  using KGroup = typename D::KGroup;

 public:
  explicit ColumnsAsRows(const B& b) : b_(b) {}

  size_t MostKGroups() const { return kMost / RoundUp(b_.cols, kPanelRows); }

  /// `count` k-groups from k on.
  Panels Pack(size_t k, size_t count) {
    auto view = Panels::OfPanels(groups_, b_.cols, count);
    view.to_panel = static_cast<ptrdiff_t>(kPanelRows * count);
    for (size_t c = 0; c < b_.cols; c += kPanelRows) {
      KGroup* const to = groups_ + c * count;
      const size_t columns = HWY_MIN(b_.cols - c, kPanelRows);
      if (b_.IsPacked() && hn::Lanes(hn::ScalableTag<KGroup>()) % kPanelRows == 0) {
        TakeTogether(k, count, c, to);
      } else {
        for (size_t i = 0; i < columns; ++i) TakeOne(k, count, c + i, to + i);
      }
    }
    return view;
  }

  /// What undoes the flip of the other operand in the sums of a column that has been packed: see
  /// StartOfRow.
  template <class Transposed>
  typename D::Acc StartOf(const Panels& packed, size_t column) const {
    using T = typename Transposed::A;
    const KGroup* group = packed.At(column);
    typename D::Acc sum = 0;
    for (size_t i = 0; i < packed.depth; ++i, group += kPanelRows) {
      T elements[sizeof(KGroup) / sizeof(T)];
      memcpy(elements, group, sizeof(KGroup));
      for (const T element : elements) sum += element;
    }
    return sum * (std::is_signed_v<T> ? -128 : 128);
  }

 private:
  static constexpr size_t kMost = (size_t{64} << 10) / sizeof(KGroup);

  /// As many columns as a panel has, from one that begins with a vector of a panel of B.
  void TakeTogether(size_t k, size_t count, size_t column, KGroup* to) const {
    const hn::CappedTag<KGroup, kPanelRows> d;
    const auto [first, to_k] = b_.ColumnAt(column);
    for (size_t i = 0; i < count; ++i)
      hn::StoreU(Flip<D>(hn::LoadU(d, first + (k + i) * to_k), FlipOf<D>()), d,
                 to + i * kPanelRows);
  }

  void TakeOne(size_t k, size_t count, size_t column, KGroup* to) const {
    if (b_.streamed != nullptr) {
      for (size_t i = 0; i < count; ++i) to[i * kPanelRows] = StreamedKGroup<D>(b_, k + i, column);
      return;
    }
    const auto [first, to_k] = b_.ColumnAt(column);
    for (size_t i = 0; i < count; ++i) {
      KGroup group = first[(k + i) * to_k];
      if constexpr (D::kFlip != 0) group ^= static_cast<KGroup>(FlipOf<D>());
      to[i * kPanelRows] = group;
    }
  }

  const B& b_;
  HWY_ALIGN KGroup groups_[kMost];
};

/// Adds the products of a strip of rows of A, which is the B `a`, with few columns of B to the sums
/// of each of those.
template <class D, class Panels, class A, class B>
HWY_NOINLINE void AddFewColumns(const A& a, const B& b, size_t strip, size_t rows,
                                typename D::Acc* sums, size_t sums_stride) {
  using Transposed = typename TransposedDot<D>::type;
  ColumnsAsRows<D, Panels, B> columns(b);
  const Distance a_is = DistanceOfStreamed<Transposed>(b.cols, a);
  const size_t most = columns.MostKGroups() * D::kKPerGroup;
  for (size_t k = 0; k < a.rows; k += most) {
    const size_t piece = HWY_MIN(most, a.rows - k);
    const Panels packed = columns.Pack(k / D::kKPerGroup, KGroupsOf<D>(piece));
    if constexpr (Transposed::kFlip != 0) {
      for (size_t c = 0; c < b.cols; ++c) {
        const auto more = columns.template StartOf<Transposed>(packed, c);
        for (size_t r = 0; r < rows; ++r) sums[c * sums_stride + r] += more;
      }
    }
    AddStreamed<Transposed>(packed, 0, b.cols,
                            a.template Piece<ElementOfStreamed<Transposed, A>>(k, piece), a_is,
                            strip, rows, sums, sums_stride);
  }
}

/// Rows `begin` to `end` of a streamed A by few columns of B, between `start` and `finish`.
template <class D, class Tag, class A, class B, class Start, class Finish>
HWY_INLINE void MultiplyFewColumns(Tag, size_t begin, size_t end, const A& a, const B& b,
                                   const Start& start, const Finish& finish) {
  using Acc = typename D::Acc;
  if constexpr (B::kIsInPages) b.pages->Close();
  const hn::ScalableTag<Acc> da;
  HWY_ALIGN Acc sums[kMaxFewColumns * SumsStride(StreamedCols(kMaxFewColumns))];
  HWY_ALIGN Acc line[RoundUp(kMaxFewColumns, hn::MaxLanes(da))];
  const auto strip_rows =
      Unsigned(StripCols<typename TransposedDot<D>::type>(static_cast<int64_t>(b.cols)));
  const size_t stride = SumsStride(strip_rows), n = hn::Lanes(da);
  for (size_t strip = begin; strip < end; strip += strip_rows) {
    const size_t rows = HWY_MIN(strip_rows, end - strip);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < b.cols; c += n)
        hn::Store(start(Part<Tag>(HWY_MIN(b.cols - c, n)), strip + r, c), da, line + c);
      for (size_t c = 0; c < b.cols; ++c) sums[c * stride + r] = line[c];
    }
    AddFewColumns<D, typename A::Panels>(a.AsB(), b, strip, rows, sums, stride);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < b.cols; ++c) line[c] = sums[c * stride + r];
      for (size_t c = 0; c < b.cols; c += n)
        finish(Part<Tag>(HWY_MIN(b.cols - c, n)), hn::Load(da, line + c), strip + r, c);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
