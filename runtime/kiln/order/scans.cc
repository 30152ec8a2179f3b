// Running sums and their like, compiled once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/order/scans.cc"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/foreach_target.h"
#include "kiln/order/values-inl.h"
#include "kiln/simd/reduce-inl.h"
#include "kiln/simd/stream-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Each lane folded with the one that is kDistance before it, then twice as far, and so on.
template <size_t kDistance, class D, class Op, class V = hn::Vec<D>>
HWY_INLINE V ScanVector(D d, Op op, V identity, V v) {
  if constexpr (kDistance >= hn::MaxLanes(D())) {
    return v;
  } else {
    if (HWY_HAVE_SCALABLE && kDistance >= hn::Lanes(d)) return v;
    using I = hwy::MakeSigned<hn::TFromD<D>>;
    const hn::Rebind<I, D> di;
    const auto number = hn::Iota(di, 0), distance = hn::Set(di, static_cast<I>(kDistance));
    const auto from = hn::Max(hn::Sub(number, distance), hn::Zero(di));
    const V before = hn::TableLookupLanes(v, hn::IndicesFromVec(d, from));
    const auto none = hn::RebindMask(d, hn::Gt(distance, number));
    v = op(v, hn::IfThenElse(none, identity, before));
    return ScanVector<2 * kDistance>(d, op, identity, v);
  }
}

/// The last lane in all lanes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V BroadcastLast(D d, V v) {
  using I = hwy::MakeSigned<hn::TFromD<D>>;
  const hn::Rebind<I, D> di;
  return hn::TableLookupLanes(v,
                              hn::IndicesFromVec(d, hn::Set(di, static_cast<I>(hn::Lanes(d) - 1))));
}

/// Within each vector first, then from vector to vector: only that waits for the one before, which
/// is `before` for the first. Gives the last.
template <typename R, class Op>
HWY_NOINLINE R ScanValues(const R* from, size_t count, R* to, bool stream, R identity, R before,
                          Op op) {
  const TagFor<R, LoopTag<R>> d;
  const auto none = hn::Set(d, identity);
  auto last = hn::Set(d, before);
  StreamLanes(LoopTag<R>(), count, stream, to, [&](auto at, size_t i) KILN_INLINE_ATTR {
    const auto own = ScanVector<1>(d, op, none, at.Load(from + i));
    at.Store(op(own, last), to + i);
    last = op(BroadcastLast(d, own), last);
  });
  return hn::GetLane(last);
}

template <typename T, class Op>
HWY_INLINE void ScanLine(Line<const T> from, size_t count, Line<T> to, Rep<T> identity, Op op) {
  using R = Rep<T>;
  if constexpr (std::is_same_v<T, R>) {
    if (AreValues(from) && AreValues(to)) {
      ScanValues<R>(from.first, count, to.first, to.stream, identity, identity, op);
      return;
    }
  }
  // A block after the other, as the room does not grow with the line.
  constexpr size_t kBlock = 512;
  HWY_ALIGN R room[kBlock + hn::MaxLanes(LoopTag<T>())];
  R before = identity;
  for (size_t i = 0; i < count; i += kBlock) {
    const size_t n = HWY_MIN(count - i, kBlock);
    ReadLine<T>({from.first + Signed(i) * from.stride, from.stride}, n, room);
    before = ScanValues<R>(room, n, room, /*stream=*/false, identity, before, op);
    WriteLine<T>(room, n, {to.first + Signed(i) * to.stride, to.stride});
  }
}

template <typename T>
void CumsumLineOf(Line<const T> from, size_t count, Line<T> to) {
  ScanLine<T>(from, count, to, Rep<T>{0}, AddObject());
}
template <typename T>
void CumprodLineOf(Line<const T> from, size_t count, Line<T> to) {
  ScanLine<T>(from, count, to, Rep<T>{1}, MulObject());
}
template <typename T>
void CummaxLineOf(Line<const T> from, size_t count, Line<T> to) {
  ScanLine<T>(from, count, to, LowestElement<T>(), MaxObject());
}
template <typename T>
void CumminLineOf(Line<const T> from, size_t count, Line<T> to) {
  ScanLine<T>(from, count, to, HighestElement<T>(), MinObject());
}

#define KILN_SUMS(T)                                             \
  template void CumsumLineOf<T>(Line<const T>, size_t, Line<T>); \
  template void CumprodLineOf<T>(Line<const T>, size_t, Line<T>);
#define KILN_EXTREMES(T)                                         \
  template void CummaxLineOf<T>(Line<const T>, size_t, Line<T>); \
  template void CumminLineOf<T>(Line<const T>, size_t, Line<T>);
KILN_SUMS(int32_t)
KILN_SUMS(uint32_t)
KILN_SUMS(int64_t)
KILN_SUMS(float)
KILN_SUMS(double)
KILN_WITH_ORDERED(KILN_EXTREMES)
#undef KILN_SUMS
#undef KILN_EXTREMES

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();
