// Reductions along lanes, to a scalar, and running sums. fn(at, i) gives the elements i, i + 1 ...
// as ForLanes has it:
//
//   SumLanes<T>(d, count, fn)   T is the dtype of the elements, the result is Rep<T>
//   ProdLanes MaxLanes MinLanes alike; a NaN is the maximum and the minimum
//   MaxAbsLanes                 MaxLanes of floats without a sign
//   AnyLanes AllLanes(d, count, fn)   of masks, to a bool
//   ScanLanes<T>(d, count, fn, out)   out(at, i, v) takes the running sums
//   FoldLanes<SumOf<T>, MaxOf<U>>(d, count, fn)   several of the first four in one pass: for
//                               fn(at, i, fold) to call fold(a, b) with the elements of each; a
//                               tuple of what these alone would give
//
// fn is called for every element, once, and may store what it computes: none of these ends early.
// Of no elements: 0, 1, the lowest, the highest, false, true. The result depends on
// nothing but the elements, their number and the target: sums have a fixed order, which is not that
// of a scalar loop.
#if defined(KILN_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_REDUCE_INL_H_
#undef KILN_REDUCE_INL_H_
#else
#define KILN_REDUCE_INL_H_
#endif

#include <tuple>

#include "kiln/core/version.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/values-inl.h"

#ifndef KILN_REDUCE_ONCE_
#define KILN_REDUCE_ONCE_
namespace kiln::inline KILN_ABI {

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

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_REDUCE_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
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
  } else if constexpr (hn::MaxLanes(D()) == 2 && sizeof(LaneOf<V>) >= 4) {
    return hn::GetLane(op(v, hn::Reverse2(D(), v)));  // half of two lanes takes two instructions
  } else {
    const hn::Half<D> dh;
    return FoldVector(op, op(hn::LowerHalf(dh, v), hn::UpperHalf(dh, v)));
#endif
  }
#endif
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
struct PlainMaxObject {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};
struct PlainMinObject {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Min(a, b);
  }
};
/// Plain: the same of what are no NaNs, in one instruction.
struct MaxObject {
  using Plain = PlainMaxObject;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return LargerOf(a, b);
  }
};
struct MaxBitsObject {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    const TagFor<uint32_t, hn::DFromV<V>> bits;
    const auto larger = hn::Max(hn::BitCast(bits, a), hn::BitCast(bits, b));
    return hn::BitCast(hn::DFromV<V>(), larger);
  }
};
struct MinObject {
  using Plain = PlainMinObject;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return SmallerOf(a, b);
  }
};

/// What is folded: by which operation, from where, and what becomes of it in the end.
template <typename T>
struct SumOf {
  using Total = Rep<T>;
  using Op = AddObject;
  static constexpr Total kStart{0};
  static HWY_INLINE Total End(Total total) { return total; }
};
template <typename T>
struct ProdOf {
  using Total = Rep<T>;
  using Op = MulObject;
  static constexpr Total kStart{1};
  static HWY_INLINE Total End(Total total) { return total; }
};
template <typename T>
struct MaxOf {
  using Total = Rep<T>;
  using Op = MaxObject;
  static constexpr Total kStart = LowestElement<T>();
  static HWY_INLINE Total End(Total total) { return Maximum(total, total); }
};
/// The largest of f32 that are not negative, whose bits are in the order of integers: a NaN, which
/// has no sign either, above all others.
template <typename T>
struct MaxAbsOf {
  using Total = Rep<T>;
  using Op = MaxBitsObject;
  static constexpr Total kStart{0};
  static HWY_INLINE Total End(Total total) { return total; }
};
template <typename T>
struct MinOf {
  using Total = Rep<T>;
  using Op = MinObject;
  static constexpr Total kStart = HighestElement<T>();
  static HWY_INLINE Total End(Total total) { return Minimum(total, total); }
};

/// Whether NaNs are looked for apart from the largest or smallest, as Max(a, b) is b where a is
/// NaN.
template <class Op, class V>
constexpr bool kWatchesNaNs = FloatVector<V>&& HWY_ARCH_X86 && !kPlainLanes && requires {
  typename Op::Plain;
};

