// Positions of the largest and the smallest along lanes. fn(at, i) gives the elements i, i + 1 ...
// as ForLanes has it, and is called for every element, once:
//
//   ArgmaxLanes<T> ArgminLanes<T>(d, count, fn)   {value, index}: the first of equals; a NaN wins;
//                               of no elements the index is -1
#if defined(KILN_LOCATE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_LOCATE_INL_H_
#undef KILN_LOCATE_INL_H_
#else
#define KILN_LOCATE_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/simd/reduce-inl.h"

#ifndef KILN_LOCATE_ONCE_
#define KILN_LOCATE_ONCE_
namespace kiln::inline KILN_ABI {

/// What ArgmaxLanes finds.
template <typename X>
struct Best {
  X value;
  int32_t index;
};

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_LOCATE_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Whether x comes before the best so far. Nothing does once that is NaN.
template <bool kLargest, class V>
HWY_INLINE auto IsBetter(V x, V best) {
  const auto ahead = [&]() HWY_ATTR {
    if constexpr (kLargest) {
      return Gt(x, best);
    } else {
      return Lt(x, best);
    }
  }();
  if constexpr (FloatVector<V> || FloatScalar<V>) {
    return EitherOf(ahead, BothOf(Ne(x, x), Eq(best, best)));
  } else {
    return ahead;
  }
}

template <bool kLargest>
struct BetterObject {
  using Plain = std::conditional_t<kLargest, PlainMaxObject, PlainMinObject>;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return Select(IsBetter<kLargest>(b, a), b, a);
  }
};

/// The best so far of each lane.
template <bool kLargest, class V, class I>
struct BestOfLanes {
  HWY_INLINE void Add(V x, I at) {
    const auto better = IsBetter<kLargest>(x, value);
    value = Select(better, x, value);
    index = Select(better, at, index);
  }
  HWY_INLINE void Merge(const BestOfLanes& other) {
    const auto before = BothOf(IsSame(other.value), Lt(other.index, index));
    const auto better = EitherOf(IsBetter<kLargest>(other.value, value), before);
    value = Select(better, other.value, value);
    index = Select(better, other.index, index);
  }
  HWY_INLINE auto OfAll() const {
    const auto best = FoldVectorOr(BetterObject<kLargest>(), value, value);
    const auto none = hn::Set(hn::DFromV<I>(), std::numeric_limits<int32_t>::max());
    const I found = Select(IsSame(hn::Set(hn::DFromV<V>(), best)), index, none);
    return Best<decltype(LaneOf<V>(best))>{best, FoldVector(MinObject(), found)};
  }

  V value;
  I index;

 private:
  HWY_INLINE auto IsSame(V x) const {
    if constexpr (FloatVector<V>) {
      return EitherOf(Eq(x, value), BothOf(Ne(x, x), Ne(value, value)));
    } else {
      return Eq(x, value);
    }
  }
};

#if !HWY_HAVE_SCALABLE
/// So many vectors of a row stay in registers.
inline constexpr size_t kFewVectors = 8;

