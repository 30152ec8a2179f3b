#include <algorithm>
#include <array>
#include <cstdio>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

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

/// y = f(x), by vectors; and the first element by the scalar function, in *scalar.
template <typename T, class F>
void Map(F f, const T* x, T* y, size_t count, T* scalar) {
  const hn::ScalableTag<T> d;
  ForLanes(d, count, [&](auto at, size_t i) HWY_ATTR { at.Store(f(at.Load(x + i)), y + i); });
  *scalar = f(x[0]);
}

// The order of kFunctions below.
template <typename T>
void Apply(int function, const T* x, T* y, size_t count, T* scalar) {
#define KILN_APPLY(number, name) \
  if (function == number) Map([](auto v) HWY_ATTR { return name(v); }, x, y, count, scalar)
  KILN_APPLY(0, Exp);
  KILN_APPLY(1, Exp2);
  KILN_APPLY(2, Log);
  KILN_APPLY(3, Log2);
  KILN_APPLY(4, Log1p);
  KILN_APPLY(5, Tanh);
  KILN_APPLY(6, Erf);
  KILN_APPLY(7, Sigmoid);
  KILN_APPLY(8, SqrtOf);
  KILN_APPLY(9, Rsqrt);
  KILN_APPLY(10, Sin);
  KILN_APPLY(11, Cos);
  KILN_APPLY(12, Gelu);
  KILN_APPLY(13, GeluTanh);
  KILN_APPLY(14, Silu);
  KILN_APPLY(15, GeluForBf16);
#undef KILN_APPLY
}

void ApplyF32(int function, const float* x, float* y, size_t count, float* scalar) {
  Apply(function, x, y, count, scalar);
}
void ApplyF64(int function, const double* x, double* y, size_t count, double* scalar) {
  Apply(function, x, y, count, scalar);
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
  const char* name;
  Wide (*exact)(Wide);
  double ulps[2];        // f32, f64
  double absolute[2]{};  // of results that are smaller than this
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
const std::array<Function<Wide>, 16> kFunctions = {{
    {"exp", [](Wide x) { return std::exp(x); }, {2, 2}},
    {"exp2", [](Wide x) { return std::exp2(x); }, {2, 2}},
    {"log", [](Wide x) { return std::log(x); }, {2, 2}},
    {"log2", [](Wide x) { return std::log2(x); }, {2, 4}},
    {"log1p", [](Wide x) { return std::log1p(x); }, {2, 2}},
    {"tanh", [](Wide x) { return std::tanh(x); }, {2, 4}},
    {"erf", [](Wide x) { return std::erf(x); }, {2, 2}},
    {"sigmoid", &ExactSigmoid<Wide>, {4, 4}},
    {"sqrt", [](Wide x) { return std::sqrt(x); }, {0.5001, 0.5001}},
    {"rsqrt", [](Wide x) { return 1 / std::sqrt(x); }, {1.5, 1.5}},
    {"sin", [](Wide x) { return std::sin(x); }, {2, 2}},
    {"cos", [](Wide x) { return std::cos(x); }, {2, 2}},
    {"gelu", &ExactGelu<Wide>, {7, 90}, {1e-8, 1e-16}},
    {"gelu_tanh", &ExactGeluTanh<Wide>, {4, 45}, {1e-8, 1e-16}},
    {"silu", [](Wide x) { return x * ExactSigmoid(x); }, {4, 4}},
    {"gelu for bf16", &ExactGelu<Wide>, {2700, 90}, {1e-17, 1e-16}},  // 2^-12.6 of 2^24
}};

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
void Measure(int function, const T* x, const Wide* exact, size_t count, Worst& worst) {
  constexpr bool kIsF32 = std::is_same_v<T, float>;
  const Function<Wide>& f = kFunctions<Wide>[static_cast<size_t>(function)];
  std::vector<T> y(count);
  T scalar;
  if constexpr (kIsF32) {
    KILN_DISPATCH(ApplyF32)(function, x, y.data(), count, &scalar);
  } else {
    KILN_DISPATCH(ApplyF64)(function, x, y.data(), count, &scalar);
  }
  if (!Same(scalar, y[0])) Fail(std::string("scalar ") + f.name + " of " + Text(x[0]));
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

template <typename T>
void Judge(int function, const Worst& worst) {
  constexpr bool kIsF32 = std::is_same_v<T, float>;
  const auto& f = kFunctions<double>[static_cast<size_t>(function)];
  if (std::getenv("KILN_SHOW_ERRORS")) {
    std::printf("%-8s %s %-10s %.3f ulp at %a, %.2g absolute\n",
                hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()),
                kIsF32 ? "f32" : "f64", f.name, worst.ulps, worst.at, worst.absolute);
  }
  if (worst.ulps <= f.ulps[!kIsF32]) return;
  Fail(std::string(f.name) + " of " + Text(worst.at) + ": " + Text(worst.got) + ", off by " +
       std::to_string(worst.ulps));
}

/// Measures all functions for x = arguments(0), arguments(1) ... that are `count`.
template <typename T, typename Wide, typename Arguments>
void MeasureAll(uint64_t count, Arguments arguments) {
  constexpr size_t kPiece = 4096;
  for (int function = 0; function < static_cast<int>(kFunctions<Wide>.size()); ++function) {
    Worst worst;
    T x[kPiece];
    Wide exact[kPiece];
    for (uint64_t begin = 0; begin < count; begin += kPiece) {
      const auto size = static_cast<size_t>(std::min<uint64_t>(kPiece, count - begin));
      for (size_t i = 0; i < size; ++i) {
        x[i] = arguments(begin + i);
        exact[i] = kFunctions<Wide>[static_cast<size_t>(function)].exact(x[i]);
      }
      Measure(function, x, exact, size, worst);
    }
    Judge<T>(function, worst);
  }
}

std::string TestF32(uint64_t step) {
  return OnEachTarget(HWY_TARGETS, [step] {
    MeasureAll<float, double>((uint64_t{1} << 32) / step, [step](uint64_t i) {
      return std::bit_cast<float>(static_cast<uint32_t>(i * step));
    });
    const std::vector<float> special = Elements<float>(1);
    MeasureAll<float, double>(special.size(), [&](uint64_t i) { return special[i]; });
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
  });
}

}  // namespace

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