/// FoldVector of what has a NaN only if `nans` has: then that one.
template <class Op, VectorValue V>
HWY_INLINE LaneOf<V> FoldVectorOr(Op op, [[maybe_unused]] V nans, V v) {
  if constexpr (kWatchesNaNs<Op, V>) {
    if (HWY_UNLIKELY(!hn::AllFalse(hn::DFromV<V>(), hn::IsNaN(nans)))) return FoldVector(op, nans);
    return FoldVector(typename Op::Plain(), v);
  } else {
    return FoldVector(op, v);
  }
}

/// Four chains of one fold, so that no vector waits for the one before it. Vectors without a size
/// cannot be members.
template <class Fold, class D>
struct Chains {
  using V = hn::Vec<D>;
  using Op = typename Fold::Op;
  V& sum_0;
  V& sum_1;
  V& sum_2;
  V& sum_3;
  V& even;  // what chain 0 or 2 took last
  V& nans;

  /// One of four, which come in order: two are looked at for a NaN at once.
  template <size_t kChain>
  HWY_INLINE void Add(V value) const {
    FoldIn<kChain>(value);
    if constexpr (kWatches && kChain % 2 == 0) even = value;
    if constexpr (kWatches && kChain % 2 == 1)
      nans = hn::IfThenElse(IsEitherNaN(even, value), hn::Add(even, value), nans);
  }
  HWY_INLINE void AddAlone(V value) const {
    FoldIn<0>(value);
    if constexpr (kWatches) nans = hn::IfThenElse(hn::IsNaN(value), value, nans);
  }
  HWY_INLINE void AddFirst(V value, size_t lanes) const {
    const auto used = hn::FirstN(D(), lanes);
    if constexpr (kWatches) nans = hn::IfThenElse(hn::And(used, hn::IsNaN(value)), value, nans);
    sum_1 = hn::IfThenElse(used, Combined(value, sum_1), sum_1);
  }
  HWY_INLINE typename Fold::Total Total() const {
    return Fold::End(
        FoldVectorOr(Op(), nans, Combined(Combined(sum_0, sum_1), Combined(sum_2, sum_3))));
  }
  /// The same where the others are as they started.
  HWY_INLINE typename Fold::Total TotalOfFirst() const {
    return Fold::End(FoldVectorOr(Op(), nans, sum_0));
  }

 private:
  static constexpr bool kWatches = kWatchesNaNs<Op, V>;
  static HWY_INLINE V Combined(V a, V b) {
    if constexpr (kWatches) {
      return typename Op::Plain()(a, b);
    } else {
      return Op()(a, b);
    }
  }
  template <size_t kChain>
  HWY_INLINE void FoldIn(V value) const {
    V& sum = Chain<kChain>();
    sum = Combined(value, sum);
  }
  template <size_t kChain>
  HWY_INLINE V& Chain() const {
    if constexpr (kChain == 0) return sum_0;
    if constexpr (kChain == 1) return sum_1;
    if constexpr (kChain == 2) return sum_2;
    if constexpr (kChain == 3) return sum_3;
  }
};

/// Calls go(chains...) with those of each fold.
template <class Fold, class... Others, class D, class Go>
HWY_INLINE auto WithChains(D d, const Go& go) {
  const TagFor<typename Fold::Total, D> dx;
  auto sum_0 = hn::Set(dx, Fold::kStart);
  auto sum_1 = sum_0;
  auto sum_2 = sum_0;
  auto sum_3 = sum_0;
  auto even = hn::Zero(dx), nans = even;
  const Chains<Fold, TagFor<typename Fold::Total, D>> chains{sum_0, sum_1, sum_2,
                                                             sum_3, even,  nans};
  if constexpr (sizeof...(Others) == 0) {
    return go(chains);
  } else {
    return WithChains<Others...>(
        d, [&](auto... others) KILN_INLINE_ATTR { return go(chains, others...); });
  }
}

