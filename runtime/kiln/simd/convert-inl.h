// Casts between dtypes, for vectors and scalars:
//
//   Cast<From, To>(v)     From and To as they are stored: Cast<float, bf16>(v) rounds and gives a
//                         float vector. To float: rounded to nearest even, once; to f8e8m0fnu by
//                         way of f32, as ml_dtypes does. Float to integer:
//                         truncated, saturated to To's range, NaN is 0. Integers to narrower ones:
//                         wrapped. To bool: != 0, so NaN is true. bool to a number: 0 or 1.
//   Bitcast<From, To>(v)  the same bits as another dtype of the same width
#if defined(KILN_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_CONVERT_INL_H_
#undef KILN_CONVERT_INL_H_
#else
#define KILN_CONVERT_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/simd/storage-inl.h"

#ifndef KILN_CONVERT_ONCE_
#define KILN_CONVERT_ONCE_
#include <limits>

namespace kiln::inline KILN_ABI {

/// Whether every value of From, an integer type, is one of To.
template <typename From, typename To>
constexpr bool FitsInto() {
  using F = std::numeric_limits<From>;
  using L = std::numeric_limits<To>;
  return int64_t{F::min()} >= int64_t{L::min()} && int64_t{F::max()} <= int64_t{L::max()};
}

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_CONVERT_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

// ---- Between representations. Where Highway's plain lanes differ (inf becomes the largest float,
// conversions of NaN are undefined), these go lane by lane.

/// Truncates and saturates; NaN is 0.
template <FloatScalar F>
constexpr int64_t TruncateScalar(F x, int64_t least, int64_t most) {
  if (x != x) return 0;
  // As floats the bounds may be rounded away from 0, which is to the first value that does not fit.
  if (x >= static_cast<F>(most)) return most;
  if (x <= static_cast<F>(least)) return least;
  return static_cast<int64_t>(x);
}

template <typename I, FloatVector V>
HWY_INLINE auto TruncateLanes(V v) {
  using D = hn::DFromV<V>;
  using F = LaneOf<V>;
  using Limits = std::numeric_limits<I>;
  const D d;
  const TagFor<I, D> di;
  const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
  if constexpr (kPlainLanes) {
    return LaneByLane(
        [](F x) { return static_cast<I>(TruncateScalar(x, Limits::min(), Limits::max())); }, v);
  } else if constexpr (std::is_same_v<I, uint32_t>) {
    // Through i32, moved down by 2^31.
    const TagFor<int32_t, D> d32;
    const auto clamped = hn::Max(number, hn::Zero(d));
    const auto middle = hn::Set(d, static_cast<F>(0x80000000u));
    const auto upper = hn::Ge(clamped, middle);
    const auto low = TruncateLanes<int32_t>(hn::Sub(clamped, hn::IfThenElseZero(upper, middle)));
    const auto high = hn::IfThenElseZero(MaskFor(d32, NarrowMask(d, upper)),
                                         hn::Set(d32, std::numeric_limits<int32_t>::min()));
    return hn::BitCast(di, hn::Add(low, high));
  } else if constexpr (sizeof(I) == sizeof(F)) {
    return hn::ConvertTo(di, number);
  } else if constexpr (sizeof(I) < sizeof(F)) {
    return hn::DemoteTo(di, number);
  } else {
    return hn::ConvertTo(di, hn::PromoteTo(TagFor<double, D>(), number));
  }
}

/// Any representation but bool as f64: exact, but for i64, which is rounded.
template <VectorValue V>
HWY_INLINE auto ToF64(V v) {
  using D = hn::DFromV<V>;
  using X = LaneOf<V>;
  const TagFor<double, D> d;
  if constexpr (std::is_same_v<X, double>) {
    return v;
  } else if constexpr (std::is_same_v<X, int64_t>) {
    return hn::ConvertTo(d, v);
  } else if constexpr (std::is_same_v<X, uint32_t>) {
    const TagFor<int32_t, D> di;
    const auto moved = hn::Xor(v, hn::Set(D(), 0x80000000u));
    return hn::Add(hn::PromoteTo(d, hn::BitCast(di, moved)), hn::Set(d, 0x1p31));
  } else {
    return hn::PromoteTo(d, v);
  }
}

/// The f32 that is nearest to an f64.
template <VectorValue V>
HWY_INLINE auto NearestF32(V v) {
  if constexpr (kPlainLanes) {
    return LaneByLane([](double x) { return static_cast<float>(x); }, v);
  } else {
    return hn::DemoteTo(TagFor<float, hn::DFromV<V>>(), v);
  }
}

/// f64 as f32, with the last bit set when bits were lost. A second rounding to a type at least two
/// bits narrower then gives what a single one from the f64 would.
template <VectorValue V>
HWY_INLINE auto OddF32(V v) {
  const hn::DFromV<V> d;
  const TagFor<float, decltype(d)> df;
  const TagFor<int32_t, decltype(d)> di;
  const auto nearest = NearestF32(v);
  const auto got = hn::Abs(hn::PromoteTo(d, nearest));
  const auto wanted = hn::Abs(v);
  const auto bits = hn::BitCast(di, nearest);
  const auto even = hn::AndNot(bits, hn::Set(di, 1));
  const auto up = MaskFor(di, NarrowMask(d, hn::Lt(got, wanted)));
  const auto down = MaskFor(di, NarrowMask(d, hn::Gt(got, wanted)));
  const auto step = hn::Sub(hn::IfThenElseZero(up, even), hn::IfThenElseZero(down, even));
  return hn::BitCast(df, hn::Add(bits, step));
}

/// An integer of 32 bits with the lower 8 of those beyond 2^24 folded into one: exact as an f32,
/// and rounded again to a half it is what the integer itself would be.
template <IntegerVector V>
HWY_INLINE V OddInteger(V v) {
  const hn::DFromV<V> d;
  const TagFor<uint32_t, decltype(d)> du;
  auto magnitude = hn::BitCast(du, v);
  if constexpr (std::is_same_v<LaneOf<V>, int32_t>) magnitude = hn::BitCast(du, hn::Abs(v));
  const auto low = hn::And(v, hn::Set(d, 0xFF));
  const auto lost = hn::Ne(low, hn::Zero(d));
  const auto odd = hn::Or(hn::Sub(v, low), hn::IfThenElseZero(lost, hn::Set(d, 0x100)));
  const auto large = hn::Gt(magnitude, hn::Set(du, 0xFFFFFFu));
  return hn::IfThenElse(hn::RebindMask(d, large), odd, v);
}

/// An integer of 32 bits as the nearest f32.
template <IntegerVector V>
HWY_INLINE auto F32OfInteger(V v) {
  using D = hn::DFromV<V>;
  const TagFor<float, D> d;
  const TagFor<int32_t, D> di;
  if constexpr (std::is_same_v<LaneOf<V>, int32_t>) {
    return hn::ConvertTo(d, v);
  } else {
    // Both halves are exact, and so is the product: only the sum rounds.
    const auto high = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<16>(v)));
    const auto low = hn::ConvertTo(d, hn::BitCast(di, hn::And(v, hn::Set(D(), 0xFFFF))));
    return hn::Add(hn::Mul(high, hn::Set(d, 65536.0f)), low);
  }
}

