// Values as integers of the same order, NaN the largest.
#if defined(KILN_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_KEYS_INL_H_
#undef KILN_KEYS_INL_H_
#else
#define KILN_KEYS_INL_H_
#endif

#include <limits>

#include "kiln/core/version.h"
#include "kiln/order/values-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// What keys of values of R are: as wide.
template <typename R>
using KeyOf = std::conditional_t<sizeof(R) == 8, int64_t, int32_t>;

/// The keys of 0 and -0 are 0 and -1.
template <typename R, class V>
HWY_INLINE auto KeysOf(V v) {
  using Key = KeyOf<R>;
  const TagFor<Key, LoopTag<R>> dk;
  if constexpr (std::is_floating_point_v<R>) {
    const auto bits = hn::BitCast(dk, v);
    const auto most = hn::Set(dk, std::numeric_limits<Key>::max());
    const auto key = hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), most));
    return hn::IfThenElse(hn::RebindMask(dk, hn::IsNaN(v)), most, key);
  } else if constexpr (std::is_same_v<R, uint32_t>) {
    return hn::BitCast(dk, hn::Xor(v, hn::Set(hn::DFromV<V>(), 0x80000000u)));
  } else {
    return v;
  }
}

/// The other way around; NaN is one of its own.
template <typename R, class V>
HWY_INLINE auto OfKeys(V key) {
  const hn::DFromV<V> dk;
  using Key = LaneOf<V>;
  if constexpr (std::is_floating_point_v<R>) {
    const TagFor<R, LoopTag<R>> d;
    const auto most = hn::Set(dk, std::numeric_limits<Key>::max());
    return hn::BitCast(d, hn::Xor(key, hn::And(hn::BroadcastSignBit(key), most)));
  } else if constexpr (std::is_same_v<R, uint32_t>) {
    const hn::RebindToUnsigned<decltype(dk)> d;
    return hn::Xor(hn::BitCast(d, key), hn::Set(d, 0x80000000u));
  } else {
    return key;
  }
}

/// What keys are xor'd with for this order.
template <Sorted kOrder, typename Key>
constexpr Key kTurned = kOrder == kDescending ? Key{-1} : Key{0};

template <typename R>
inline constexpr KeyOf<R> kNanKey = std::numeric_limits<KeyOf<R>>::max();

/// Whether floats of several bit patterns are equal to that of the key, or have it: NaNs and zeros.
template <class V>
HWY_INLINE auto IsSpecial(V key) {
  const hn::DFromV<V> dk;
  const auto nan = hn::Set(dk, std::numeric_limits<LaneOf<V>>::max());
  return hn::Or(hn::Eq(key, nan), hn::Eq(key, hn::Set(dk, LaneOf<V>{-1})));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_KEYS_INL_H_
