// Arithmetic and comparison of values where Highway lacks an operation for some lanes or means it
// differently. Everything is defined for vectors of all representations and for scalars (masks and
// bool: where it makes sense), and gives what generator/interpret does:
//
//   Lt Le Gt Ge Eq Ne            masks; Eq and Ne of masks too
//   Select(mask, a, b)           a where the mask holds; a and b may be masks
//   BothOf EitherOf OneOf NotOf  logic of masks: and, or, exclusive or, not
//   BitAnd BitOr BitXor BitNot   bits of integers, logic of masks
//   Maximum Minimum ClampTo      NaN wins, and is as quiet as of any arithmetic
//   AbsOf Negate Sign Relu       integers wrap
//   AddOf SubOf MulOf            integers wrap; of vectors, hn::Add, Sub and Mul are as good,
//   except
//                                Mul of int64_t
//   AddInt SubInt MulInt         the same, of integer scalars
//   DivOf                        floats
//   Shl Shr                      by lanes or by a scalar; past the width or negative: 0 or the sign
//   FloorOf CeilOf RoundEven     floats
//   FloorDiv CeilDiv Mod Rem Pow divide-inl.h
#if defined(KILN_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_VALUES_INL_H_
#undef KILN_VALUES_INL_H_
#else
#define KILN_VALUES_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/simd/convert-inl.h"
#include "kiln/simd/either_nan-inl.h"
#include "kiln/simd/scalar-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

// ---- Comparisons.
// These, Shl and Shr are objects, because Highway has functions of the same names, which an
// unqualified call of a function would find as well.

struct LtObject {
  template <Scalar X>
  HWY_INLINE constexpr bool operator()(X a, X b) const {
    return a < b;
  }
  template <VectorValue V>
  HWY_INLINE auto operator()(V a, V b) const {
    return NarrowMask(hn::DFromV<V>(), hn::Lt(a, b));
  }
};
inline constexpr LtObject Lt;

struct GtObject {
  template <Scalar X>
  HWY_INLINE constexpr bool operator()(X a, X b) const {
    return a > b;
  }
  template <VectorValue V>
  HWY_INLINE auto operator()(V a, V b) const {
    return NarrowMask(hn::DFromV<V>(), hn::Gt(a, b));
  }
};
inline constexpr GtObject Gt;

struct LeObject {
  template <Scalar X>
  HWY_INLINE constexpr bool operator()(X a, X b) const {
    return a <= b;
  }
  template <VectorValue V>
  HWY_INLINE auto operator()(V a, V b) const {
    if constexpr (FloatVector<V>) {
      return NarrowMask(hn::DFromV<V>(), hn::Le(a, b));
    } else {
      return hn::Not(Gt(a, b));
    }
  }
};
inline constexpr LeObject Le;

struct GeObject {
  template <Scalar X>
  HWY_INLINE constexpr bool operator()(X a, X b) const {
    return a >= b;
  }
  template <VectorValue V>
  HWY_INLINE auto operator()(V a, V b) const {
    return Le(b, a);
  }
};
inline constexpr GeObject Ge;

struct EqObject {
  template <Scalar X>
  HWY_INLINE constexpr bool operator()(X a, X b) const {
    return a == b;
  }
  template <VectorValue V>
  HWY_INLINE auto operator()(V a, V b) const {
    return NarrowMask(hn::DFromV<V>(), hn::Eq(a, b));
  }
  template <MaskValue M>
  HWY_INLINE M operator()(M a, M b) const {
    return hn::Not(hn::Xor(a, b));
  }
};
inline constexpr EqObject Eq;

struct NeObject {
  template <Scalar X>
  HWY_INLINE constexpr bool operator()(X a, X b) const {
    return a != b;
  }
  template <VectorValue V>
  HWY_INLINE auto operator()(V a, V b) const {
    return hn::Not(Eq(a, b));  // Highway's Ne differs from target to target for NaN
  }
  template <MaskValue M>
  HWY_INLINE M operator()(M a, M b) const {
    return hn::Xor(a, b);
  }
};
inline constexpr NeObject Ne;

// ---- Masks.

template <MaskValue M, VectorValue V>
HWY_INLINE V Select(M mask, V yes, V no) {
  return hn::IfThenElse(MaskFor(hn::DFromV<V>(), mask), yes, no);
}
template <MaskValue M>
HWY_INLINE M Select(M mask, M yes, M no) {
  return hn::Or(hn::And(mask, yes), hn::AndNot(mask, no));
}