/// Any representation but bool as the nearest f32.
template <VectorValue V>
HWY_INLINE auto ToF32(V v) {
  using D = hn::DFromV<V>;
  using X = LaneOf<V>;
  if constexpr (std::is_same_v<X, float>) {
    return v;
  } else if constexpr (std::is_same_v<X, double>) {
    return NearestF32(v);
  } else if constexpr (std::is_same_v<X, int64_t>) {
    // By way of an f64 that is rounded to odd: beyond 2^53, 11 bits are folded into one.
    const D d;
    const auto low = hn::And(v, hn::Set(d, 0x7FF));
    const auto lost = hn::Ne(low, hn::Zero(d));
    const auto odd = hn::Or(hn::Sub(v, low), hn::IfThenElseZero(lost, hn::Set(d, 0x800)));
    const auto limit = hn::Set(d, int64_t{1} << 53);
    const auto large = hn::Or(hn::Gt(v, limit), hn::Lt(v, hn::Sub(hn::Zero(d), limit)));
    return NearestF32(ToF64(hn::IfThenElse(large, odd, v)));
  } else {
    return F32OfInteger(v);
  }
}

// ---- Casts.

/// The values of an i32 vector wrapped to To, a type of at most 32 bits.
template <typename To, VectorValue V>
HWY_INLINE auto WrapLanes(V v) {
  const hn::DFromV<V> d;
  constexpr int kDrop = 32 - static_cast<int>(kBitsOf<To>);
  if constexpr (std::is_same_v<To, uint32_t>) {
    return hn::BitCast(TagFor<uint32_t, decltype(d)>(), v);
  } else if constexpr (kDrop == 0) {
    return v;
  } else if constexpr (std::numeric_limits<To>::is_signed) {
    return hn::ShiftRight<kDrop>(hn::ShiftLeft<kDrop>(v));
  } else {
    return hn::And(v, hn::Set(d, static_cast<int32_t>(std::numeric_limits<To>::max())));
  }
}