/// Of a row of few vectors: the best of all of them, and then where that is.
template <bool kLargest, typename T, class D, class Fn>
HWY_INLINE Best<Rep<T>> LocateInFew(D d, size_t count, const Fn& fn) {
  constexpr Rep<T> kLeast = kLargest ? LowestElement<T>() : HighestElement<T>();
  using Fold = std::conditional_t<kLargest, MaxOf<T>, MinOf<T>>;
  const Whole<D> whole;
  const size_t n = hn::Lanes(d);
  using V = decltype(fn(whole, 0));
  using I = decltype(whole.Iota(0));
  const V least = hn::Set(hn::DFromV<V>(), kLeast);
  V values[kFewVectors];
  const auto best = FoldLanes<Fold>(d, count, [&](auto at, size_t i, auto fold) KILN_INLINE_ATTR {
    const V value = fn(at, i);
    fold(value);
    values[i / n] = value;
    if (at.lanes() < n)
      values[i / n] = Select(hn::FirstN(TagFor<int32_t, D>(), at.lanes()), value, least);
  });
  // From the last to the first, so that the first of equals is what stays.
  const auto first = [&](const auto& is_best) KILN_INLINE_ATTR {
    I found = hn::Set(hn::DFromV<I>(), std::numeric_limits<int32_t>::max());
    const auto look = [&](size_t k) KILN_INLINE_ATTR {
      if (k * n >= count) return;
      found = Select(is_best(values[k]), whole.Iota(static_cast<int32_t>(k * n)), found);
    };
    look(7), look(6), look(5), look(4), look(3), look(2), look(1), look(0);
    return FoldVector(MinObject(), found);
  };
  const auto value = std::get<0>(best);
  const V all = hn::Set(hn::DFromV<V>(), value);
  if (HWY_UNLIKELY(value != value)) return {value, first([](V x) HWY_ATTR { return Ne(x, x); })};
  return {value, first([&](V x) HWY_ATTR { return Eq(x, all); })};
}
#endif

/// Vectors take turns, as each comparison waits for the one before.
template <bool kLargest, typename T, class D, class Fn>
HWY_INLINE Best<Rep<T>> LocateLanes(D d, size_t count, Fn&& fn) {
  constexpr Rep<T> kLeast = kLargest ? LowestElement<T>() : HighestElement<T>();
  if (count == 0) return {kLeast, -1};
#if !HWY_HAVE_SCALABLE
  if (__builtin_constant_p(count) && count <= kFewVectors * hn::Lanes(d))
    return LocateInFew<kLargest, T>(d, count, fn);
#endif
  const Whole<D> whole;
  const size_t n = hn::Lanes(d), end = count - count % n;
  using V = decltype(fn(whole, 0));
  using I = decltype(whole.Iota(0));
  using Lanes = BestOfLanes<kLargest, V, I>;
  const auto places = [&](size_t i) HWY_ATTR { return whole.Iota(static_cast<int32_t>(i)); };
  // Lanes that no element has been in lose against all that come first.
  const I none = hn::Set(hn::DFromV<I>(), std::numeric_limits<int32_t>::max());
  Lanes best{hn::Set(hn::DFromV<V>(), kLeast), none};
  size_t i = 0;
  if (end >= 4 * n) {
    Lanes a = best, b = best, c = best;
    best = {fn(whole, 0), places(0)}, a = {fn(whole, n), places(n)};
    b = {fn(whole, 2 * n), places(2 * n)}, c = {fn(whole, 3 * n), places(3 * n)};
    for (i = 4 * n; i + 4 * n <= end; i += 4 * n) {
      best.Add(fn(whole, i), places(i));
      a.Add(fn(whole, i + n), places(i + n));
      b.Add(fn(whole, i + 2 * n), places(i + 2 * n));
      c.Add(fn(whole, i + 3 * n), places(i + 3 * n));
    }
    best.Merge(a), b.Merge(c), best.Merge(b);
  }
  for (; i < end; i += n) best.Merge({fn(whole, i), places(i)});
  if (end < count) {
    const Part<D> part(count - end);
    const auto used = hn::FirstN(TagFor<int32_t, D>(), part.lanes());
    const V value = fn(part, end);
    const I at = part.Iota(static_cast<int32_t>(end));
    best.Merge({Select(used, value, hn::Set(hn::DFromV<V>(), kLeast)), Select(used, at, none)});
  }
  return best.OfAll();
}
template <typename T, class D, class Fn>
HWY_INLINE Best<Rep<T>> ArgmaxLanes(D d, size_t count, Fn&& fn) {
  return LocateLanes<true, T>(d, count, fn);
}
template <typename T, class D, class Fn>
HWY_INLINE Best<Rep<T>> ArgminLanes(D d, size_t count, Fn&& fn) {
  return LocateLanes<false, T>(d, count, fn);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_LOCATE_INL_H_
