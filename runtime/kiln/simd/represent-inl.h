// How elements of arrays are held in registers: the representations, their tags, masks and scalars.
//
//   dtype               vector of   scalar
//   f8… bf16 f16 f32    float       float
//   f64                 double      double
//   i4 … u16 i32        int32_t     int32_t
//   u32                 uint32_t    uint32_t
//   i64                 int64_t     int64_t
//   bool                a mask      bool        the mask is always that of 32-bit lanes
//
// All vectors of a loop have as many lanes as its tag: ScalableTag<float>, or ScalableTag<double>
// if any of them has 64 bits; then vectors of 32-bit lanes are half vectors.
#if defined(KILN_REPRESENT_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_REPRESENT_INL_H_
#undef KILN_REPRESENT_INL_H_
#else
#define KILN_REPRESENT_INL_H_
#endif

#include "kiln/core/types.h"
#include "kiln/core/version.h"
#include "kiln/simd/target-inl.h"

#ifndef KILN_REPRESENT_ONCE_
#define KILN_REPRESENT_ONCE_
#include <concepts>
#include <cstring>
#include <type_traits>

namespace kiln::inline KILN_ABI {

// clang-format off
/// What Rep and RawBits say.
template <typename T> struct Represent            { using Lane = int32_t; using Bits = T; };
template <> struct Represent<i4>                  { using Lane = int32_t; using Bits = int8_t; };
template <> struct Represent<u4>                  { using Lane = int32_t; using Bits = uint8_t; };
template <> struct Represent<f8e4m3fn>            { using Lane = float;   using Bits = uint8_t; };
template <> struct Represent<f8e5m2>              { using Lane = float;   using Bits = uint8_t; };
template <> struct Represent<f8e8m0fnu>           { using Lane = float;   using Bits = uint8_t; };
template <> struct Represent<bf16>                { using Lane = float;   using Bits = uint16_t; };
template <> struct Represent<f16>                 { using Lane = float;   using Bits = uint16_t; };
template <> struct Represent<float>               { using Lane = float;   using Bits = float; };
template <> struct Represent<double>              { using Lane = double;  using Bits = double; };
template <> struct Represent<uint32_t>            { using Lane = uint32_t; using Bits = uint32_t; };
template <> struct Represent<int64_t>             { using Lane = int64_t; using Bits = int64_t; };
template <> struct Represent<bool>                { using Lane = bool;    using Bits = uint8_t; };
// clang-format on

/// The scalar that represents an element of T.
template <typename T>
using Rep = typename Represent<T>::Lane;

/// A lane type of Highway with the bits of an element of T in memory, or with one alone where
/// memory has several in a byte: in its lower half, whatever the upper one is.
template <typename T>
using RawBits = typename Represent<T>::Bits;

/// Scalars of representations.
template <typename T>
concept Scalar = std::is_same_v<T, Rep<T>> && std::is_arithmetic_v<T>;
template <typename T>
concept IntegerScalar = Scalar<T> && std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <typename T>
concept FloatScalar = Scalar<T> && std::is_floating_point_v<T>;
template <typename T>
concept BitsScalar = Scalar<T> && std::is_integral_v<T>;

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_REPRESENT_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether Highway's vectors are plain arrays: its slowest target, which also is not exact in
/// conversions and rounding (see convert-inl.h), so these go lane by lane there.
inline constexpr bool kPlainLanes = HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR;

/// Whether masks are registers of bits and masked stores exist for lanes of all sizes.
inline constexpr bool kBitMasks = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;

/// The tag of vectors of X with as many lanes as D.
template <typename X, class D>
using TagFor = hn::Rebind<X, D>;

/// The tag of one lane: scalars are computed as vectors of it, so that they equal lanes. As in a
/// loop with lanes of 64 bits, since on RISC-V tags that count as many lanes belong together only
/// where their vectors take as large a part of a register for each bit of a lane.
template <typename X>
using OneLane = TagFor<X, hn::CappedTag<double, 1>>;

/// The tag that a mask of 32-bit lanes belongs to; `void` for types that are no masks.
template <class M>
struct TagOfMask {
  using type = void;
};
#if HWY_TARGET == HWY_SCALAR
template <typename X>
struct TagOfMask<hn::Mask1<X>> {
  using type = hn::Simd<X, 1, 0>;
};
#elif HWY_HAVE_SCALABLE  // the type does not know; more lanes than used do no harm
template <>
struct TagOfMask<hn::Mask<hn::ScalableTag<int32_t>>> {
  using type = hn::ScalableTag<int32_t>;
};
/// Beside lanes of 64 bits, where that is another type: on RISC-V one knows how many lanes there
/// are.
using HalfTag = hn::Rebind<int32_t, hn::ScalableTag<double>>;
template <class M>
requires(std::is_same_v<M, hn::Mask<HalfTag>> &&
         !std::is_same_v<M, hn::Mask<hn::ScalableTag<int32_t>>>) struct TagOfMask<M> {
  using type = HalfTag;
};
#else
template <typename X, size_t N>
struct TagOfMask<hn::Mask128<X, N>> {
  using type = hn::Simd<X, N, 0>;
};
#if HWY_CAP_GE256
template <typename X>
struct TagOfMask<hn::Mask256<X>> {
  using type = hn::Simd<X, 32 / sizeof(X), 0>;
};
#endif
#if HWY_CAP_GE512
template <typename X>
struct TagOfMask<hn::Mask512<X>> {
  using type = hn::Simd<X, 64 / sizeof(X), 0>;
};
#endif
#endif

template <class V>
concept MaskValue = !Scalar<V> && !std::is_void_v<typename TagOfMask<V>::type>;
template <class V>
concept VectorValue = !Scalar<V> && !MaskValue<V> && requires {
  typename hn::DFromV<V>;
};

template <class V>
using LaneOf = hn::TFromD<hn::DFromV<V>>;
template <class V>
concept FloatVector = VectorValue<V> && std::is_floating_point_v<LaneOf<V>>;
template <class V>
concept IntegerVector = VectorValue<V> && std::is_integral_v<LaneOf<V>>;
template <class V>
concept BitsValue = MaskValue<V> || IntegerVector<V>;

/// The tag of a mask, and the tag of the 32-bit lanes beside those of a vector.
template <MaskValue M>
using TagOf = typename TagOfMask<M>::type;
template <class D>
using Lanes32 = TagFor<int32_t, D>;

/// The mask of 32-bit lanes for a mask of lanes of D.
template <class D>
HWY_INLINE hn::Mask<Lanes32<D>> NarrowMask(D d, hn::Mask<D> mask) {
  const Lanes32<D> d32;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::RebindMask(d32, mask);
  } else if constexpr (kBitMasks) {
    return hn::Mask<Lanes32<D>>{mask.raw};
  } else {
    const TagFor<uint32_t, D> du32;
    const TagFor<uint64_t, D> du64;
    const auto bits = hn::BitCast(du64, hn::VecFromMask(d, mask));
    return hn::RebindMask(d32, hn::MaskFromVec(hn::TruncateTo(du32, bits)));
  }
}