/// An integer vector to an integer type.
template <typename From, typename To, IntegerVector V>
HWY_INLINE auto CastInteger(V v) {
  using D = hn::DFromV<V>;
  const TagFor<int32_t, D> di;
  const TagFor<uint32_t, D> du;
  if constexpr (std::is_same_v<From, To>) {
    return v;
  } else if constexpr (std::is_same_v<To, int64_t>) {
    if constexpr (std::is_same_v<From, uint32_t>) {
      return hn::BitCast(TagFor<int64_t, D>(), hn::PromoteTo(TagFor<uint64_t, D>(), v));
    } else {
      return hn::PromoteTo(TagFor<int64_t, D>(), v);
    }
  } else if constexpr (std::is_same_v<From, int64_t>) {
    const auto bits = hn::TruncateTo(du, hn::BitCast(TagFor<uint64_t, D>(), v));
    return WrapLanes<To>(hn::BitCast(di, bits));
  } else if constexpr (FitsInto<From, To>() && !std::is_same_v<To, uint32_t>) {
    return v;
  } else {
    return WrapLanes<To>(hn::BitCast(di, v));
  }
}

/// Floats that an i32 can hold, so that nothing has to be mended.
template <FloatVector V>
HWY_INLINE auto TruncateInRange(V v) {
  const TagFor<int32_t, hn::DFromV<V>> di;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  using I = hn::Vec<decltype(di)>;
  if constexpr (std::is_same_v<LaneOf<V>, float> && sizeof(v.raw) == 32)
    return I{_mm256_cvttps_epi32(v.raw)};
#endif
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<LaneOf<V>, float> && sizeof(v.raw) == 64)
    return I{_mm512_cvttps_epi32(v.raw)};
#endif
  return TruncateLanes<int32_t>(v);
}

/// Floats that To, an integer of 8 or 16 bits, can hold the nearest integers of; 0 for NaN.
template <typename To, FloatVector V>
HWY_INLINE V WithinLimits(V v) {
  using Limits = std::numeric_limits<To>;
  const hn::DFromV<V> d;
  const V low = hn::Set(d, LaneOf<V>{Limits::min()}), high = hn::Set(d, LaneOf<V>{Limits::max()});
  return hn::IfThenElseZero(hn::Eq(v, v), hn::Min(hn::Max(v, low), high));
}

/// A float vector to an integer type.
template <typename To, FloatVector V>
HWY_INLINE auto CastTruncating(V v) {
  using Limits = std::numeric_limits<To>;
  if constexpr (sizeof(To) >= 4) {
    return TruncateLanes<To>(v);
  } else if constexpr (!kPlainLanes) {
    return TruncateInRange(WithinLimits<To>(v));
  } else {
    const auto lanes = TruncateLanes<int32_t>(v);
    const hn::DFromV<decltype(lanes)> d;
    return hn::Min(hn::Max(lanes, hn::Set(d, int32_t{Limits::min()})),
                   hn::Set(d, int32_t{Limits::max()}));
  }
}

/// The nearest integer of 8 or 16 bits, ties to even: Cast of RoundEven, by the rounding of a
/// conversion where there is one.
template <typename To, FloatVector V>
HWY_INLINE auto CastNearest(V v) {
  static_assert(sizeof(To) < 4 && sizeof(LaneOf<V>) == 4);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  using I = hn::Vec<TagFor<int32_t, hn::DFromV<V>>>;
  if constexpr (sizeof(v.raw) == 32) return I{_mm256_cvtps_epi32(WithinLimits<To>(v).raw)};
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(v.raw) == 64) return I{_mm512_cvtps_epi32(WithinLimits<To>(v).raw)};
#endif
#endif
  if constexpr (kPlainLanes) {
    return CastTruncating<To>(LaneByLane([](float lane) { return std::nearbyint(lane); }, v));
  } else {
    return CastTruncating<To>(hn::Round(v));
  }
}

