#include <algorithm>
#include <cstdio>

#include "generator/ir/operations.h"
#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#ifndef KILN_MATH_TEST_ONCE
#define KILN_MATH_TEST_ONCE
namespace kiln::lanes_testing {
// Functions of what is rounded to bf16 next, which have no number of their own.
enum ForBf16 { kGelu = kOperationCount, kExp, kSigmoid, kSilu, kGeluTanh, kTanh };
constexpr const char* kNamesForBf16[] = {"gelu", "exp", "sigmoid", "silu", "gelu_tanh", "tanh"};
}  // namespace kiln::lanes_testing
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/math/math_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/math/math-inl.h"
#include "kiln/simd/lanes-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// y = f(x), by vectors; and the first element by the scalar function, in *scalar. With another
/// argument f(x, x2).
template <typename T, class F>
void Map(F f, const T* x, const T* x2, T* y, size_t count, T* scalar) {
  const hn::ScalableTag<T> d;
  if constexpr (std::is_invocable_v<F, T>) {
    ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR { at.Store(f(at.Load(x + i)), y + i); });
    *scalar = f(x[0]);
  } else if constexpr (std::is_invocable_v<F, T, T>) {
    ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR {
      at.Store(f(at.Load(x + i), at.Load(x2 + i)), y + i);
    });
    *scalar = f(x[0], x2[0]);
  }
}

// Every function of the language, by its number in Op, and those for bf16.
template <typename T>
void Apply(int function, const T* x, const T* x2, T* y, size_t count, T* scalar) {
#define KILN_APPLY(number, name)                                                                   \
  if (function == (number))                                                                        \
    Map(                                                                                           \
        [](auto... v) HWY_ATTR requires requires { name(v...); } { return name(v...); }, x, x2, y, \
        count, scalar);
#define KILN_FUNCTION(op, name, ...) KILN_APPLY(static_cast<int>(Op::op), name)
#include "generator/ir/operations.def"
  KILN_APPLY(ForBf16::kGelu, GeluForBf16)
  KILN_APPLY(ForBf16::kExp, ExpForBf16)
  KILN_APPLY(ForBf16::kSigmoid, SigmoidForBf16)
  KILN_APPLY(ForBf16::kSilu, SiluForBf16)
  KILN_APPLY(ForBf16::kGeluTanh, GeluTanhForBf16)
  KILN_APPLY(ForBf16::kTanh, TanhForBf16)
#undef KILN_APPLY
}

