// Between elements in memory and vectors of their representations, and the rounding to narrow
// floats that a store and a cast share. What bits are rounded to is decided here and in
// generator/data.
#if defined(KILN_STORAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_STORAGE_INL_H_
#undef KILN_STORAGE_INL_H_
#else
#define KILN_STORAGE_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/simd/represent-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// Whether a masked load or store of lanes of X leaves the memory of other lanes alone: reads that
/// are only blended afterwards may fault, and are diagnostics of sanitizers.
template <typename X>
inline constexpr bool kMaskedAccess = kBitMasks || HWY_HAVE_SCALABLE ||
                                      (HWY_TARGET == HWY_AVX2 && sizeof(X) >= 4);

/// Whether conversions of f16 are instructions. Highway's emulation truncates and knows no inf.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
inline constexpr bool kNativeF16 = true;
#elif HWY_ARCH_ARM_A64
inline constexpr bool kNativeF16 = true;
#else
inline constexpr bool kNativeF16 = false;
#endif

/// The bits of a bf16 in the upper half of each lane, rounded to nearest even; the lower half is
/// whatever is left. A NaN becomes quiet, so that it does not lose its last bit. Subnormals are
/// rounded like all others.
template <class V>
HWY_INLINE auto RoundedBf16Bits(V v) {
  const hn::DFromV<V> d;
  const TagFor<uint32_t, decltype(d)> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
}

/// The bits of an f16 in the lower half of each lane.
template <class V>
HWY_INLINE auto RoundedF16Bits(V v) {
  const hn::DFromV<V> d;
  const TagFor<uint32_t, decltype(d)> du;
  const auto bits = hn::BitCast(du, v);
  const auto sign = hn::And(bits, hn::Set(du, 0x80000000u));
  const auto magnitude = hn::Xor(bits, sign);
  // Normal: the exponent's bias changes by 112, and the lower 13 bits are rounded away.
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
  const auto rebased = hn::Sub(magnitude, hn::Set(du, (112u << 23) - 0xFFFu));
  const auto normal = hn::ShiftRight<13>(hn::Add(rebased, odd));
  // The last bit of 0.5f is 2^-24, the spacing of f16's subnormals: the addition rounds.
  const auto half = hn::Set(d, 0.5f);
  const auto sum = hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), half));
  const auto subnormal = hn::Sub(sum, hn::BitCast(du, half));
  const auto payload = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x3FF));
  const auto nan = hn::Or(payload, hn::Set(du, 0x7E00));

  auto half_bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000u)), subnormal, normal);
  const auto infinite = hn::Gt(magnitude, hn::Set(du, 0x477FFFFFu));
  half_bits = hn::IfThenElse(infinite, hn::Set(du, 0x7C00), half_bits);
  half_bits = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), nan, half_bits);
  return hn::Or(half_bits, hn::ShiftRight<16>(sign));
}

/// The floats of f16 bits in the lower half of each lane.
template <class V>
HWY_INLINE auto FloatOfF16Bits(V bits) {
  const hn::DFromV<V> du;
  const TagFor<float, decltype(du)> d;
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7FFF)));
  // 2^112 moves the exponent's bias and is exact, for subnormals too.
  const auto scaled = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f));
  const auto finite = hn::Lt(magnitude, hn::Set(du, 0x0F800000));
  const auto other = hn::Or(magnitude, hn::Set(du, 0x7F800000));
  return hn::BitCast(d, hn::Or(hn::IfThenElse(finite, hn::BitCast(du, scaled), other), sign));
}

/// What the conversions of floats of 8 bits have to know of one.
template <typename T>
struct Float8;
template <>
struct Float8<f8e4m3fn> {
  static constexpr int kMantissa = 3;
  static constexpr uint32_t kBias = 7;
  static constexpr uint32_t kOverflow = 0x7F, kNan = 0x7F;
};
template <>
struct Float8<f8e5m2> {
  static constexpr int kMantissa = 2;
  static constexpr uint32_t kBias = 15;
  static constexpr uint32_t kOverflow = 0x7C, kNan = 0x7E;
};

