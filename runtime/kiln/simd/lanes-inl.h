// Loops over lanes, and how a loop reads and writes memory.
//
//   ForLanes(kFloats, count, [&](auto at, size_t c) HWY_ATTR { at.Store(at.Load(x + c), z + c); });
//
// `at` is Whole<D>, and for the rest of the last, incomplete vector Part<D>, which touches no
// memory outside its lanes:
//
//   at.Load(p)            elements p[0], p[1] ... as their representation (represent-inl.h)
//   at.Store(v, p)        v as elements of p's type: floats rounded, integers cut off
//   at.StoreIf(m, v, p)   only lanes where the mask holds; the others are not touched
//   at.LoadStrided(p, s)  p[0], p[s], p[2 * s] ...; s may be 0 or negative
//   at.LoadReversed(p)    p[0], p[-1], p[-2] ...
//   at.LoadAround(p, i, n) p[i], p[i + 1] ... p[n - 1], p[0] ..., also if i is n or more, but less
//                         than twice as much
//   at.StoreStrided(v, p, s)  and with Likely<S>() behind, where s is S unless rows have gaps
//   at.Gather(p, s, i)    p[i[0] * s], p[i[1] * s] ..., by a vector of integers
//                         and with Entries<N>() behind, where i[0], i[1] ... are less than N
//   at.Cached()           the same lanes, which are stored in the caches wherever others go
//   at.PrefetchRead(p, s), at.PrefetchStored(p, s)  prefetch what a load of p, or a store, needs;
//                         rows are s apart: a register tile asks for what the one below it needs
//   at.Splat(x)           a scalar of a representation in all lanes, bool as a mask
//   at.Iota(first)        i32: first, first + 1 ...
//   at.lanes(), at.tag()  how many lanes are in use; the tag of the loop
//
// In a Part, lanes that are not in use are 0 after a load.
#if defined(KILN_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_LANES_INL_H_
#undef KILN_LANES_INL_H_
#else
#define KILN_LANES_INL_H_
#endif

#include <stddef.h>

#include <type_traits>

#include "kiln/core/version.h"
#include "kiln/simd/collect-inl.h"
#include "kiln/simd/lookup-inl.h"
#include "kiln/simd/packed-inl.h"
#include "kiln/simd/prefetch.h"
#include "kiln/simd/strided-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Tags of the loops of kernels.
constexpr hn::ScalableTag<float> kFloats;
constexpr hn::ScalableTag<int32_t> kInts;
constexpr hn::ScalableTag<double> kDoubles;

/// How elements of T are addressed as lanes of Highway.
template <typename T>
HWY_INLINE const RawBits<T>* RawPointer(const T* p) {
  static_assert(!kIsPacked<T>);
  return reinterpret_cast<const RawBits<T>*>(p);
}
template <typename T>
HWY_INLINE RawBits<T>* RawPointer(T* p) {
  static_assert(!kIsPacked<T>);
  return reinterpret_cast<RawBits<T>*>(p);
}

/// Copies count < 2 * kStep elements, without a call and without a loop.
template <size_t kStep, typename X>
HWY_INLINE void CopyFew(const X* from, X* to, size_t count) {
  if (count & kStep) {
    std::memcpy(to, from, kStep * sizeof(X));
    from += kStep;
    to += kStep;
  }
  if constexpr (kStep > 1) CopyFew<kStep / 2>(from, to, count);
}

/// The first `count` of D's lanes from memory, 0 in the others.
template <class D, typename X = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const X* p, size_t count) {
  if constexpr (kMaskedAccess<X>) {
    return hn::MaskedLoad(hn::FirstN(d, count), d, p);
  } else {
    alignas(64) X lanes[hn::MaxLanes(d)] = {};
    CopyFew<hn::MaxLanes(d)>(p, lanes, count);
    return hn::LoadU(d, lanes);
  }
}

template <class D, typename X = hn::TFromD<D>>
HWY_INLINE void StoreFirst(D d, hn::Vec<D> v, X* p, size_t count) {
  if constexpr (kMaskedAccess<X>) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, p);
  } else {
    alignas(64) X lanes[hn::MaxLanes(d)];
    hn::StoreU(v, d, lanes);
    CopyFew<hn::MaxLanes(d)>(lanes, p, count);
  }
}