template <MaskValue M>
HWY_INLINE M BothOf(M a, M b) {
  return hn::And(a, b);
}
template <MaskValue M>
HWY_INLINE M EitherOf(M a, M b) {
  return hn::Or(a, b);
}
template <MaskValue M>
HWY_INLINE M OneOf(M a, M b) {
  return hn::Xor(a, b);
}
template <MaskValue M>
HWY_INLINE M NotOf(M a) {
  return hn::Not(a);
}

template <BitsValue V>
HWY_INLINE V BitAnd(V a, V b) {
  return hn::And(a, b);
}
template <BitsValue V>
HWY_INLINE V BitOr(V a, V b) {
  return hn::Or(a, b);
}
template <BitsValue V>
HWY_INLINE V BitXor(V a, V b) {
  return hn::Xor(a, b);
}
template <BitsValue V>
HWY_INLINE V BitNot(V a) {
  return hn::Not(a);
}

// ---- Numbers.

template <VectorValue V>
HWY_INLINE V AddOf(V a, V b) {
  return hn::Add(a, b);
}
template <VectorValue V>
HWY_INLINE V SubOf(V a, V b) {
  return hn::Sub(a, b);
}
template <FloatVector V>
HWY_INLINE V DivOf(V a, V b) {
  return hn::Div(a, b);
}

template <VectorValue V>
HWY_INLINE V MulOf(V a, V b) {
  if constexpr (!std::is_same_v<LaneOf<V>, int64_t> || kBitMasks || HWY_HAVE_SCALABLE) {
    return hn::Mul(a, b);
  } else if constexpr (kPlainLanes) {
    return LaneByLane([](int64_t x, int64_t y) { return MulOf(x, y); }, a, b);
  } else {
    // Three products of 32 bits; what the fourth adds is past the 64th bit.
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Repartition<uint32_t, decltype(d)> du32;
    const auto x = hn::BitCast(du, a);
    const auto y = hn::BitCast(du, b);
    const auto halves = [&](auto p, auto q) HWY_ATTR {
      return hn::MulEven(hn::BitCast(du32, p), hn::BitCast(du32, q));
    };
    const auto low = halves(x, y);
    const auto cross = hn::Add(halves(hn::ShiftRight<32>(x), y), halves(x, hn::ShiftRight<32>(y)));
    return hn::BitCast(d, hn::Add(low, hn::ShiftLeft<32>(cross)));
  }
}

template <VectorValue V>
HWY_INLINE V Negate(V v) {
  if constexpr (FloatVector<V>) {
    return hn::Neg(v);
  } else {
    return hn::Sub(hn::Zero(hn::DFromV<V>()), v);
  }
}

template <VectorValue V>
HWY_INLINE V AbsOf(V v) {
  if constexpr (std::is_same_v<LaneOf<V>, uint32_t>) {
    return v;
  } else if constexpr (FloatVector<V> || !kPlainLanes) {
    return hn::Abs(v);
  } else {
    return hn::Max(v, Negate(v));
  }
}

/// a > b or a is NaN ? a : b
/// Of two values that may be NaN, one that is, bit for bit: a reduction quiets its result once.
template <VectorValue V>
HWY_INLINE V LargerOf(V a, V b) {
  if constexpr (IntegerVector<V>) {
    return hn::Max(a, b);
  } else if constexpr (HWY_ARCH_X86 && !kPlainLanes) {
    // The instruction gives b unless a is larger, so b if it is NaN, and of two zeros.
    return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b));
  } else {
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  }
}
template <VectorValue V>
HWY_INLINE V SmallerOf(V a, V b) {
  if constexpr (IntegerVector<V>) {
    return hn::Min(a, b);
  } else if constexpr (HWY_ARCH_X86 && !kPlainLanes) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b));
  } else {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  }
}
/// `value`, or the sum if one of the two is NaN: a quiet NaN.
template <VectorValue V>
HWY_INLINE V UnlessNaN(V a, V b, V value) {
  if constexpr (IntegerVector<V>) {
    return value;
  } else {
    return hn::IfThenElse(IsEitherNaN(a, b), hn::Add(a, b), value);
  }
}
template <VectorValue V>
HWY_INLINE V Maximum(V a, V b) {
  if constexpr (HWY_ARCH_X86 && !kPlainLanes) return UnlessNaN(a, b, hn::Max(a, b));
  return UnlessNaN(a, b, LargerOf(a, b));
}
template <VectorValue V>
HWY_INLINE V Minimum(V a, V b) {
  if constexpr (HWY_ARCH_X86 && !kPlainLanes) return UnlessNaN(a, b, hn::Min(a, b));
  return UnlessNaN(a, b, SmallerOf(a, b));
}
/// min(max(x, low), high), of which limits are looked at once where they are the same for all.
template <VectorValue V>
HWY_INLINE V ClampTo(V x, V low, V high) {
  if constexpr (HWY_ARCH_X86 && !kPlainLanes && FloatVector<V>) {
    const V limit = hn::IfThenElse(hn::IsNaN(low), low, high);
    return UnlessNaN(x, limit, hn::Min(hn::Max(x, low), high));
  }
  return Minimum(Maximum(x, low), high);
}

