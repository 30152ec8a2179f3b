// Sorting integers in memory by a network of vectors: bitonic merges whose first stage compares
// with the mirror image, so that all of them sort upwards, and what is behind the last key counts
// as larger than all without being there.
#if defined(KILN_NETWORK_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_NETWORK_INL_H_
#undef KILN_NETWORK_INL_H_
#else
#define KILN_NETWORK_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <limits>

#include "kiln/core/version.h"
#include "kiln/simd/represent-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Vectors that are sorted together in registers.
inline constexpr size_t kTogether = 8;

/// Each lane and the one whose number is xor: the smaller goes to the lower. A vector of fewer
/// lanes stays as it is.
template <size_t kXor, class D, class V = hn::Vec<D>>
HWY_INLINE V CompareLanes(D d, V v) {
  if constexpr (kXor >= hn::MaxLanes(d)) {
    return v;
  } else {
    if (HWY_HAVE_SCALABLE && kXor >= hn::Lanes(d)) return v;
    using X = hn::TFromD<D>;
    const auto number = hn::Iota(d, 0);
    const auto other = hn::IndicesFromVec(d, hn::Xor(number, hn::Set(d, static_cast<X>(kXor))));
    const auto upper = hn::TestBit(number, hn::Set(d, static_cast<X>(std::bit_floor(kXor))));
    const V partner = hn::TableLookupLanes(v, other);
    return hn::IfThenElse(upper, hn::Max(v, partner), hn::Min(v, partner));
  }
}