/// The first `count` lanes of v, where the mask holds. (A vector of bytes is stored by the tag of
/// as many lanes: that of its type is one of a whole register on SVE, more than there is room for.)
template <class D, class M, typename X = hn::TFromD<D>>
HWY_INLINE void StoreFirstIf(D d, M mask, hn::Vec<D> v, X* p, size_t count) {
  if constexpr (kBitMasks) {
    hn::BlendedStore(v, hn::And(hn::Mask<D>{mask.raw}, hn::FirstN(d, count)), d, p);
  } else if constexpr (kMaskedAccess<X> && sizeof(X) >= 4) {
    hn::BlendedStore(v, hn::And(MaskFor(d, mask), hn::FirstN(d, count)), d, p);
  } else {
    constexpr size_t kMax = hn::MaxLanes(d);
    const auto bytes = ToStorage<bool>(mask);
    alignas(64) X lanes[kMax];
    alignas(64) uint8_t holds[kMax];
    hn::StoreU(v, d, lanes);
    hn::StoreU(bytes, TagFor<uint8_t, D>(), holds);
    for (size_t i = 0; i < count; ++i) {
      if (holds[i]) p[i] = lanes[i];
    }
  }
}

/// The same of packed elements, one by one: a byte is shared with a lane that is not touched.
template <class D, class M, typename T>
HWY_INLINE void StorePackedIf(D d, M mask, hn::Vec<D> v, T* p, size_t count) {
  const auto bytes = ToStorage<bool>(mask);
  alignas(64) RawBits<T> lanes[hn::MaxLanes(d)];
  alignas(64) uint8_t holds[hn::MaxLanes(d)];
  hn::StoreU(v, d, lanes);
  hn::StoreU(bytes, TagFor<uint8_t, D>(), holds);
  for (size_t i = 0; i < count; ++i) {
    if (holds[i]) internal::SetBitsAt(PlaceAfter(p, i, 1), static_cast<uint8_t>(lanes[i]));
  }
}

/// What Whole and Part have in common.
template <class D, class Derived>
struct AtLanes {
  static constexpr D tag() { return D(); }

  /// The same lanes for what is read again soon, where these may be stored past the caches.
  HWY_INLINE const Derived& Cached() const { return *static_cast<const Derived*>(this); }

  template <Scalar X>
  HWY_INLINE auto Splat(X x) const {
    if constexpr (std::is_same_v<X, bool>) {
      const TagFor<int32_t, D> d;
      return hn::MaskFromVec(hn::Set(d, -static_cast<int32_t>(x)));
    } else {
      return hn::Set(TagFor<X, D>(), x);
    }
  }

  HWY_INLINE auto Iota(int32_t first) const {
    const TagFor<int32_t, D> d;
    return hn::Add(hn::Iota(d, 0), hn::Set(d, first));
  }

  template <typename T, size_t kApart = 0>
  HWY_INLINE auto LoadStrided(const T* p, ptrdiff_t stride, Likely<kApart> = {}) const {
    const TagFor<RawBits<T>, D> d;
    const auto& self = *static_cast<const Derived*>(this);
    const size_t count = self.lanes();
#if HWY_TARGET != HWY_SCALAR
    if constexpr (Derived::template kMayPick<T> && kApart > 1) {
      using DT = hn::DFromV<decltype(self.Load(p))>;
      if constexpr (kLoadsApart<DT, kApart> && kTakesPlaces<DT>) {
        const T* const end = p + kApart * (count - 1) + 1;
        const auto load = [&](const T* from) KILN_INLINE_ATTR { return self.LoadUpTo(from, end); };
        if (HWY_LIKELY(stride == ptrdiff_t{kApart})) return LoadApart<kApart>(load, p);
      }
    }
#endif
    if constexpr (kIsPacked<T>) {
      return FromStorage<T>(LoadPackedOneByOne(d, p, stride, count));
    } else {
      const RawBits<T>* from = RawPointer(p);
      return FromStorage<T>(self.Collect(
          d, [=](size_t i) KILN_INLINE_ATTR { return from + static_cast<ptrdiff_t>(i) * stride; }));
    }
  }

  template <typename T>
  HWY_INLINE auto LoadAround(const T* line, size_t i, size_t n) const {
    const auto& self = *static_cast<const Derived*>(this);
    const size_t first = i < n ? i : i - n;
    if (HWY_LIKELY(first + self.lanes() <= n)) return self.Load(line + first);
    const TagFor<RawBits<T>, D> d;
    return FromStorage<T>(LoadAroundEnd(d, RawPointer(line), first, n, self.lanes()));
  }

