// Constants and polynomials of math-inl.h for f32 and f64. The polynomials are minimax fits whose
// coefficients were rounded one by one, the others fitted again after each.
#if defined(KILN_CONSTANTS_INL_H_) == defined(HWY_TARGET_TOGGLE)  // once per target
#ifdef KILN_CONSTANTS_INL_H_
#undef KILN_CONSTANTS_INL_H_
#else
#define KILN_CONSTANTS_INL_H_
#endif

#include "kiln/core/version.h"
#include "kiln/simd/values-inl.h"

#ifndef KILN_CONSTANTS_ONCE_
#define KILN_CONSTANTS_ONCE_
namespace kiln::inline KILN_ABI {

template <typename X>
struct MathConstants;

template <>
struct MathConstants<float> {
  using Bits = uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr Bits kBias = 127;
  static constexpr float kMagic = 0x1.8p23f;  // x + kMagic - kMagic rounds to an integer
  static constexpr float kLog2E = 0x1.715476p+0f;
  static constexpr float kLog2ELow = 0x1.4ae0cp-26f;
  static constexpr float kLn2 = 0x1.62e43p-1f;
  // kLn2High times an exponent is exact.
  static constexpr float kLn2High = 0x1.63p-1f;
  static constexpr float kLn2Low = -0x1.bd0106p-13f;
  // exp: below kExpLeast it is 0, and below kExpLow even times any factor for which it matters;
  // above kExpHigh inf; below kExpTiny it is scaled in two steps.
  static constexpr float kExpLeast = -104.0f;
  static constexpr float kExpLow = -125.0f;
  static constexpr float kExpHigh = 89.0f;
  static constexpr float kExpTiny = -86.0f;
  static constexpr float kExp2Least = -150.0f;
  static constexpr float kExp2High = 128.0f;
  static constexpr float kExp2Tiny = -124.0f;
  static constexpr Bits kTinyStep = 64;
  static constexpr float kTinyScale = 0x1p-63f;  // 2^(1 - kTinyStep)
  static constexpr Bits kSqrtHalf = 0x3F3504F3;  // the bits of sqrt(0.5)
  static constexpr float kLeastNormal = 0x1p-126f;
  static constexpr float kNormalize = 0x1p23f;         // makes subnormals normal
  static constexpr float kTanhHigh = 9.5f;             // above, tanh is 1
  static constexpr float kExpm1Low = -30.0f;           // below, expm1 is -1
  static constexpr float kSinhHigh = 89.5f;            // above, sinh is inf
  static constexpr float kLn2Rest = -0x1.05c610p-29f;  // ln(2) - kLn2
  static constexpr float kSquareIsLarge = 0x1p30f;     // 1 + x^2 is x^2, which is finite
  // Cbrt takes numbers below 1 times the first and others times the second, and the root back.
  static constexpr float kCubeUp = 0x1p48f, kCubeDown = 0x1p-24f;
  static constexpr float kRootDown = 0x1p-16f, kRootUp = 0x1p8f;
  // pi / 2 in three parts, and how large an argument they are good for.
  static constexpr float kHalfPi[3] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
  static constexpr float kTrigHigh = 1e5f;
};

template <>
struct MathConstants<double> {
  using Bits = uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr Bits kBias = 1023;
  static constexpr double kMagic = 0x1.8p52;
  static constexpr double kLog2E = 0x1.71547652b82fep+0;
  static constexpr double kLog2ELow = 0x1.777d0ffda0d24p-56;
  static constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  static constexpr double kLn2High = 0x1.62e42feep-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr double kExpLeast = -745.2;
  static constexpr double kExpLow = -790.0;
  static constexpr double kExpHigh = 710.0;
  static constexpr double kExpTiny = -707.0;
  static constexpr double kExp2Least = -1075.0;
  static constexpr double kExp2High = 1024.0;
  static constexpr double kExp2Tiny = -1020.0;
  static constexpr Bits kTinyStep = 128;
  static constexpr double kTinyScale = 0x1p-127;
  static constexpr Bits kSqrtHalf = 0x3FE6A09E667F3BCD;
  static constexpr double kLeastNormal = 0x1p-1022;
  static constexpr double kNormalize = 0x1p52;
  static constexpr double kTanhHigh = 20.0;
  static constexpr double kExpm1Low = -60.0;
  static constexpr double kSinhHigh = 710.6;
  static constexpr double kLn2Rest = 0x1.abc9e3b39803fp-56;
  static constexpr double kSquareIsLarge = 0x1p60;
  static constexpr double kCubeUp = 0x1p150, kCubeDown = 0x1p-150;
  static constexpr double kRootDown = 0x1p-50, kRootUp = 0x1p50;
  static constexpr double kHalfPi[3] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                        -0x1.f1976b7ed8fbcp-110};
  static constexpr double kTrigHigh = 1e6;
};

}  // namespace kiln::inline KILN_ABI
#endif  // KILN_CONSTANTS_ONCE_

