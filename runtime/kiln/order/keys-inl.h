// Elements as integers of the same order, NaN the largest.
#if defined(KILN_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_KEYS_INL_H_
#undef KILN_KEYS_INL_H_
#else
#define KILN_KEYS_INL_H_
#endif

#include <limits>

#include "kiln/order/line-inl.h"
#include "kiln/simd/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln {
namespace HWY_NAMESPACE {

/// What keys of T are: of 32 bits wherever its elements fit.
template <typename T>
using KeyOf = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
/// The tag of the loops over lanes of T.
template <typename T>
using LoopTag = std::conditional_t<sizeof(T) == 8, hn::ScalableTag<double>, hn::ScalableTag<float>>;

/// Whether 0 and -0 are one key.
enum class Zeros { kEqual, kApart };

template <typename T, Zeros kZeros, class V>
HWY_INLINE auto KeysOf(V v) {
  using Key = KeyOf<T>;
  const TagFor<Key, LoopTag<T>> dk;
  if constexpr (kIsFloating<T>) {
    const auto bits = hn::BitCast(dk, v);
    const auto most = hn::Set(dk, std::numeric_limits<Key>::max());
    auto key = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), most));
    if constexpr (kZeros == Zeros::kEqual)  // -0 is -1
      key = hn::IfThenZeroElse(hn::Eq(key, hn::Set(dk, Key{-1})), key);
    return hn::IfThenElse(hn::RebindMask(dk, hn::IsNaN(v)), most, key);
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    return hn::BitCast(dk, hn::Xor(v, hn::Set(hn::DFromV<V>(), 0x80000000u)));
  } else {
    return v;
  }
}

/// The other way around; NaN is one of its own.
template <typename T, class V>
HWY_INLINE auto ValuesOf(V key) {
  const hn::DFromV<V> dk;
  using Key = LaneOf<V>;
  if constexpr (kIsFloating<T>) {
    const TagFor<Rep<T>, LoopTag<T>> d;
    const auto most = hn::Set(dk, std::numeric_limits<Key>::max());
    return hn::BitCast(d, hn::Xor(key, hn::And(hn::BroadcastSignBit(key), most)));
  } else if constexpr (std::is_same_v<T, uint32_t>) {
    const hn::RebindToUnsigned<decltype(dk)> d;
    return hn::Xor(hn::BitCast(d, key), hn::Set(d, 0x80000000u));
  } else {
    return key;
  }
}

/// Calls fn(at, i, values) for the elements of a line from `begin` on.
template <typename T, class Fn>
HWY_INLINE void ForLine(Line<const T> line, size_t count, const Fn& fn) {
  if (line.stride == 1) {
    ForLanes(LoopTag<T>(), count,
             [&](auto at, size_t i) KILN_INLINE_ATTR { fn(at, i, at.Load(line.first + i)); });
  } else {
    ForLanes(LoopTag<T>(), count, [&](auto at, size_t i) KILN_INLINE_ATTR {
      fn(at, i, at.LoadStrided(line.first + Signed(i) * line.stride, line.stride));
    });
  }
}

template <class At, class V, typename T>
HWY_INLINE void StoreToLine(At at, V v, Line<T> line, size_t i) {
  if (line.stride == 1)
    at.Store(v, line.first + i);
  else
    at.StoreStrided(v, line.first + Signed(i) * line.stride, line.stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln
HWY_AFTER_NAMESPACE();

#endif  // KILN_KEYS_INL_H_