/// The bits of a float of 8 bits in each lane: rounded to nearest even, subnormals included; what
/// is too large becomes kOverflow, a NaN kNan, each with its sign.
template <typename T, class V>
HWY_INLINE auto RoundedFloat8Bits(V v) {
  using F = Float8<T>;
  constexpr int kShift = 23 - F::kMantissa;
  constexpr uint32_t kHalfLessOne = (1u << (kShift - 1)) - 1;
  const hn::DFromV<V> d;
  const TagFor<uint32_t, decltype(d)> du;
  const auto bits = hn::BitCast(du, v);
  const auto sign = hn::And(bits, hn::Set(du, 0x80000000u));
  const auto magnitude = hn::Xor(bits, sign);
  // Normal: the exponent's bias changes, and the lower bits are rounded away.
  const auto odd = hn::And(hn::ShiftRight<kShift>(magnitude), hn::Set(du, 1));
  const auto rebased = hn::Sub(magnitude, hn::Set(du, ((127 - F::kBias) << 23) - kHalfLessOne));
  const auto normal = hn::ShiftRight<kShift>(hn::Add(rebased, odd));
  // The last bit of this power of two is the spacing of the subnormals: the addition rounds.
  const auto spacing = hn::BitCast(d, hn::Set(du, (128 - F::kBias + kShift) << 23));
  const auto sum = hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), spacing));
  const auto subnormal = hn::Sub(sum, hn::BitCast(du, spacing));

  const auto is_subnormal = hn::Lt(magnitude, hn::Set(du, (128 - F::kBias) << 23));
  auto small = hn::IfThenElse(is_subnormal, subnormal, normal);
  small = hn::Min(small, hn::Set(du, F::kOverflow));
  if constexpr (F::kNan != F::kOverflow) {
    small = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), hn::Set(du, F::kNan), small);
  }
  return hn::Or(small, hn::ShiftRight<24>(sign));
}

/// The floats of the bits of f16 in the lower half of each lane of 16 bits.
template <class V>
HWY_INLINE auto FloatOfHalves(V halves) {
  using D = hn::DFromV<V>;
  if constexpr (kNativeF16) {
    return hn::PromoteTo(TagFor<float, D>(), hn::BitCast(TagFor<f16, D>(), halves));
  } else {
    return FloatOfF16Bits(hn::PromoteTo(TagFor<uint32_t, D>(), halves));
  }
}

/// The floats of elements of 8 bits, by way of f16, which has all their values.
template <typename T, class V>
HWY_INLINE auto FloatOfFloat8(V raw) {
  using D = hn::DFromV<V>;
  const TagFor<uint16_t, D> d16;
  const TagFor<float, D> df;
  const auto wide = hn::PromoteTo(d16, raw);
  if constexpr (std::is_same_v<T, f8e5m2>) {
    return FloatOfHalves(hn::ShiftLeft<8>(wide));
  } else {
    static_assert(std::is_same_v<T, f8e4m3fn>);
    // With the exponent in its place, but by the bias of f16: 2^8 too small. The sign comes down
    // with it, twice.
    const TagFor<int16_t, D> di16;
    const auto top = hn::BitCast(di16, hn::ShiftLeft<8>(wide));
    const auto half = hn::And(hn::ShiftRight<1>(top), hn::Set(di16, static_cast<int16_t>(0xBFFF)));
    const auto value = hn::Mul(FloatOfHalves(hn::BitCast(d16, half)), hn::Set(df, 256.0f));
    // The bits of its NaN would be 480.
    const auto is_nan = hn::Eq(hn::Abs(value), hn::Set(df, 480.0f));
    const TagFor<uint32_t, D> du;
    const auto nan = hn::Or(hn::BitCast(du, value), hn::Set(du, 0x7FC00000));
    return hn::IfThenElse(is_nan, hn::BitCast(df, nan), value);
  }
}

/// The bits of a power of two in each lane: of what is positive the upper bits, halves rounded up,
/// and of all else those of the NaN. Where f32 has subnormals they all go up from 2^-127 on, which
/// itself is one. In integers, as a subnormal may be a zero to the arithmetic of a caller's thread.
template <class V>
HWY_INLINE auto RoundedPowerBits(V v) {
  const TagFor<uint32_t, hn::DFromV<V>> du;
  const auto bits = hn::BitCast(du, v);
  const auto half = hn::Set(du, 0x00400000);
  const auto is_least = hn::VecFromMask(du, hn::Eq(bits, half));
  const auto rounded = hn::ShiftRight<23>(hn::Add(hn::Add(bits, half), is_least));
  const auto positive = hn::Lt(hn::Sub(bits, hn::Set(du, 1)), hn::Set(du, 0x7F800000));
  return hn::IfThenElse(positive, rounded, hn::Set(du, 0xFF));
}

