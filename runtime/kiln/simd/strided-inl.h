// Vectors of elements that are two to eight apart, such as the coordinates of points: out of whole
// vectors, and by masked stores, which touch nothing between them.
#if defined(KILN_STRIDED_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_STRIDED_INL_H_
#undef KILN_STRIDED_INL_H_
#else
#define KILN_STRIDED_INL_H_
#endif

#include <stddef.h>
#include <stdint.h>

#include "kiln/core/version.h"
#include "kiln/simd/storage-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// How far elements are probably apart. There is text for that alone, and for what any stride
/// takes.
template <size_t kApart>
struct Likely {};

/// Whether lanes of D change places within a register of a known size.
template <class D>
inline constexpr bool kTakesPlaces = !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR &&
                                     hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) >= 16;

#if HWY_TARGET != HWY_SCALAR

/// Where lanes of a vector come from, as tables of Highway's.
template <class D>
struct Places {
  static constexpr size_t kLanes = hn::MaxLanes(D());
  using Index = hwy::MakeSigned<hn::TFromD<D>>;
  alignas(64) Index at[kLanes];

  HWY_INLINE auto Of(hn::Vec<D> v) const {
    return hn::TableLookupLanes(v, hn::SetTableIndices(D(), at));
  }
};

/// Whether LoadApart has a way for lanes of D. (Of an odd number of vectors the last but one has to
/// end before the last lane's element.)
template <class D, size_t kApart>
inline constexpr bool kLoadsApart = kApart % 2 == 0
                                        ? kLoadsApart<D, kApart / 2>
                                        : kApart == 1 ||
                                              (kTakesPlaces<D> && sizeof(hn::TFromD<D>) == 4 &&
                                               kApart <= hn::MaxLanes(D()) + 1);
template <class D>
inline constexpr bool kLoadsApart<D, 0> = false;

/// Lanes i of an odd number of vectors' elements kApart * i. The last vector ends with the last of
/// them; the places in the others are the same, as each begins a whole vector later.
template <class D, size_t kApart>
struct Picked {
  static constexpr size_t kLanes = hn::MaxLanes(D());
  static constexpr size_t kLast = (kApart - 1) * (kLanes - 1);  // where the last vector begins
  static_assert((kApart - 1) * kLanes <= kApart * (kLanes - 1) + 1);

  static constexpr Places<D> In(size_t begin) {
    Places<D> places{};
    for (size_t i = 0; i < kLanes; ++i) {
      const size_t element = kApart * (i + kLanes) - begin;
      places.at[i] = static_cast<typename Places<D>::Index>(element % kLanes);
    }
    return places;
  }

  /// Lanes that are in vectors before this one.
  static constexpr size_t Before(size_t vector) { return (vector * kLanes + kApart - 1) / kApart; }
};

/// Those from vector kVector on.
template <size_t kApart, size_t kVector, class Load, typename T>
HWY_INLINE auto PickFrom(const Load& load, const T* p) {
  using D = hn::DFromV<decltype(load(p))>;
  using Of = Picked<D, kApart>;
  if constexpr (kVector + 1 == kApart) {
    static constexpr Places<D> kPlaces = Of::In(Of::kLast);
    return kPlaces.Of(load(p + Of::kLast));
  } else {
    static constexpr Places<D> kPlaces = Of::In(0);
    return hn::IfThenElse(hn::FirstN(D(), Of::Before(kVector + 1)),
                          kPlaces.Of(load(p + kVector * Of::kLanes)),
                          PickFrom<kApart, kVector + 1>(load, p));
  }
}

/// Lanes p[0], p[kApart], p[2 * kApart] ...; `load` loads a vector of neighbours. Nothing behind
/// the last lane is read.
template <size_t kApart, class Load, typename T>
HWY_INLINE auto LoadApart(const Load& load, const T* p) {
  if constexpr (kApart == 1) {
    return load(p);
  } else if constexpr (kApart % 2 == 1) {
    return PickFrom<kApart, 0>(load, p);
  } else {
    // Every other one of two vectors, of which the second begins with the last lane of the first.
    using D = hn::DFromV<decltype(load(p))>;
    constexpr size_t kNear = kApart / 2;
    const auto later = LoadApart<kNear>(load, p + kNear * (hn::Lanes(D()) - 1));
    return hn::ConcatEven(D(), hn::DupOdd(later), LoadApart<kNear>(load, p));
  }
}

/// Lanes of D that belong into one of kApart vectors of memory, and of those lanes of DT which they
/// are: all bits, or none.
template <class D, class DT, size_t kApart>
struct Spread {
  Places<D> from;
  Places<DT> holds;

