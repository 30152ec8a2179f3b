// What a few rows of A add to their sums: the products of some of their k-groups with vectors of B.
#if defined(KILN_FEW_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_FEW_SUMS_INL_H_
#undef KILN_FEW_SUMS_INL_H_
#else
#define KILN_FEW_SUMS_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>
#include <utility>

#include "kiln/core/version.h"
#include "kiln/dot/k_groups-inl.h"
#include "kiln/dot/tile_operands-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kRowsAtATime = 32;  // of A

/// Rows of A up to which they are few. More are multiplied with a packed B; with bytes sooner, as
/// to make their k-groups takes as long as packing does, unless lines are interleaved (Zen 4: 32
/// rows take 0.7 to 0.97 of the time of packing, 64 up to 1.14), and with pairs somewhat sooner, as
/// they are packed while others are multiplied (56 rows of bf16 0.94 to 1.0, 64 0.99 to 1.06).
template <class D>
constexpr int64_t kFewRows = sizeof(typename D::B) == 1 ? (HWY_TARGET == HWY_AVX3_DL ? 32 : 8)
                             : kTilesOf8Rows            ? (D::kKPerGroup == 2 ? 56 : 64)
                                                        : 32;
/// The same where B is read along its columns. Out of an L2 more rows than these are multiplied
/// with panels as fast by tiles of eight rows, and sooner by tiles of four (AVX2: 4 to 32 rows of
/// bf16 0.92 to 0.74 of the speed, of f32 1.3 to 0.85; from memory 1.0 to 2.7).
constexpr int64_t FewRowsByColumns(bool in_l2) {
  return in_l2 && !kTilesOf8Rows ? 4 : int64_t{kRowsAtATime};
}
/// From a row of sums to the next: no power of two, so that rows use different cache sets.
constexpr size_t SumsStride(size_t cols) { return cols + 16; }

// Eight vectors of k-groups of B are multiplied at a time, out of eight rows of elements: 64 bytes
// of each, or 32. (More rows, where they are a power of two apart, fit into no L1.)
template <class Dot>
constexpr size_t kDeep = 8 / Dot::kKPerGroup;  // k-groups
template <class Dot>
constexpr size_t kAcross = 8 / kDeep<Dot>;  // vectors of columns
template <class Dot>
constexpr size_t kRowsAtOnce = kDeep<Dot>* Dot::kKPerGroup;
// Where rows fill lines, of more: up to these.
template <class Dot>
constexpr size_t kMostRowsAtOnce = Dot::kKPerGroup == 4 ? 16 : kRowsAtOnce<Dot>;
/// Of each row of A.
template <class Dot, size_t kGroups = kDeep<Dot>>
using KGroupsOfRows = typename Dot::KGroup[kRowsAtATime][kGroups];

/// Calls fn(std::integral_constant<size_t, i>()) for i from 0 on.
template <size_t kCount, class Fn>
HWY_INLINE void Unrolled(const Fn& fn) {
  [&]<size_t... i>(std::index_sequence<i...>) KILN_INLINE_ATTR {
    (fn(std::integral_constant<size_t, i>()), ...);
  }
  (std::make_index_sequence<kCount>());
}

/// Of a B that is at hand, or asks for itself.
struct NothingToAsk {
  HWY_INLINE void operator()(size_t /*bytes*/) const {}
};

/// `count` k-groups of rows of A, from k on.
template <class Dot, size_t kGroups, class A>
HWY_INLINE void LoadKGroups(const A& a, size_t row, size_t rows, size_t k, size_t count,
                            typename Dot::KGroup (&groups)[kRowsAtATime][kGroups]) {
  for (size_t r = 0; r < rows; ++r) {
    const ptrdiff_t to_k = a.ToK();
    const auto* const from = a.At(row + r) + static_cast<ptrdiff_t>(k) * to_k;
    if (count == kGroups && to_k == 1) {
      memcpy(groups[r], from, sizeof(groups[r]));
    } else {
      for (size_t i = 0; i < count; ++i) groups[r][i] = from[static_cast<ptrdiff_t>(i) * to_k];
    }
  }
}

/// *sums += the product of each k-group of a row of A with the vector of B that belongs to it.
template <class Dot, class... VB>
HWY_INLINE void AddProducts(const typename Dot::KGroup* groups, typename Dot::Acc* sums, VB... b) {
  const hn::ScalableTag<typename Dot::Acc> d;
  auto sum = hn::Load(d, sums);
  (Dot::StepRow(*groups++, b, NoColumns(), NoColumns(), sum, sum, sum), ...);
  hn::Store(sum, d, sums);
}

/// sums[r] += groups[r][i] B[i] for each k-group i in turn, as register tiles do: kDeep k-groups of
/// kAcross vectors of columns, the k-groups of the first vector before those of the next.
template <class Dot, class V>
HWY_INLINE void AddVectors(const KGroupsOfRows<Dot>& groups, size_t rows, typename Dot::Acc* sums,
                           size_t sums_stride, V b_0, V b_1, V b_2, V b_3, V b_4, V b_5, V b_6,
                           V b_7) {
  const size_t n = hn::Lanes(hn::ScalableTag<typename Dot::Acc>());
  for (size_t r = 0; r < rows; ++r) {
    const auto* const a = groups[r];
    auto* const to = sums + r * sums_stride;
    if constexpr (kDeep<Dot> == 8) {
      AddProducts<Dot>(a, to, b_0, b_1, b_2, b_3, b_4, b_5, b_6, b_7);
    } else if constexpr (kDeep<Dot> == 4) {
      AddProducts<Dot>(a, to, b_0, b_1, b_2, b_3);
      AddProducts<Dot>(a, to + n, b_4, b_5, b_6, b_7);
    } else {
      AddProducts<Dot>(a, to, b_0, b_1);
      AddProducts<Dot>(a, to + n, b_2, b_3);
      AddProducts<Dot>(a, to + 2 * n, b_4, b_5);
      AddProducts<Dot>(a, to + 3 * n, b_6, b_7);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