/// Folds four vectors, from element i on, each into a chain of its own.
template <class D, class Fn, class Into0, class Into1, class Into2, class Into3>
HWY_INLINE void FoldFour(D d, const Fn& fn, size_t i, const Into0& into_0, const Into1& into_1,
                         const Into2& into_2, const Into3& into_3) {
  const size_t n = hn::Lanes(d);
  const Whole<D> whole;
  fn(whole, i, into_0);
  fn(whole, i + n, into_1);
  fn(whole, i + 2 * n, into_2);
  fn(whole, i + 3 * n, into_3);
}

/// Folds of all elements, of which fn(at, i, fold) hands over those at i by fold(v0, v1 ...).
template <class... Folds, class D, class Fn>
HWY_INLINE auto FoldLanes(D d, size_t count, const Fn& fn) {
  return WithChains<Folds...>(d, [&](auto... chains) KILN_INLINE_ATTR {
    const size_t n = hn::Lanes(d);
    const Whole<D> whole;
    const size_t fourfold = count - count % (4 * n);
    const size_t end = count - count % n;
    const auto into_0 = [&](auto... v) KILN_INLINE_ATTR { (chains.template Add<0>(v), ...); };
    const auto into_1 = [&](auto... v) KILN_INLINE_ATTR { (chains.template Add<1>(v), ...); };
    const auto into_2 = [&](auto... v) KILN_INLINE_ATTR { (chains.template Add<2>(v), ...); };
    const auto into_3 = [&](auto... v) KILN_INLINE_ATTR { (chains.template Add<3>(v), ...); };
    const auto into_first = [&](auto... v) KILN_INLINE_ATTR { (chains.AddAlone(v), ...); };
    size_t i = 0;
    for (; i < fourfold; i += 4 * n) {
      FoldFour(d, fn, i, into_0, into_1, into_2, into_3);
    }
    for (; i < end; i += n) fn(whole, i, into_first);
    if (i < count) {
      const size_t lanes = count - i;
      fn(Part<D>(lanes), i, [&](auto... v) KILN_INLINE_ATTR { (chains.AddFirst(v, lanes), ...); });
    }
    // Of a short row that takes as long as all else.
    if (__builtin_constant_p(count) && count < 4 * n && count % n == 0)
      return std::tuple(chains.TotalOfFirst()...);
    return std::tuple(chains.Total()...);
  });
}

/// The same of one: fn(at, i) are the elements.
template <class Fold, class D, class Fn>
HWY_INLINE typename Fold::Total FoldOne(D d, size_t count, Fn&& fn) {
  const auto fold_it = [&](auto at, size_t i, auto fold) KILN_INLINE_ATTR { fold(fn(at, i)); };
  return std::get<0>(FoldLanes<Fold>(d, count, fold_it));
}

template <typename T, class D, class Fn>
HWY_INLINE Rep<T> SumLanes(D d, size_t count, Fn&& fn) {
  return FoldOne<SumOf<T>>(d, count, fn);
}
template <typename T, class D, class Fn>
HWY_INLINE Rep<T> ProdLanes(D d, size_t count, Fn&& fn) {
  return FoldOne<ProdOf<T>>(d, count, fn);
}
template <typename T, class D, class Fn>
HWY_INLINE Rep<T> MaxLanes(D d, size_t count, Fn&& fn) {
  return FoldOne<MaxOf<T>>(d, count, fn);
}
/// MaxLanes of what is not negative.
template <typename T, class D, class Fn>
HWY_INLINE Rep<T> MaxAbsLanes(D d, size_t count, Fn&& fn) {
  return count == 0 ? LowestElement<T>() : FoldOne<MaxAbsOf<T>>(d, count, fn);
}
template <typename T, class D, class Fn>
HWY_INLINE Rep<T> MinLanes(D d, size_t count, Fn&& fn) {
  return FoldOne<MinOf<T>>(d, count, fn);
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
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_REDUCE_INL_H_