  static constexpr Spread ToVector(size_t vector) {
    Spread spread{};
    for (size_t i = 0; i < Places<D>::kLanes; ++i) {
      const size_t element = vector * Places<D>::kLanes + i;
      spread.from.at[i] = static_cast<typename Places<D>::Index>(element / kApart);
      spread.holds.at[i] = element % kApart == 0 ? -1 : 0;
    }
    return spread;
  }
};

/// How many of `count` elements in memory are in vector kVector of them.
template <size_t kVector, class D>
HWY_INLINE size_t LeftFrom(D, size_t count) {
  constexpr size_t kBegin = kVector * hn::MaxLanes(D());
  return count < kBegin ? 0 : HWY_MIN(count - kBegin, hn::MaxLanes(D()));
}

/// Whether StoreApart has a way for lanes of D.
template <class D, typename T, size_t kApart>
inline constexpr bool kStoresApart = kApart > 1 && !kIsPacked<T> && kMaskedAccess<RawBits<T>> &&
                                     kTakesPlaces<D> && sizeof(hn::TFromD<D>) == 4;

/// Stores vectors from kVector on of those that the first `count` lanes of v, or all, are spread
/// over.
template <bool kIsAll, size_t kApart, size_t kVector, class V, typename T>
HWY_INLINE void StoreApart(V v, T* to, size_t count) {
  using D = hn::DFromV<V>;
  using DT = TagFor<RawBits<T>, D>;
  static constexpr auto kSpread = Spread<D, DT, kApart>::ToVector(kVector);
  const DT dt;
  const auto all = hn::Load(hn::RebindToSigned<DT>(), kSpread.holds.at);
  auto holds = hn::MaskFromVec(hn::BitCast(dt, all));
  if constexpr (!kIsAll)
    holds = hn::And(holds, hn::FirstN(dt, LeftFrom<kVector>(D(), kApart * count)));
  hn::BlendedStore(ToStorage<T>(kSpread.from.Of(v)), holds, dt,
                   reinterpret_cast<RawBits<T>*>(to) + kVector * hn::MaxLanes(dt));
  if constexpr (kVector + 1 < kApart) StoreApart<kIsAll, kApart, kVector + 1>(v, to, count);
}

/// One of kCount vectors of memory that hold rows of kCount elements: which rows its lanes are of,
/// and those that are column kColumn of theirs.
template <class D, size_t kCount>
struct Beside {
  Places<D> row;
  Places<D> column[kCount];

  static constexpr Beside InVector(size_t vector) {
    Beside beside{};
    for (size_t i = 0; i < Places<D>::kLanes; ++i) {
      const size_t element = vector * Places<D>::kLanes + i;
      beside.row.at[i] = static_cast<typename Places<D>::Index>(element / kCount);
      for (size_t c = 0; c < kCount; ++c) beside.column[c].at[i] = element % kCount == c ? -1 : 0;
    }
    return beside;
  }
};

/// Stores rows of an element of each vector, `count` or all, from vector kVector of memory on.
template <bool kIsAll, size_t kVector, typename T, class V, class... Others>
HWY_INLINE void StoreBeside(T* to, size_t count, V first, Others... others) {
  constexpr size_t kCount = 1 + sizeof...(Others);
  using D = hn::DFromV<V>;
  static constexpr auto kBeside = Beside<D, kCount>::InVector(kVector);
  const hn::RebindToSigned<D> di;
  V all = kBeside.row.Of(first);
  size_t column = 0;
  const auto put = [&](V v) KILN_INLINE_ATTR {
    const auto is = hn::MaskFromVec(hn::BitCast(D(), hn::Load(di, kBeside.column[++column].at)));
    all = hn::IfThenElse(is, kBeside.row.Of(v), all);
  };
  (put(others), ...);
  const TagFor<RawBits<T>, D> dt;
  RawBits<T>* const at = reinterpret_cast<RawBits<T>*>(to) + kVector * hn::MaxLanes(dt);
  if constexpr (kIsAll) {
    hn::StoreU(ToStorage<T>(all), dt, at);
  } else {
    const auto holds = hn::FirstN(dt, LeftFrom<kVector>(D(), kCount * count));
    hn::BlendedStore(ToStorage<T>(all), holds, dt, at);
  }
  if constexpr (kVector + 1 < kCount) StoreBeside<kIsAll, kVector + 1>(to, count, first, others...);
}

#endif  // HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
#endif