void ApplyF32(int function, const float* x, const float* x2, float* y, size_t count,
              float* scalar) {
  Apply(function, x, x2, y, count, scalar);
}
void ApplyF64(int function, const double* x, const double* x2, double* y, size_t count,
              double* scalar) {
  Apply(function, x, x2, y, count, scalar);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing {
HWY_EXPORT(ApplyF32);
HWY_EXPORT(ApplyF64);

namespace {

/// A function in a wider type, and the largest errors that are allowed.
template <typename Wide>
struct Function {
  int number;  // in Op
  Wide (*exact)(Wide);
  double ulps[2];        // f32, f64
  double absolute[2]{};  // of results that are smaller than this
  Wide (*exact_of_two)(Wide, Wide) = nullptr;

  std::string name() const {
    if (number >= static_cast<int>(kOperationCount))
      return std::string(kNamesForBf16[number - static_cast<int>(kOperationCount)]) + " for bf16";
    return std::string(Name(static_cast<Op>(number)));
  }
};

template <typename Wide>
Wide ExactGelu(Wide x) {
  return x * std::erfc(-x * static_cast<Wide>(0.707106781186547524400844362104849039L)) / 2;
}
template <typename Wide>
Wide ExactSigmoid(Wide x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
template <typename Wide>
Wide ExactGeluTanh(Wide x) {
  const Wide u = static_cast<Wide>(0.797884560802865355879892119868763737L) *
                 (x + static_cast<Wide>(0.044715L) * x * x * x);
  return x * ExactSigmoid(2 * u);
}

template <typename Wide>
Wide ExactSoftplus(Wide x) {
  return std::log1p(std::exp(-std::fabs(x))) + (x < 0 ? 0 : x);
}

constexpr int At(Op op) { return static_cast<int>(op); }

template <typename Wide>
const std::vector<Function<Wide>> kFunctions = {
    {At(Op::kAbs), [](Wide x) { return std::fabs(x); }, {0, 0}},
    {At(Op::kSign), [](Wide x) { return x > 0   ? Wide{1}
                                        : x < 0 ? Wide{-1}
                                                : x; }, {0, 0}},
    {At(Op::kFloor), [](Wide x) { return std::floor(x); }, {0, 0}},
    {At(Op::kCeil), [](Wide x) { return std::ceil(x); }, {0, 0}},
    {At(Op::kRound), [](Wide x) { return std::nearbyint(x); }, {0, 0}},
    {At(Op::kExp), [](Wide x) { return std::exp(x); }, {2, 2}},
    {At(Op::kExp2), [](Wide x) { return std::exp2(x); }, {2, 2}},
    {At(Op::kExpm1), [](Wide x) { return std::expm1(x); }, {2, 3}},
    {At(Op::kLog), [](Wide x) { return std::log(x); }, {2, 2}},
    {At(Op::kLog2), [](Wide x) { return std::log2(x); }, {2, 4}},
    {At(Op::kLog1p), [](Wide x) { return std::log1p(x); }, {2, 2}},
    {At(Op::kTanh), [](Wide x) { return std::tanh(x); }, {2, 4}},
    {At(Op::kSinh), [](Wide x) { return std::sinh(x); }, {3, 3}},
    {At(Op::kCosh), [](Wide x) { return std::cosh(x); }, {3, 3}},
    {At(Op::kAsinh), [](Wide x) { return std::asinh(x); }, {3, 3}},
    {At(Op::kAcosh), [](Wide x) { return std::acosh(x); }, {3, 3}},
    {At(Op::kAtanh), [](Wide x) { return std::atanh(x); }, {3, 3}},
    {At(Op::kErfc), [](Wide x) { return std::erfc(x); }, {6, 6}},
    {At(Op::kCbrt), [](Wide x) { return std::cbrt(x); }, {2, 2}},
    {At(Op::kTan), [](Wide x) { return std::tan(x); }, {4, 4}},
    {At(Op::kAsin), [](Wide x) { return std::asin(x); }, {4, 4}},
    {At(Op::kAcos), [](Wide x) { return std::acos(x); }, {4, 4}},
    {At(Op::kAtan), [](Wide x) { return std::atan(x); }, {3, 3}},
    {At(Op::kErf), [](Wide x) { return std::erf(x); }, {2, 2}},
    {At(Op::kSigmoid), &ExactSigmoid<Wide>, {4, 4}},
    {At(Op::kSqrt), [](Wide x) { return std::sqrt(x); }, {0.5001, 0.5001}},
    {At(Op::kRsqrt), [](Wide x) { return 1 / std::sqrt(x); }, {1.5, 1.5}},
    {At(Op::kSin), [](Wide x) { return std::sin(x); }, {2, 2}},
    {At(Op::kCos), [](Wide x) { return std::cos(x); }, {2, 2}},
    {At(Op::kAtan2), nullptr, {3, 3}, {}, [](Wide y, Wide x) { return std::atan2(y, x); }},
    {At(Op::kRelu), [](Wide x) { return x > 0 || std::isnan(x) ? x : 0; }, {0, 0}},
    {At(Op::kGelu), &ExactGelu<Wide>, {7, 90}, {1e-8, 1e-16}},
    {At(Op::kGeluTanh), &ExactGeluTanh<Wide>, {4, 45}, {1e-8, 1e-16}},
    {At(Op::kSilu), [](Wide x) { return x * ExactSigmoid(x); }, {4, 4}},
    {At(Op::kSoftplus), &ExactSoftplus<Wide>, {3, 3}},
    // 2^-12.6 of 2^24, and 2^-14, 2^-13.9, 2^-17
    {ForBf16::kGelu, &ExactGelu<Wide>, {2700, 90}, {1e-17, 1e-16}},
    {ForBf16::kExp, [](Wide x) { return std::exp(x); }, {1024, 2}, {1e-37, 0}},
    {ForBf16::kSigmoid, &ExactSigmoid<Wide>, {1024, 4}, {1e-36, 0}},
    {ForBf16::kSilu, [](Wide x) { return x * ExactSigmoid(x); }, {1024, 4}, {1e-36, 0}},
    {ForBf16::kGeluTanh, &ExactGeluTanh<Wide>, {1100, 45}, {1e-36, 1e-16}},
    {ForBf16::kTanh, [](Wide x) { return std::tanh(x); }, {128, 4}},
};

/// The error of got in units of the last place of `exact`, rounded to T; inf if one is NaN or
/// infinite and the other not, or a zero's sign is wrong.
template <typename T, typename Wide>
double ErrorOf(T got, Wide exact) {
  const T want = static_cast<T>(exact);
  if (Same(got, want)) return 0;
  if (!std::isfinite(want) || !std::isfinite(got) || (want == 0 && got == 0)) {
    // Rounding may be to the other side of the largest number.
    const bool edge = std::fabs(exact) > static_cast<Wide>(std::numeric_limits<T>::max()) *
                                             (1 - std::numeric_limits<T>::epsilon());
    return edge && std::isfinite(exact) ? 1 : std::numeric_limits<double>::infinity();
  }
  const int exponent =
      std::max(want == 0 ? -10000 : std::ilogb(want), std::numeric_limits<T>::min_exponent - 1);
  const Wide ulp = std::ldexp(Wide{1}, exponent + 1 - std::numeric_limits<T>::digits);
  return static_cast<double>(std::fabs(static_cast<Wide>(got) - exact) / ulp);
}

struct Worst {
  double ulps = 0;
  double absolute = 0;
  double at = 0;
  double got = 0;
};

/// Errors of one function for `count` arguments, on the target that is chosen.
template <typename T, typename Wide>
void Measure(const Function<Wide>& f, const T* x, const T* x2, const Wide* exact, size_t count,
             Worst& worst) {
  constexpr bool kIsF32 = std::is_same_v<T, float>;
  std::vector<T> y(count);
  T scalar;
  if constexpr (kIsF32) {
    KILN_DISPATCH(ApplyF32)(f.number, x, x2, y.data(), count, &scalar);
  } else {
    KILN_DISPATCH(ApplyF64)(f.number, x, x2, y.data(), count, &scalar);
  }
  if (!Same(scalar, y[0])) Fail("scalar " + f.name() + " of " + Text(x[0]));
  ++Report::Of().checks;
  for (size_t i = 0; i < count; ++i) {
    const double ulps = ErrorOf(y[i], exact[i]);
    if (ulps <= worst.ulps) continue;
    const auto off = static_cast<double>(std::fabs(static_cast<Wide>(y[i]) - exact[i]));
    const double small = f.absolute[!kIsF32];
    if (static_cast<double>(std::fabs(exact[i])) < small && off <= small) {
      worst.absolute = std::max(worst.absolute, off);
      continue;
    }
    worst = {ulps, worst.absolute, x[i], y[i]};
  }
}

template <typename T, typename Wide>
void Judge(const Function<Wide>& f, const Worst& worst) {
  constexpr bool kIsF32 = std::is_same_v<T, float>;
  if (std::getenv("KILN_SHOW_ERRORS")) {
    std::printf("%-8s %s %-10s %.3f ulp at %a, %.2g absolute\n",
                hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()),
                kIsF32 ? "f32" : "f64", f.name().c_str(), worst.ulps, worst.at, worst.absolute);
  }
  if (worst.ulps <= f.ulps[!kIsF32]) return;
  Fail(f.name() + " of " + Text(worst.at) + ": " + Text(worst.got) + ", off by " +
       std::to_string(worst.ulps));
}

/// Measures all functions for x = arguments(0), arguments(1) ... that are `count`; a second
/// argument is one of those, too, mostly of a like size.
template <typename T, typename Wide, typename Arguments>
void MeasureAll(uint64_t count, Arguments arguments) {
  constexpr size_t kPiece = 4096;
  for (const Function<Wide>& f : kFunctions<Wide>) {
    Worst worst;
    T x[kPiece], x2[kPiece];
    Wide exact[kPiece];
    for (uint64_t begin = 0; begin < count; begin += kPiece) {
      const auto size = static_cast<size_t>(std::min<uint64_t>(kPiece, count - begin));
      for (size_t i = 0; i < size; ++i) {
        x[i] = arguments(begin + i);
        const T other = arguments((begin + i) * 0x9E3779B97F4A7C15 % count);
        x2[i] = i % 4 == 0 ? other : std::copysign(x[i] * (1 + static_cast<T>(i % 61) / 8), other);
        if (f.exact)
          exact[i] = f.exact(x[i]);
        else
          exact[i] = i % 2 ? f.exact_of_two(x[i], x2[i]) : f.exact_of_two(x2[i], x[i]);
      }
      for (size_t i = 0; !f.exact && i < size; i += 2) std::swap(x[i], x2[i]);
      Measure(f, x, x2, exact, size, worst);
    }
    Judge<T>(f, worst);
  }
}

/// Every pair of special values, for functions of two.
template <typename T, typename Wide>
void MeasurePairs() {
  const std::vector<T> special = Elements<T>(1);
  for (const Function<Wide>& f : kFunctions<Wide>) {
    if (!f.exact_of_two) continue;
    Worst worst;
    for (const T first : special) {
      const std::vector<T> x(special.size(), first);
      std::vector<Wide> exact;
      for (const T second : special) exact.push_back(f.exact_of_two(first, second));
      Measure(f, x.data(), special.data(), exact.data(), x.size(), worst);
    }
    Judge<T>(f, worst);
  }
}

std::string TestF32(uint64_t step) {
  return OnEachTarget(HWY_TARGETS, [step] {
    MeasureAll<float, double>((uint64_t{1} << 32) / step, [step](uint64_t i) {
      return std::bit_cast<float>(static_cast<uint32_t>(i * step));
    });
    // Where the parts of tables end, and what is beside that.
    MeasureAll<float, double>(3 * 2048, [](uint64_t i) {
      const float end = (static_cast<float>(i / 3) - 1024) / 64;
      return i % 3 == 0 ? end : std::nextafter(end, i % 3 == 1 ? -99.0f : 99.0f);
    });
    const std::vector<float> special = Elements<float>(1);
    MeasureAll<float, double>(special.size(), [&](uint64_t i) { return special[i]; });
    MeasurePairs<float, double>();
  });
}

std::string TestF64(uint64_t count) {
  return OnEachTarget(HWY_TARGETS, [count] {
    // All exponents, and more in the range where functions bend.
    MeasureAll<double, long double>(
        count, [](uint64_t i) { return std::bit_cast<double>(i * 0x9E3779B97F4A7C15); });
    MeasureAll<double, long double>(count, [](uint64_t i) {
      const uint64_t bits = i * 0x9E3779B97F4A7C15;
      const double unit = static_cast<double>(bits >> 12) * 0x1p-51 - 1;
      return std::ldexp(unit, static_cast<int>(bits % 24) - 12);
    });
    const std::vector<double> special = Elements<double>(1);
    MeasureAll<double, long double>(special.size(), [&](uint64_t i) { return special[i]; });
    MeasurePairs<double, long double>();
  });
}

}  // namespace

TEST_CASE("Every function of floats in the language has a bound", "[runtime]") {
  for (const Operation& row : Functions()) {
    if (row.call != CallRule::kFloats) continue;
    INFO(row.name);
    CHECK(std::any_of(kFunctions<double>.begin(), kFunctions<double>.end(),
                      [&](const Function<double>& f) { return f.number == At(row.op); }));
  }
}

TEST_CASE("Functions of f32 are within their bounds", "[runtime]") { CHECK(TestF32(65521) == ""); }

TEST_CASE("Functions of f64 are within their bounds", "[runtime]") { CHECK(TestF64(20000) == ""); }

TEST_CASE("Functions of every f32 are within their bounds", "[.full]") {
  const char* step = std::getenv("KILN_STEP");
  CHECK(TestF32(step ? std::strtoull(step, nullptr, 10) : 1) == "");
}

TEST_CASE("Functions of many f64 are within their bounds", "[.full]") {
  CHECK(TestF64(2000000) == "");
}

}  // namespace kiln::lanes_testing
#endif