/// The floats of powers of two.
template <class V>
HWY_INLINE auto FloatOfPowers(V raw) {
  using D = hn::DFromV<V>;
  const TagFor<uint32_t, D> du;
  const auto bits = hn::ShiftLeft<23>(hn::PromoteTo(du, raw));
  // The first is a subnormal, and the last the infinity's: both are without a bit below.
  const auto special = hn::Or(hn::Eq(bits, hn::Zero(du)), hn::Eq(bits, hn::Set(du, 0x7F800000)));
  const auto below = hn::IfThenElseZero(special, hn::Set(du, 0x00400000));
  return hn::BitCast(TagFor<float, D>(), hn::Or(bits, below));
}

/// GCC 12 dies ("could not split insn") of 8 bytes that are loaded, widened to 32 bits and selected
/// by a mask of AVX3 if it makes one instruction of that. Hides where v comes from.
template <class V>
HWY_INLINE V HideLoad(V v) {
#if HWY_COMPILER_GCC_ACTUAL && (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)
  if constexpr (sizeof(LaneOf<V>) == 1 && hn::MaxLanes(hn::DFromV<V>()) == 8) {
    asm("" : "+v"(v.raw));
  }
#endif
  return v;
}

/// Elements of T as the vector of their representation; `raw` are their bits.
template <typename T, class V>
HWY_INLINE auto FromStorage(V raw) {
  using D = hn::DFromV<V>;
  const TagFor<int32_t, D> di;
  const TagFor<uint32_t, D> du;
  const TagFor<float, D> df;
  if constexpr (std::is_same_v<T, bool>) {
    const auto lanes = hn::PromoteTo(di, HideLoad(raw));
    return hn::Ne(lanes, hn::Zero(di));
  } else if constexpr (std::is_same_v<T, bf16>) {
    return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, raw)));
  } else if constexpr (std::is_same_v<T, f16>) {
    if constexpr (kNativeF16) {
      return hn::PromoteTo(df, hn::BitCast(TagFor<f16, D>(), raw));
    } else {
      return FloatOfF16Bits(hn::PromoteTo(du, raw));
    }
  } else if constexpr (std::is_same_v<T, i4>) {
    return hn::ShiftRight<28>(hn::ShiftLeft<28>(hn::PromoteTo(di, HideLoad(raw))));
  } else if constexpr (std::is_same_v<T, u4>) {
    return hn::And(hn::PromoteTo(di, HideLoad(raw)), hn::Set(di, 15));
  } else if constexpr (kIsPower<T>) {
    return FloatOfPowers(HideLoad(raw));
  } else if constexpr (kIsFloating<T> && sizeof(T) == 1) {
    return FloatOfFloat8<T>(HideLoad(raw));
  } else if constexpr (sizeof(T) < 4) {
    return hn::PromoteTo(di, HideLoad(raw));
  } else {
    return raw;
  }
}

/// The low bits of integers of 32 bits, as many as X has. (Not TruncateTo, which is wrong on
/// AVX3_DL in Highway 1.0.3: DemoteTo of what fits is the same, in five instructions for bytes.)
template <typename X, class V>
HWY_INLINE auto LowBits(V v) {
  const TagFor<X, hn::DFromV<V>> d;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  using Low = hn::Vec<decltype(d)>;
  if constexpr (sizeof(v.raw) == 64 && sizeof(X) == 1) return Low{_mm512_cvtepi32_epi8(v.raw)};
  if constexpr (sizeof(v.raw) == 64 && sizeof(X) == 2) return Low{_mm512_cvtepi32_epi16(v.raw)};
#endif
  const TagFor<int32_t, hn::DFromV<V>> di;
  constexpr int32_t kBits = static_cast<int32_t>(std::numeric_limits<X>::max());
  return hn::DemoteTo(d, hn::And(hn::BitCast(di, v), hn::Set(di, kBits)));
}

#if HWY_TARGET == HWY_AVX3_DL
/// Whether one of the lanes is subnormal, of which what rounds to bf16 makes 0.
template <class V, class... More>
HWY_INLINE bool HasSubnormal(V v, More... more) {
  constexpr int kSubnormal = 0x20;
  return (_mm512_fpclass_ps_mask(v.raw, kSubnormal) | ... |
          _mm512_fpclass_ps_mask(more.raw, kSubnormal)) != 0;
}
#endif