  template <typename T, class Indices>
  HWY_INLINE auto Gather(const T* p, ptrdiff_t stride, Indices indices) const {
    const hn::DFromV<Indices> di;
    alignas(64) hn::TFromD<decltype(di)> at[hn::MaxLanes(di)];
    hn::Store(indices, di, at);
    const TagFor<RawBits<T>, D> d;
    if constexpr (kIsPacked<T>) {
      alignas(64) RawBits<T> lanes[hn::MaxLanes(d)] = {};
      const size_t count = static_cast<const Derived*>(this)->lanes();
      for (size_t i = 0; i < count; ++i) {
        const uintptr_t place = PlaceAfter(p, static_cast<size_t>(at[i]), stride);
        lanes[i] = static_cast<RawBits<T>>(internal::BitsAt(place));
      }
      return FromStorage<T>(hn::LoadU(d, lanes));
    } else {
      const RawBits<T>* from = RawPointer(p);
      return FromStorage<T>(static_cast<const Derived*>(this)->Collect(
          d, [&](size_t i)
                 KILN_INLINE_ATTR { return from + static_cast<ptrdiff_t>(at[i]) * stride; }));
    }
  }

  template <typename T, class Indices, size_t kEntries>
  HWY_INLINE auto Gather(const T* p, ptrdiff_t stride, Indices indices, Entries<kEntries>) const {
    if constexpr (kLooksUpInRegisters<D, T, kEntries>) {
      if (HWY_LIKELY(stride == 1)) return LookUp<kEntries>(D(), p, indices);
    }
    return Gather(p, stride, indices);
  }

  template <class V, typename T, size_t kApart = 0>
  HWY_INLINE void StoreStrided(V v, T* p, ptrdiff_t stride, Likely<kApart> = {}) const {
    const TagFor<RawBits<T>, D> d;
    const size_t count = static_cast<const Derived*>(this)->lanes();
#if HWY_TARGET != HWY_SCALAR
    if constexpr (!std::is_same_v<T, bool>) {
      if constexpr (kStoresApart<hn::DFromV<V>, T, kApart>) {
        if (HWY_LIKELY(stride == ptrdiff_t{kApart}))
          return StoreApart<Derived::kIsWhole, kApart, 0>(v, p, count);
      }
    }
#endif
    if constexpr (kIsPacked<T>) {
      StorePackedOneByOne(d, ToStorage<T>(v), p, stride, count);
    } else {
      alignas(64) RawBits<T> lanes[hn::MaxLanes(d)];
      hn::StoreU(ToStorage<T>(v), d, lanes);
      RawBits<T>* to = RawPointer(p);
      for (size_t i = 0; i < count; ++i) to[static_cast<ptrdiff_t>(i) * stride] = lanes[i];
    }
  }

  static constexpr bool kStoresPastCaches = false;

  template <typename T>
  HWY_INLINE void PrefetchRead(const T* p, ptrdiff_t /*to_row*/) const {
    PrefetchToL1(p);
  }
  template <typename T>
  HWY_INLINE void PrefetchStored(const T* p, ptrdiff_t /*to_row*/) const {
    PrefetchToL1(p);
  }

  /// Only loops that stream prefetch what is read later (stream-inl.h): others may find it in a
  /// cache.
  template <typename... Later>
  HWY_INLINE void PrefetchStream(Later...) const {}
  template <typename... Later>
  HWY_INLINE void PrefetchParts(Later...) const {}

  template <class M, class V, typename T>
  HWY_INLINE void StoreIf(M mask, V v, T* p) const {
    const TagFor<RawBits<T>, D> d;
    const size_t count = static_cast<const Derived*>(this)->lanes();
    if constexpr (kIsPacked<T>)
      StorePackedIf(d, mask, ToStorage<T>(v), p, count);
    else
      StoreFirstIf(d, mask, ToStorage<T>(v), RawPointer(p), count);
  }
};

/// All lanes of a vector.
template <class D>
struct Whole : AtLanes<D, Whole<D>> {
  HWY_INLINE size_t lanes() const { return hn::Lanes(D()); }

