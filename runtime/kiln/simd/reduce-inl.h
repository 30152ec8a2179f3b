// Reductions along lanes, to a scalar, and running sums. fn(at, i) gives the elements i, i + 1 ...
// as ForLanes has it:
//
//   SumLanes<T>(d, count, fn)   T is the dtype of the elements, the result is Rep<T>
//   ProdLanes MaxLanes MinLanes alike; a NaN is the maximum and the minimum
//   AnyLanes AllLanes(d, count, fn)   of masks, to a bool
//   ArgmaxLanes<T> ArgminLanes<T>(d, count, fn)   {value, index}: the first of equals; a NaN wins
//   ScanLanes<T>(d, count, fn, out)   out(at, i, v) takes the running sums
//   FoldArgmax FoldArgmin(best, index, value, i)   one step of the same along another axis, for
//                               vectors and scalars; i counts from 0, and at 0 the value is taken
//
// fn is called for every element, once, and may store what it computes: none of these ends early.
// Of no elements: 0, 1, the lowest, the highest, false, true, index -1. The result depends on
// nothing but the elements, their number and the target: sums have a fixed order, which is not that
// of a scalar loop.
#if defined(KILN_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_REDUCE_INL_H_
#undef KILN_REDUCE_INL_H_
#else
#define KILN_REDUCE_INL_H_
#endif

#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/values-inl.h"

#ifndef KILN_REDUCE_ONCE_
#define KILN_REDUCE_ONCE_
namespace kiln {

/// The least and greatest element of T, infinities of floats that have them.
template <typename T>
constexpr Rep<T> LowestElement() {
  if constexpr (std::is_same_v<T, f8e4m3fn>) {
    return -448;
  } else if constexpr (kIsPower<T>) {
    return 0x1p-127f;
  } else if constexpr (kIsFloating<T>) {
    return -std::numeric_limits<Rep<T>>::infinity();
  } else {
    return std::numeric_limits<T>::lowest();
  }
}
template <typename T>
constexpr Rep<T> HighestElement() {
  if constexpr (std::is_same_v<T, f8e4m3fn>) {
    return 448;
  } else if constexpr (kIsPower<T>) {
    return 0x1p127f;
  } else if constexpr (kIsFloating<T>) {
    return std::numeric_limits<Rep<T>>::infinity();
  } else {
    return std::numeric_limits<T>::max();
  }
}

/// What ArgmaxLanes finds.
template <typename X>
struct Best {
  X value;
  int32_t index;
};

}  // namespace kiln
#endif  // KILN_REDUCE_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {

/// op of all lanes, the upper half onto the lower.
template <class Op, VectorValue V>
HWY_INLINE LaneOf<V> FoldVector([[maybe_unused]] Op op, V v) {
  using D = hn::DFromV<V>;
#if HWY_HAVE_SCALABLE
  const D d;
  LaneOf<V> lanes[hn::MaxLanes(d)];
  hn::StoreU(v, d, lanes);
  for (size_t n = hn::Lanes(d); n > 1; n /= 2) {
    for (size_t i = 0; i < n / 2; ++i) lanes[i] = op(lanes[i], lanes[i + n / 2]);
  }
  return lanes[0];
#else
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
#if HWY_TARGET != HWY_SCALAR
  } else {
    const hn::Half<D> dh;
    return FoldVector(op, op(hn::LowerHalf(dh, v), hn::UpperHalf(dh, v)));
#endif
  }
#endif
}

/// op of all elements, in four chains so that none waits for the one before it.
template <typename X, class D, class Op, class Fn>
HWY_INLINE X FoldLanes(D d, size_t count, X identity, Op op, Fn&& fn) {
  const TagFor<X, D> dx;
  const size_t n = hn::Lanes(d);
  const Whole<D> whole;
  auto sum_0 = hn::Set(dx, identity);
  auto sum_1 = sum_0;
  auto sum_2 = sum_0;
  auto sum_3 = sum_0;
  const size_t fourfold = count - count % (4 * n);
  const size_t end = count - count % n;
  size_t i = 0;
  for (; i < fourfold; i += 4 * n) {
    sum_0 = op(fn(whole, i), sum_0);
    sum_1 = op(fn(whole, i + n), sum_1);
    sum_2 = op(fn(whole, i + 2 * n), sum_2);
    sum_3 = op(fn(whole, i + 3 * n), sum_3);
  }
  for (; i < end; i += n) sum_0 = op(fn(whole, i), sum_0);
  if (i < count) {
    const auto used = hn::FirstN(dx, count - i);
    sum_1 = hn::IfThenElse(used, op(fn(Part<D>(count - i), i), sum_1), sum_1);
  }
  return FoldVector(op, op(op(sum_0, sum_1), op(sum_2, sum_3)));
}

struct AddObject {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return AddOf(a, b);
  }
};
struct MulObject {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return MulOf(a, b);
  }
};
struct MaxObject {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return LargerOf(a, b);
  }
};
struct MinObject {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return SmallerOf(a, b);
  }
};