/// Pairs of bf16, to which floats are rounded as ToStorage rounds them: the even ones are the lower
/// halves of lanes.
template <class V>
HWY_INLINE auto RoundedPairs(V even, V odd) {
  const TagFor<uint32_t, hn::DFromV<V>> d;
#if HWY_TARGET == HWY_AVX3_DL
  // Both halves of a vector are made at once, and then take turns.
  if constexpr (sizeof(V) == 64) {
    if (HWY_LIKELY(!HasSubnormal(even, odd))) {
      alignas(64) static constexpr uint16_t kTurns[] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                        21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                        11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
      const auto halves = (__m512i)_mm512_cvtne2ps_pbh(odd.raw, even.raw);
      return hn::Vec<decltype(d)>{_mm512_permutexvar_epi16(_mm512_load_si512(kTurns), halves)};
    }
  }
#endif
  const auto upper = RoundedBf16Bits(odd), lower = hn::ShiftRight<16>(RoundedBf16Bits(even));
#if HWY_TARGET == HWY_SCALAR
  return hn::Or(hn::And(upper, hn::Set(d, 0xFFFF0000u)), lower);
#else
  const hn::Repartition<uint16_t, decltype(d)> d16;
  return hn::BitCast(d, hn::OddEven(hn::BitCast(d16, upper), hn::BitCast(d16, lower)));
#endif
}

/// The bits of elements of T for the vector of their representation. Floats are rounded to nearest
/// even, and to powers of two as RoundedPowerBits says; of integers that do not fit, the lower bits
/// are kept.
template <typename T, class V>
HWY_INLINE auto ToStorage(V v) {
  if constexpr (std::is_same_v<T, bool>) {
    const TagOf<V> di;
    const auto bytes = hn::And(hn::VecFromMask(di, v), hn::Set(di, 1));
    return hn::DemoteTo(TagFor<uint8_t, TagOf<V>>(), bytes);
  } else {
    using D = hn::DFromV<V>;
    const TagFor<uint16_t, D> du16;
    const TagFor<int32_t, D> di;
    if constexpr (std::is_same_v<T, bf16>) {
#if HWY_TARGET == HWY_AVX3_DL
      // vcvtneps2bf16 does it all, but makes subnormals 0.
      if constexpr (sizeof(V) == 64) {
        if (HWY_LIKELY(!HasSubnormal(v)))
          return hn::Vec<TagFor<uint16_t, D>>{(__m256i)_mm512_cvtneps_pbh(v.raw)};
      }
#endif
      return hn::DemoteTo(du16, hn::BitCast(di, hn::ShiftRight<16>(RoundedBf16Bits(v))));
    } else if constexpr (std::is_same_v<T, f16>) {
      if constexpr (kNativeF16) {
        return hn::BitCast(du16, hn::DemoteTo(TagFor<f16, D>(), v));
      } else {
        return hn::DemoteTo(du16, hn::BitCast(di, RoundedF16Bits(v)));
      }
    } else if constexpr (kIsPower<T>) {
      return LowBits<uint8_t>(RoundedPowerBits(v));
    } else if constexpr (kIsFloating<T> && sizeof(T) == 1) {
      return LowBits<uint8_t>(RoundedFloat8Bits<T>(v));
    } else if constexpr (sizeof(T) == 1) {
      return hn::BitCast(TagFor<RawBits<T>, D>(), LowBits<uint8_t>(v));
    } else if constexpr (sizeof(T) == 2) {
      return hn::BitCast(TagFor<T, D>(), LowBits<uint16_t>(v));
    } else {
      return v;
    }
  }
}

/// v rounded to the nearest narrow float, ties to even (powers of two: see RoundedPowerBits).
template <typename T, class V>
HWY_INLINE V RoundTo(V v) {
  const hn::DFromV<V> d;
  if constexpr (std::is_same_v<T, bf16>) {
    const auto bits = RoundedBf16Bits(v);
    return hn::BitCast(d, hn::And(bits, hn::Set(hn::DFromV<decltype(bits)>(), 0xFFFF0000u)));
  } else {
    static_assert(kIsNarrowFloat<T>);
    if constexpr (kNativeF16 || sizeof(T) == 1) {
      return FromStorage<T>(ToStorage<T>(v));
    } else {
      return FloatOfF16Bits(RoundedF16Bits(v));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_STORAGE_INL_H_