/// max(x, 0); of -0, that is 0.
template <VectorValue V>
HWY_INLINE V Relu(V x) {
  const auto zero = hn::Zero(hn::DFromV<V>());
  if constexpr (FloatVector<V>) {
    return hn::IfThenZeroElse(hn::Le(x, zero), x);
  } else {
    return hn::Max(x, zero);
  }
}

/// -1, 0 or 1; zeros and NaN stay as they are.
template <VectorValue V>
HWY_INLINE V Sign(V x) {
  using X = LaneOf<V>;
  const hn::DFromV<V> d;
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, X{1});
  if constexpr (FloatVector<V>) {
    const auto nonzero = hn::Or(hn::Lt(x, zero), hn::Gt(x, zero));
    return hn::IfThenElse(nonzero, CopySignOf(one, x), x);
  } else if constexpr (std::is_unsigned_v<X>) {
    return hn::Min(x, one);
  } else {
    return hn::Max(hn::Min(x, one), Negate(one));
  }
}

// ---- Rounding to integers.

template <FloatVector V>
HWY_INLINE V FloorOf(V x) {
  // SSSE3 and plain lanes lose the sign of zeros.
  return CopySignOf(hn::Floor(x), x);
}
template <FloatVector V>
HWY_INLINE V CeilOf(V x) {
  return CopySignOf(hn::Ceil(x), x);
}
/// To nearest, ties to even.
template <FloatVector V>
HWY_INLINE V RoundEven(V x) {
  if constexpr (kPlainLanes) {
    return LaneByLane([](LaneOf<V> lane) { return std::nearbyint(lane); }, x);
  } else {
    return CopySignOf(hn::Round(x), x);
  }
}

// ---- Shifts.

struct ShlObject {
  template <IntegerScalar X, IntegerScalar N>
  HWY_INLINE constexpr X operator()(X x, N n) const {
    return ShiftLeftScalar(x, n);
  }
  template <IntegerVector V, IntegerScalar N>
  HWY_INLINE V operator()(V v, N n) const {
    constexpr int kWidth = 8 * sizeof(LaneOf<V>);
    if (n < N{0} || n >= N{kWidth}) return hn::Zero(hn::DFromV<V>());
    return hn::ShiftLeftSame(v, static_cast<int>(n));
  }
  template <IntegerVector V>
  HWY_INLINE V operator()(V v, V n) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    constexpr unsigned kWidth = 8 * sizeof(LaneOf<V>);
    const auto valid = hn::Lt(hn::BitCast(du, n), hn::Set(du, kWidth));
    const auto count = hn::And(n, hn::Set(d, kWidth - 1));
    return hn::IfThenElseZero(hn::RebindMask(d, valid), hn::Shl(v, count));
  }
};
inline constexpr ShlObject Shl;

struct ShrObject {
  template <IntegerScalar X, IntegerScalar N>
  HWY_INLINE constexpr X operator()(X x, N n) const {
    return ShiftRightScalar(x, n);
  }
  template <IntegerVector V, IntegerScalar N>
  HWY_INLINE V operator()(V v, N n) const {
    constexpr int kWidth = 8 * sizeof(LaneOf<V>);
    int count = static_cast<int>(n);
    if (n < N{0} || n >= N{kWidth}) {
      if constexpr (std::is_unsigned_v<LaneOf<V>>) return hn::Zero(hn::DFromV<V>());
      count = kWidth - 1;
    }
    return hn::ShiftRightSame(v, count);
  }
  template <IntegerVector V>
  HWY_INLINE V operator()(V v, V n) const {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    constexpr unsigned kWidth = 8 * sizeof(LaneOf<V>);
    const auto most = hn::Set(du, kWidth - 1);
    const auto valid = hn::RebindMask(d, hn::Not(hn::Gt(hn::BitCast(du, n), most)));
    if constexpr (std::is_unsigned_v<LaneOf<V>>) {
      return hn::IfThenElseZero(valid, hn::Shr(v, hn::And(n, most)));
    } else {
      return hn::Shr(v, hn::IfThenElse(valid, n, hn::BitCast(d, most)));
    }
  }
};
inline constexpr ShrObject Shr;

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#include "kiln/simd/divide-inl.h"

#endif  // KILN_VALUES_INL_H_