template <typename T, class D, class Fn>
HWY_INLINE Rep<T> SumLanes(D d, size_t count, Fn&& fn) {
  return FoldLanes<Rep<T>>(d, count, Rep<T>{0}, AddObject(), fn);
}
template <typename T, class D, class Fn>
HWY_INLINE Rep<T> ProdLanes(D d, size_t count, Fn&& fn) {
  return FoldLanes<Rep<T>>(d, count, Rep<T>{1}, MulObject(), fn);
}
template <typename T, class D, class Fn>
HWY_INLINE Rep<T> MaxLanes(D d, size_t count, Fn&& fn) {
  const auto largest = FoldLanes<Rep<T>>(d, count, LowestElement<T>(), MaxObject(), fn);
  return Maximum(largest, largest);
}
template <typename T, class D, class Fn>
HWY_INLINE Rep<T> MinLanes(D d, size_t count, Fn&& fn) {
  const auto smallest = FoldLanes<Rep<T>>(d, count, HighestElement<T>(), MinObject(), fn);
  return Minimum(smallest, smallest);
}

template <class D, class Fn>
HWY_INLINE bool AnyLanes(D d, size_t count, Fn&& fn) {
  const TagFor<int32_t, D> d32;
  auto any = hn::FirstN(d32, 0);
  ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
    any = hn::Or(any, hn::And(fn(at, i), hn::FirstN(d32, at.lanes())));
  });
  return !hn::AllFalse(d32, any);
}
template <class D, class Fn>
HWY_INLINE bool AllLanes(D d, size_t count, Fn&& fn) {
  return !AnyLanes(d, count, [&](auto at, size_t i) HWY_ATTR { return hn::Not(fn(at, i)); });
}

// ---- Positions.

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

template <bool kLargest, class V, class I>
HWY_INLINE void FoldPosition(V& best, I& index, V value, int32_t i) {
  if (i == 0) best = value;
  const auto better = IsBetter<kLargest>(value, best);
  best = Select(better, value, best);
  if constexpr (Scalar<I>) {
    index = i == 0 || better ? i : index;
  } else {
    const auto here = hn::Set(hn::DFromV<I>(), i);
    index = i == 0 ? here : Select(better, here, index);
  }
}
template <class V, class I>
HWY_INLINE void FoldArgmax(V& best, I& index, V value, int32_t i) {
  FoldPosition<true>(best, index, value, i);
}
template <class V, class I>
HWY_INLINE void FoldArgmin(V& best, I& index, V value, int32_t i) {
  FoldPosition<false>(best, index, value, i);
}

template <bool kLargest, typename T, class D, class Fn>
HWY_INLINE Best<Rep<T>> LocateLanes(D d, size_t count, Fn&& fn) {
  using X = Rep<T>;
  const TagFor<X, D> dx;
  const TagFor<int32_t, D> d32;
  constexpr size_t kMax = hn::MaxLanes(d);
  const size_t n = hn::Lanes(d);
  alignas(64) X values[kMax];
  alignas(64) int32_t indices[kMax];
  Best<X> best{kLargest ? LowestElement<T>() : HighestElement<T>(), -1};
  const auto fold = [&](size_t lanes) {
    for (size_t k = 0; k < lanes; ++k) {
      const bool same =
          values[k] == best.value || (values[k] != values[k] && best.value != best.value);
      const bool first = best.index < 0 || (same && indices[k] < best.index);
      if (first || IsBetter<kLargest>(values[k], best.value)) best = {values[k], indices[k]};
    }
  };

  const size_t end = count - count % n;
  if (end > 0) {  // the first of each lane, then of all
    const Whole<D> whole;
    auto value = fn(whole, 0);
    auto index = whole.Iota(0);
    for (size_t i = n; i < end; i += n) {
      const auto x = fn(whole, i);
      const auto better = IsBetter<kLargest>(x, value);
      value = Select(better, x, value);
      index = Select(better, whole.Iota(static_cast<int32_t>(i)), index);
    }
    hn::StoreU(value, dx, values);
    hn::StoreU(index, d32, indices);
    fold(n);
  }
  if (end < count) {
    const Part<D> part(count - end);
    hn::StoreU(fn(part, end), dx, values);
    hn::StoreU(part.Iota(static_cast<int32_t>(end)), d32, indices);
    fold(count - end);
  }
  return best;
}
template <typename T, class D, class Fn>
HWY_INLINE Best<Rep<T>> ArgmaxLanes(D d, size_t count, Fn&& fn) {
  return LocateLanes<true, T>(d, count, fn);
}
template <typename T, class D, class Fn>
HWY_INLINE Best<Rep<T>> ArgminLanes(D d, size_t count, Fn&& fn) {
  return LocateLanes<false, T>(d, count, fn);
}

// ---- Running sums.

/// Added one by one from the first, as the sums are defined.
template <typename T, class D, class Fn, class Out>
HWY_INLINE void ScanLanes(D d, size_t count, Fn&& fn, Out&& out) {
  using X = Rep<T>;
  const TagFor<X, D> dx;
  alignas(64) X lanes[hn::MaxLanes(d)];
  X sum{0};
  ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
    hn::StoreU(fn(at, i), dx, lanes);
    for (size_t k = 0; k < at.lanes(); ++k) lanes[k] = sum = AddOf(sum, lanes[k]);
    out(at, i, hn::LoadU(dx, lanes));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();

#endif  // KILN_REDUCE_INL_H_