/// Numbers to a float type.
template <typename From, typename To, VectorValue V>
HWY_INLINE auto CastToFloat(V v) {
  if constexpr (std::is_same_v<To, double>) {
    return ToF64(v);
  } else if constexpr (!kIsNarrowFloat<To>) {
    return ToF32(v);
  } else if constexpr (std::is_same_v<From, To> ||
                       (sizeof(From) == 1 && !kIsFloating<From> && sizeof(To) > 1)) {
    return ToF32(v);  // exact in 8 bits
  } else if constexpr (kIsPower<To>) {
    return RoundTo<To>(ToF32(v));
  } else if constexpr (std::is_same_v<From, int64_t>) {
    return RoundTo<To>(OddF32(ToF64(v)));
  } else if constexpr (std::is_same_v<From, double>) {
    return RoundTo<To>(OddF32(v));
  } else if constexpr (std::is_same_v<From, int32_t> || std::is_same_v<From, uint32_t>) {
    return RoundTo<To>(ToF32(OddInteger(v)));
  } else {
    return RoundTo<To>(ToF32(v));
  }
}

template <typename From, typename To, MaskValue M>
HWY_INLINE auto Cast(M mask) {
  static_assert(std::is_same_v<From, bool>);
  if constexpr (std::is_same_v<To, bool>) {
    return mask;
  } else {
    using X = Rep<To>;
    const TagFor<X, TagOf<M>> d;
    const auto numbers = hn::IfThenElseZero(MaskFor(d, mask), hn::Set(d, X{1}));
    if constexpr (kIsPower<To>) return RoundTo<To>(numbers);  // which 0 is not
    return numbers;
  }
}

template <typename From, typename To, VectorValue V>
HWY_INLINE auto Cast(V v) {
  static_assert(std::is_same_v<LaneOf<V>, Rep<From>>, "not a vector that represents From");
  const hn::DFromV<V> d;
  if constexpr (std::is_same_v<To, bool>) {
    return hn::Not(NarrowMask(d, hn::Eq(v, hn::Zero(d))));
  } else if constexpr (std::is_floating_point_v<Rep<To>>) {
    return CastToFloat<From, To>(v);
  } else if constexpr (std::is_floating_point_v<LaneOf<V>>) {
    return CastTruncating<To>(v);
  } else {
    return CastInteger<From, To>(v);
  }
}

// Of scalars, which grids and calls convert, too, whose code may be of fewer instructions: so they
// are not always inlined.
template <typename From, typename To, Scalar X>
inline Rep<To> Cast(X x) {
  static_assert(std::is_same_v<X, Rep<From>>, "not a scalar that represents From");
  return FromOneLane(Cast<From, To>(ToOneLane(x)));
}

// ---- Bits.

template <typename From, typename To, VectorValue V>
HWY_INLINE auto Bitcast(V v) {
  static_assert(kBitsOf<From> == kBitsOf<To>, "bitcast keeps the width");
  using D = hn::DFromV<V>;
  if constexpr (std::is_same_v<From, To>) {
    return v;
  } else if constexpr (sizeof(To) >= 4) {
    return hn::BitCast(TagFor<Rep<To>, D>(), v);
  } else if constexpr (std::is_same_v<To, bool>) {
    if constexpr (kIsPower<From>) return Cast<int32_t, bool>(Bitcast<From, int8_t>(v));
    // Of a float, too: its bits are 0 where those of the f32 that represents it are.
    return Cast<int32_t, bool>(hn::BitCast(TagFor<int32_t, D>(), v));
  } else if constexpr (std::is_same_v<From, bf16>) {
    // The value is a bf16 already, and rounding would make a NaN quiet.
    const TagFor<int32_t, D> di;
    const TagFor<uint16_t, D> du16;
    const auto upper = hn::ShiftRight<16>(hn::BitCast(TagFor<uint32_t, D>(), v));
    const auto bits = hn::DemoteTo(du16, hn::BitCast(di, upper));
    return FromStorage<To>(hn::BitCast(TagFor<RawBits<To>, D>(), bits));
  } else {
    return FromStorage<To>(hn::BitCast(TagFor<RawBits<To>, D>(), ToStorage<From>(v)));
  }
}

template <typename From, typename To, MaskValue M>
HWY_INLINE auto Bitcast(M mask) {
  static_assert(sizeof(To) == 1, "bitcast keeps the width");
  if constexpr (std::is_floating_point_v<Rep<To>>) {
    return Bitcast<uint8_t, To>(Cast<bool, uint8_t>(mask));
  } else {
    return Cast<bool, To>(mask);
  }
}

template <typename From, typename To, Scalar X>
inline Rep<To> Bitcast(X x) {
  return FromOneLane(Bitcast<From, To>(ToOneLane(x)));
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_CONVERT_INL_H_