/// Compares lanes that are kDistance, kDistance / 2 … 1 apart.
template <size_t kDistance, class D, class V = hn::Vec<D>>
HWY_INLINE V CleanLanes(D d, V v) {
  if constexpr (kDistance == 0) {
    return v;
  } else {
    return CleanLanes<kDistance / 2>(d, CompareLanes<kDistance>(d, v));
  }
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CleanVector(D d, V v) {
  return CleanLanes<hn::MaxLanes(D()) / 2>(d, v);
}

/// Sorts the lanes of a vector whose halves of kLevel lanes are sorted, and so on.
template <size_t kLevel, class D, class V = hn::Vec<D>>
HWY_INLINE V SortLanes(D d, V v) {
  if constexpr (kLevel > hn::MaxLanes(D())) {
    return v;
  } else {
    v = CleanLanes<kLevel / 4>(d, CompareLanes<kLevel - 1>(d, v));
    return SortLanes<2 * kLevel>(d, v);
  }
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V SortVector(D d, V v) {
  return SortLanes<2>(d, v);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void CompareVectors(D, V& a, V& b) {
  const V low = hn::Min(a, b);
  b = hn::Max(a, b);
  a = low;
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE void CompareMirrored(D d, V& a, V& b) {
  const V mirrored = hn::Reverse(d, b);
  b = hn::Reverse(d, hn::Max(a, mirrored));
  a = hn::Min(a, mirrored);
}

/// Sorts the group at `keys`; without `kSorts` it is what a merge leaves of its last steps. Named
/// variables, as there are vectors that cannot be in arrays.
template <bool kSorts, class D>
HWY_INLINE void SortGroup(D d, hn::TFromD<D>* HWY_RESTRICT keys) {
  const size_t n = hn::Lanes(d);
  auto v0 = hn::LoadU(d, keys), v1 = hn::LoadU(d, keys + n);
  auto v2 = hn::LoadU(d, keys + 2 * n), v3 = hn::LoadU(d, keys + 3 * n);
  auto v4 = hn::LoadU(d, keys + 4 * n), v5 = hn::LoadU(d, keys + 5 * n);
  auto v6 = hn::LoadU(d, keys + 6 * n), v7 = hn::LoadU(d, keys + 7 * n);
  const auto clean = [&]() KILN_INLINE_ATTR {
    v0 = CleanVector(d, v0), v1 = CleanVector(d, v1), v2 = CleanVector(d, v2);
    v3 = CleanVector(d, v3), v4 = CleanVector(d, v4), v5 = CleanVector(d, v5);
    v6 = CleanVector(d, v6), v7 = CleanVector(d, v7);
  };
  const auto next = [&]() KILN_INLINE_ATTR {
    CompareVectors(d, v0, v1), CompareVectors(d, v2, v3);
    CompareVectors(d, v4, v5), CompareVectors(d, v6, v7);
  };
  const auto second = [&]() KILN_INLINE_ATTR {
    CompareVectors(d, v0, v2), CompareVectors(d, v1, v3);
    CompareVectors(d, v4, v6), CompareVectors(d, v5, v7);
  };
  if constexpr (kSorts) {
    v0 = SortVector(d, v0), v1 = SortVector(d, v1), v2 = SortVector(d, v2);
    v3 = SortVector(d, v3), v4 = SortVector(d, v4), v5 = SortVector(d, v5);
    v6 = SortVector(d, v6), v7 = SortVector(d, v7);
    CompareMirrored(d, v0, v1), CompareMirrored(d, v2, v3);
    CompareMirrored(d, v4, v5), CompareMirrored(d, v6, v7);
    clean();
    CompareMirrored(d, v0, v3), CompareMirrored(d, v1, v2);
    CompareMirrored(d, v4, v7), CompareMirrored(d, v5, v6);
    next(), clean();
    CompareMirrored(d, v0, v7), CompareMirrored(d, v1, v6);
    CompareMirrored(d, v2, v5), CompareMirrored(d, v3, v4);
  } else {
    CompareVectors(d, v0, v4), CompareVectors(d, v1, v5);
    CompareVectors(d, v2, v6), CompareVectors(d, v3, v7);
  }
  second(), next(), clean();
  hn::StoreU(v0, d, keys), hn::StoreU(v1, d, keys + n);
  hn::StoreU(v2, d, keys + 2 * n), hn::StoreU(v3, d, keys + 3 * n);
  hn::StoreU(v4, d, keys + 4 * n), hn::StoreU(v5, d, keys + 5 * n);
  hn::StoreU(v6, d, keys + 6 * n), hn::StoreU(v7, d, keys + 7 * n);
}

/// The first stage of the merges into runs of `run` vectors.
template <class D>
HWY_INLINE void CompareRuns(D d, hn::TFromD<D>* HWY_RESTRICT keys, size_t vectors, size_t run) {
  const size_t n = hn::Lanes(d);
  for (size_t first = 0; first < vectors; first += run) {
    // Partners behind the last vector are larger than all.
    const size_t end = first + run;
    for (size_t j = end > vectors ? end - vectors : 0; j < run / 2; ++j) {
      hn::TFromD<D>*const low = keys + (first + j) * n, *const high = keys + (end - 1 - j) * n;
      auto a = hn::LoadU(d, low), b = hn::LoadU(d, high);
      CompareMirrored(d, a, b);
      hn::StoreU(a, d, low), hn::StoreU(b, d, high);
    }
  }
}

/// Compares vectors that are `distance` apart.
template <class D>
HWY_INLINE void CompareApart(D d, hn::TFromD<D>* HWY_RESTRICT keys, size_t vectors,
                             size_t distance) {
  const size_t n = hn::Lanes(d);
  for (size_t first = 0; first + distance < vectors; first += 2 * distance) {
    const size_t end = HWY_MIN(first + distance, vectors - distance);
    for (size_t j = first; j < end; ++j) {
      hn::TFromD<D>*const low = keys + j * n, *const high = keys + (j + distance) * n;
      auto a = hn::LoadU(d, low), b = hn::LoadU(d, high);
      CompareVectors(d, a, b);
      hn::StoreU(a, d, low), hn::StoreU(b, d, high);
    }
  }
}

/// Calls sort(v) of each vector.
template <class D, class Fn>
HWY_INLINE void EachVector(D d, hn::TFromD<D>* keys, size_t vectors, const Fn& sort) {
  const size_t n = hn::Lanes(d);
  for (size_t i = 0; i < vectors; ++i)
    hn::StoreU(sort(hn::LoadU(d, keys + i * n)), d, keys + i * n);
}

/// How many keys are written behind `count` of them: to whole vectors, and whole groups of many.
template <class D>
HWY_INLINE size_t KeysWith(D d, size_t count) {
  const size_t n = hn::Lanes(d), vectors = DivUp(count, n);
  return n * (vectors < kTogether ? vectors : RoundUp(vectors, kTogether));
}

/// Sorts `count` keys upwards; behind them is room for up to KeysWith(d, count). Compiled once for
/// each type of keys.
template <typename Key>
HWY_NOINLINE void SortKeys(Key* keys, size_t count) {
  const hn::ScalableTag<Key> d;
  const size_t n = hn::Lanes(d), all = KeysWith(d, count), vectors = all / n;
  std::fill(keys + count, keys + all, std::numeric_limits<Key>::max());
  const bool groups = vectors % kTogether == 0;
  if (groups) {
    for (size_t g = 0; g < all; g += kTogether * n) SortGroup<true>(d, keys + g);
  } else {
    EachVector(d, keys, vectors, [&](auto v) KILN_INLINE_ATTR { return SortVector(d, v); });
  }
  for (size_t sorted = groups ? kTogether : 1; sorted < vectors; sorted *= 2) {
    CompareRuns(d, keys, vectors, 2 * sorted);
    const size_t least = groups ? kTogether : 1;
    for (size_t distance = sorted / 2; distance >= least; distance /= 2)
      CompareApart(d, keys, vectors, distance);
    if (groups) {
      for (size_t g = 0; g < all; g += kTogether * n) SortGroup<false>(d, keys + g);
    } else {
      EachVector(d, keys, vectors, [&](auto v) KILN_INLINE_ATTR { return CleanVector(d, v); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_NETWORK_INL_H_