/// The mask of lanes of D for a mask of 32-bit lanes.
template <class D, MaskValue M>
HWY_INLINE hn::Mask<D> MaskFor(D d, M mask) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::RebindMask(d, mask);
  } else if constexpr (kBitMasks) {
    return hn::Mask<D>{mask.raw};
  } else {
    const Lanes32<D> d32;
    const TagFor<int64_t, D> d64;
    const auto bits = hn::PromoteTo(d64, hn::VecFromMask(d32, mask));
    return hn::RebindMask(d, hn::MaskFromVec(bits));
  }
}

/// fn of the lanes of vectors, one at a time: for what has no vector instructions. Lanes of the
/// result are of the type that fn returns.
template <class Fn, VectorValue V, VectorValue... More>
HWY_INLINE auto LaneByLane(Fn fn, V v, More... more) {
  using D = hn::DFromV<V>;
  using R = decltype(fn(LaneOf<V>(), LaneOf<More>()...));
  constexpr size_t kMax = hn::MaxLanes(D());
  constexpr size_t kArgs = 1 + sizeof...(More);
  alignas(64) LaneOf<V> in[kArgs][kMax];
  alignas(64) R out[kMax];
  const D d;
  size_t arg = 0;
  hn::StoreU(v, d, in[arg]);
  (hn::StoreU(more, d, in[++arg]), ...);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if constexpr (kArgs == 1) {
      out[i] = fn(in[0][i]);
    } else if constexpr (kArgs == 2) {
      out[i] = fn(in[0][i], in[1][i]);
    } else {
      out[i] = fn(in[0][i], in[1][i], in[2][i]);
    }
  }
  return hn::LoadU(TagFor<R, D>(), out);
}

/// A scalar as a vector of one lane, and back.
template <Scalar X>
HWY_INLINE auto ToOneLane(X x) {
  if constexpr (std::is_same_v<X, bool>) {
    const OneLane<int32_t> d;
    return hn::MaskFromVec(hn::Set(d, -static_cast<int32_t>(x)));
  } else {
    return hn::Set(OneLane<X>(), x);
  }
}
template <VectorValue V>
HWY_INLINE LaneOf<V> FromOneLane(V v) {
  return hn::GetLane(v);
}
template <MaskValue M>
HWY_INLINE bool FromOneLane(M mask) {
  return hn::GetLane(hn::VecFromMask(OneLane<int32_t>(), mask)) != 0;
}

/// hn::CopySign. For AVX-512 that is an intrinsic of three operands, which clang 14 merges with a
/// mask around it, as of `where(c, ceil(x), x)`, and then takes the wrong ones.
template <class V>
HWY_INLINE V CopySignOf(V magnitude, V sign) {
#if HWY_COMPILER_CLANG && HWY_COMPILER_CLANG < 1600 && HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  const auto bit = hn::SignBit(hn::DFromV<V>());
  return hn::Or(hn::AndNot(bit, magnitude), hn::And(bit, sign));
#else
  return hn::CopySign(magnitude, sign);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_REPRESENT_INL_H_