  template <class DT, class At>
  HWY_INLINE auto Collect(DT d, const At& at) const {
    return CollectWhole<0>(d, at);
  }

  template <typename T>
  HWY_INLINE auto Load(const T* p) const {
    return LoadWhole(D(), p);
  }

  static constexpr bool kIsWhole = true;

  /// Elements some apart are picked out of vectors; LoadUpTo reads nothing from `end` on.
  template <typename T>
  static constexpr bool kMayPick = !kIsPacked<T> && !std::is_same_v<T, bool>;
  template <typename T>
  HWY_INLINE auto LoadUpTo(const T* from, const T* /*end*/) const {
    return Load(from);
  }

  template <typename T>
  HWY_INLINE auto LoadReversed(const T* p) const {
    if constexpr (!kMayPick<T>) {
      return this->LoadStrided(p, -1);
    } else if constexpr (sizeof(T) < 4) {
      const auto v = Load(p - (hn::Lanes(D()) - 1));
      return hn::Reverse(hn::DFromV<decltype(v)>(), v);
    } else {
      const TagFor<RawBits<T>, D> d;
      return FromStorage<T>(hn::Reverse(d, hn::LoadU(d, RawPointer(p) - (hn::Lanes(d) - 1))));
    }
  }

  template <class V, typename T>
  HWY_INLINE void Store(V v, T* p) const {
    const TagFor<RawBits<T>, D> d;
    if constexpr (kIsPacked<T>)
      StorePacked(d, ToStorage<T>(v), p);
    else
      hn::StoreU(ToStorage<T>(v), d, RawPointer(p));
  }

  /// Elements as they are, which narrow ones need not be widened for.
  template <typename T>
  HWY_INLINE void Copy(const T* from, T* to) const {
    const TagFor<RawBits<T>, D> d;
    hn::StoreU(hn::LoadU(d, RawPointer(from)), d, RawPointer(to));
  }
};

/// The first `count` lanes of a vector, fewer than it has; 0 is none.
template <class D>
struct Part : AtLanes<D, Part<D>> {
  size_t count;

  HWY_INLINE explicit Part(size_t lanes) : count(lanes) {}
  HWY_INLINE size_t lanes() const { return count; }

  template <class DT, class At>
  HWY_INLINE auto Collect(DT d, const At& at) const {
    return CollectPart(d, count, at);
  }

  template <typename T>
  HWY_INLINE auto Load(const T* p) const {
    const TagFor<RawBits<T>, D> d;
    if constexpr (kIsPacked<T>)
      return FromStorage<T>(LoadPackedOneByOne(d, p, 1, count));
    else
      return FromStorage<T>(LoadFirst(d, RawPointer(p), count));
  }

  static constexpr bool kIsWhole = false;
  template <typename T>
  static constexpr bool kMayPick = Whole<D>::template kMayPick<T>&& kMaskedAccess<RawBits<T>>;
  template <typename T>
  HWY_INLINE auto LoadUpTo(const T* from, const T* end) const {
    const size_t left = from < end ? static_cast<size_t>(end - from) : 0;
    return Part(HWY_MIN(left, hn::Lanes(D()))).Load(from);
  }

  template <typename T>
  HWY_INLINE auto LoadReversed(const T* p) const {
    return this->LoadStrided(p, -1);
  }

  template <class V, typename T>
  HWY_INLINE void Store(V v, T* p) const {
    const TagFor<RawBits<T>, D> d;
    if constexpr (kIsPacked<T>)
      StorePackedOneByOne(d, ToStorage<T>(v), p, 1, count);
    else
      StoreFirst(d, ToStorage<T>(v), RawPointer(p), count);
  }

  template <typename T>
  HWY_INLINE void Copy(const T* from, T* to) const {
    const TagFor<RawBits<T>, D> d;
    StoreFirst(d, LoadFirst(d, RawPointer(from), count), RawPointer(to), count);
  }
};

/// Calls fn(at, i) for i = 0, N, 2N ... of N lanes, until all `count` are done.
template <class D, class Fn>
HWY_INLINE void ForLanes(D d, size_t count, Fn&& fn) {
  const size_t n = hn::Lanes(d);
  const size_t whole = count - count % n;
  for (size_t i = 0; i < whole; i += n) fn(Whole<D>(), i);
  if (whole < count) fn(Part<D>(count - whole), whole);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_LANES_INL_H_