KILN_BEFORE_NAMESPACE();
namespace kiln::inline KILN_ABI {
namespace HWY_NAMESPACE {

/// c0 + c1 t + c2 t^2 ...
template <VectorValue V, typename... C>
HWY_INLINE V Polynomial(V t, LaneOf<V> c0, C... rest) {
  const V c = hn::Set(hn::DFromV<V>(), c0);
  if constexpr (sizeof...(rest) == 0) {
    return c;
  } else {
    return hn::MulAdd(Polynomial(t, rest...), t, c);
  }
}

/// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <VectorValue V>
HWY_INLINE V ExpTail(V r) {
  if constexpr (std::is_same_v<LaneOf<V>, float>) {
    return Polynomial(r, 0x1.fffffcp-2f, 0x1.55548cp-3f, 0x1.555858p-5f, 0x1.123de2p-7f,
                      0x1.6ac778p-10f);
  } else {
    return Polynomial(r, 0.5, 0.16666666666666688, 0.041666666666666824, 0.0083333333333138835,
                      0.0013888888888777629, 0.00019841269903460786, 2.4801587560577695e-05,
                      2.7557228565240178e-06, 2.7557057706352927e-07, 2.5113238443267165e-08,
                      2.100648521468604e-09);
  }
}

/// (2 atanh(s) - 2 s) / s^3 of z = s^2, for (1 + s) / (1 - s) between sqrt(0.5) and sqrt(2).
template <VectorValue V>
HWY_INLINE V AtanhTail(V z) {
  if constexpr (std::is_same_v<LaneOf<V>, float>) {
    return Polynomial(z, 0.666666627f, 0.400009722f, 0.284987926f, 0.242788538f);
  } else {
    return Polynomial(z, 0.66666666666667351, 0.39999999999409369, 0.28571428743681221,
                      0.22222198429623377, 0.18183572317264313, 0.15313833214972097,
                      0.14798247524817343);
  }
}

/// (tanh(x) - x) / x^3 of z = x^2, for |x| <= 0.625, f32.
template <VectorValue V>
HWY_INLINE V TanhTail(V z) {
  return Polynomial(z, -0.333332807f, 0.133314058f, -0.0537365153f, 0.0206281673f, -0.00569229666f);
}

/// (sin(r) - r) / r^3 of z = r^2, for |r| <= pi / 4.
template <VectorValue V>
HWY_INLINE V SinTail(V z) {
  if constexpr (std::is_same_v<LaneOf<V>, float>) {
    return Polynomial(z, -0x1.555556p-3f, 0x1.111176p-7f, -0x1.a05bb2p-13f, 0x1.7cd428p-19f);
  } else {
    return Polynomial(z, -0.16666666666666666, 0.0083333333333330383, -0.00019841269840955878,
                      2.7557319069608827e-06, -2.5052069605550277e-08, 1.6054127140318387e-10,
                      -7.3797071539541199e-13);
  }
}

/// (cos(r) - 1 + r^2 / 2) / r^4 of z = r^2, for |r| <= pi / 4.
template <VectorValue V>
HWY_INLINE V CosTail(V z) {
  if constexpr (std::is_same_v<LaneOf<V>, float>) {
    return Polynomial(z, 0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0eep-16f);
  } else {
    return Polynomial(z, 0.041666666666666602, -0.0013888888888874417, 2.4801587289610784e-05,
                      -2.7557314377727835e-07, 2.0875725473677153e-09, -1.1359709010866938e-11);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::inline KILN_ABI
HWY_AFTER_NAMESPACE();

#endif  // KILN_CONSTANTS_INL_H_
