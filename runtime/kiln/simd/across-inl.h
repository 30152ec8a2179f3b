// Lanes that have a row of memory each, of which they take, or make, one column after the other.
#if defined(KILN_ACROSS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_ACROSS_INL_H_
#undef KILN_ACROSS_INL_H_
#else
#define KILN_ACROSS_INL_H_
#endif

#include <stddef.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/rows-inl.h"
#include "kiln/simd/stream-inl.h"
#include "kiln/simd/transpose-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Some columns of the rows that lanes have one each of. Collected an element at a time, a vector
/// takes as long as several loads; so a square is read by whole vectors and transposed, if there is
/// one.
template <class At, class Columns, typename T>
class Across {
  using D = decltype(At::tag());
  static constexpr size_t kLanes = hn::MaxLanes(D());

  static constexpr bool IsSquare() {
    if constexpr (kIsPacked<T> || std::is_same_v<T, bool> || std::is_same_v<Columns, SomeRows> ||
                  !std::is_base_of_v<Whole<D>, At>) {
      return false;
    } else {
      return kTransposes<hn::DFromV<decltype(LoadWhole(D(), static_cast<const T*>(nullptr)))>>;
    }
  }
  static constexpr bool kSquare = IsSquare();

 public:
  HWY_INLINE Across(const At& at, Columns, const T* first, ptrdiff_t stride)
      : at_(at), first_(first), stride_(stride) {
    if constexpr (kSquare) {
      static_assert(Columns()() == kLanes);
      const auto load = [=](size_t row) HWY_ATTR {
        return LoadWhole(D(), first + static_cast<ptrdiff_t>(row) * stride);
      };
      using DV = hn::DFromV<decltype(load(0))>;
      Transpose(DV(), load, [&](hn::Vec<DV> v, size_t column) HWY_ATTR {
        hn::Store(v, DV(), columns_ + column * kLanes);
      });
    }
  }

  HWY_INLINE auto Column(size_t i) const {
    if constexpr (kSquare) {
      using DV = hn::DFromV<decltype(LoadWhole(D(), first_))>;
      return hn::Load(DV(), columns_ + i * kLanes);
    } else {
      return at_.LoadStrided(first_ + i, stride_);
    }
  }

 private:
  const At& at_;
  const T* first_;
  ptrdiff_t stride_;
  HWY_ALIGN Rep<T> columns_[kSquare ? kLanes * kLanes : 1];
};

/// Stores an element of each column into rows that are `stride` apart: side by side, if rows have
/// no gaps.
template <class At, typename T, class V, class... Others>
HWY_INLINE void StoreRows(const At& at, T* p, ptrdiff_t stride, V first, Others... others) {
  constexpr Likely<1 + sizeof...(Others)> kColumns;
#if HWY_TARGET != HWY_SCALAR
  using DV = hn::DFromV<V>;
  if constexpr ((At::kIsWhole || kMaskedAccess<RawBits<T>>)&&kTakesPlaces<DV> &&
                sizeof(hn::TFromD<DV>) == 4) {
    if (HWY_LIKELY(stride == ptrdiff_t{1 + sizeof...(Others)}))
      return StoreBeside<At::kIsWhole, 0>(p, at.lanes(), first, others...);
  }
#endif
  size_t column = 0;
  at.StoreStrided(first, p, stride, kColumns);
  (at.StoreStrided(others, p + ++column, stride, kColumns), ...);
}

/// Before a square of `count` rows is read from row i on: asks for what is read some vectors later,
/// further down or at the begin of the next columns.
template <class At, typename T>
HWY_INLINE void PrefetchAcross(const At&, const T* first, ptrdiff_t stride, size_t i,
                               size_t count) {
  using D = decltype(At::tag());
  if constexpr (std::is_base_of_v<Whole<D>, At> && !kIsPacked<T>) {
    const size_t lanes = hn::Lanes(D()), ahead = 8 * lanes;
    const ptrdiff_t down = static_cast<ptrdiff_t>(ahead) * stride;
    const ptrdiff_t up = static_cast<ptrdiff_t>(count) * stride;
    if (i + ahead < count)
      first += down;
    else if (ahead < count)
      first += down - up + static_cast<ptrdiff_t>(lanes);
    else
      first += 2 * lanes;
    if (static_cast<size_t>(stride) * sizeof(T) < kLineBytes) return;  // the hardware sees it
    for (size_t row = 0; row < lanes; ++row)
      PrefetchToL2(first + static_cast<ptrdiff_t>(row) * stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
