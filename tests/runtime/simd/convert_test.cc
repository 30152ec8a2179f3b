#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/convert_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/convert-inl.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/values-inl.h"

#ifndef KILN_CONVERT_TEST_ONCE
#define KILN_CONVERT_TEST_ONCE
namespace kiln::lanes_testing::of_convert {

/// What the interpreter casts to.
template <typename From, typename To>
To CastElement(From from) {
  const auto value = Value(from);
  if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    return static_cast<To>(FloatToInt(value, kDTypeOf<To>));
  } else if constexpr (kIsFloat<From>) {
    return Element<To>(value);
  } else if constexpr (!kIsFloat<To>) {
    return Element<To>(value);
  } else if constexpr (std::is_same_v<To, float>) {
    return static_cast<float>(value);
  } else if constexpr (kIsPower<To>) {
    return Element<To>(static_cast<float>(value));  // of an i64, straight
  } else {
    return Element<To>(static_cast<double>(value));
  }
}

template <typename From, typename To>
To BitcastElement(From from) {
  if constexpr (std::is_same_v<From, f16>) {
    // Instructions that convert f16 make NaN quiet. By its bits: scalars of RISC-V have one NaN.
    if (std::isnan(Value(from)))
      from = std::bit_cast<f16>(static_cast<uint16_t>(std::bit_cast<uint16_t>(from) | 0x0200));
  }
  if constexpr (std::is_same_v<From, f8e5m2>) {
    // Floats of 8 bits have one NaN.
    if (std::isnan(Value(from))) from = Element<From>(Value(from));
  }
  if constexpr (std::is_same_v<To, bool>) {
    return std::bit_cast<uint8_t>(from) != 0;
  } else {
    return std::bit_cast<To>(from);
  }
}

}  // namespace kiln::lanes_testing::of_convert
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_convert {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// op of all elements: through vectors of both kinds of loops, and as scalars.
template <typename From, typename To, class Op>
void CheckOn(const char* name, const Room<From>& from, const std::vector<std::string>& inputs,
             const std::vector<To>& want, Op op) {
  const std::string what = std::string(name) + " " + std::string(Name(kDTypeOf<From>)) + " to " +
                           std::string(Name(kDTypeOf<To>));
  const size_t count = want.size();
  const Room<To> out(count);
  const auto run = [&](auto d) HWY_ATTR {
    const Whole<decltype(d)> at;
    for (size_t i = 0; i < count; i += at.lanes()) at.Store(op(at.Load(from(i))), out(i));
    ExpectSame<To>(what, out(), want, inputs);
  };
  if constexpr (sizeof(From) < 8 && sizeof(To) < 8) run(kFloats);
  run(kDoubles);

  const Whole<OneLane<int32_t>> one;
  for (size_t i = 0; i < count; ++i) {
    const Rep<To> y = op(FromOneLane(one.Load(from(i))));
    one.Store(ToOneLane(y), out(i));
  }
  ExpectSame<To>("scalar " + what, out(), want, inputs);
}

void TestCasts() {
  ForEachType([](auto from_type) {
    using From = decltype(from_type);
    const std::vector<From> from = Elements<From>();
    const std::vector<std::string> inputs = Texts(from);
    ForEachType([&](auto to_type) {
      using To = decltype(to_type);
      std::vector<To> want;
      for (const From x : from) want.push_back(CastElement<From, To>(x));
      CheckOn("cast", Room(from), inputs, want, [](auto v) HWY_ATTR { return Cast<From, To>(v); });
    });
  });
}

/// The nearest integers of floats of all kinds and of ties.
template <typename To>
void CheckNearest() {
  std::vector<float> from = Elements<float>();
  for (int i = -70000; i < 70000; i += 7) from.push_back(static_cast<float>(i) / 2);
  while (from.size() % 64 != 0) from.push_back(0.5f);
  for (size_t i = 0; i < from.size(); i += hn::Lanes(kFloats)) {
    const auto v = hn::LoadU(kFloats, &from[i]);
    const auto want = Cast<float, To>(RoundEven(v)), got = CastNearest<To>(v);
    Expect(hn::AllTrue(kInts, hn::Eq(got, want)), "nearest " + std::string(Name(kDTypeOf<To>)) +
                                                      " of " + Text(from[i]) + " and those behind");
  }
}

void TestNearest() {
  CheckNearest<int8_t>();
  CheckNearest<uint8_t>();
  CheckNearest<int16_t>();
  CheckNearest<uint16_t>();
}

void TestBitcasts() {
  ForEachType([](auto from_type) {
    using From = decltype(from_type);
    const std::vector<From> from = Elements<From>();
    const std::vector<std::string> inputs = Texts(from);
    ForEachType([&](auto to_type) {
      using To = decltype(to_type);
      if constexpr (sizeof(From) == sizeof(To)) {
        std::vector<To> want;
        for (const From x : from) want.push_back(BitcastElement<From, To>(x));
        CheckOn("bitcast", Room(from), inputs, want,
                [](auto v) HWY_ATTR { return Bitcast<From, To>(v); });
      }
    });
  });
}

/// All elements of T, which has at most 16 bits.
template <typename T>
std::vector<T> AllElements() {
  std::vector<T> all;
  for (uint32_t bits = 0; bits < 1u << (8 * sizeof(T)); ++bits)
    all.push_back(std::bit_cast<T>(static_cast<UnsignedOf<T>>(bits)));
  return all;
}

template <typename From, typename To>
void CheckCastsOf(const std::vector<From>& from) {
  std::vector<To> want;
  for (const From x : from) want.push_back(CastElement<From, To>(x));
  CheckOn("cast", Room(from), Texts(from), want, [](auto v) HWY_ATTR { return Cast<From, To>(v); });
}

/// Floats whose exponents are near those of floats of 8 bits, and exact ties among them.
std::vector<float> NearFloat8() {
  std::vector<float> floats;
  std::mt19937 random(3);
  for (int i = 0; i < 50000; ++i) {
    const auto exponent = static_cast<uint32_t>(127 - 20 + random() % 40);
    const auto mantissa = static_cast<uint32_t>(random() & 0x7FFFFF & (~0u << random() % 24));
    floats.push_back(
        std::bit_cast<float>(static_cast<uint32_t>(random()) << 31 | exponent << 23 | mantissa));
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  return floats;
}

/// Floats on both sides of where a power of two gives way to the next, subnormals among them.
std::vector<float> NearPowers() {
  std::vector<float> floats;
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const uint32_t mantissa : {0u, 1u, 0x3FFFFFu, 0x400000u, 0x400001u, 0x7FFFFFu}) {
      for (const uint32_t sign : {0u, 1u})
        floats.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | mantissa));
    }
  }
  return floats;
}

template <typename T>
void TestFloat8Of() {
  CheckCastsOf<T, float>(AllElements<T>());
  CheckCastsOf<T, bf16>(AllElements<T>());
  CheckCastsOf<bf16, T>(AllElements<bf16>());
  CheckCastsOf<f16, T>(AllElements<f16>());
  CheckCastsOf<float, T>(NearFloat8());
}

/// From a vector of one lane to a scalar and back, in loops of one lane with tags of X.
template <typename X, typename T>
void CheckOneLane(const std::vector<T>& from, const std::vector<std::string>& inputs) {
  const Room<T> in(from), out(from.size());
  const Whole<OneLane<X>> at;
  for (size_t i = 0; i < from.size(); ++i) at.Store(ToOneLane(FromOneLane(at.Load(in(i)))), out(i));
  ExpectSame<T>("one lane of " + std::string(Name(kDTypeOf<T>)), out(), from, inputs);
}

/// And comparisons, whose mask is that of 32-bit lanes beside those that were compared.
template <typename X>
void CheckOneMask() {
  const OneLane<X> d;
  const std::vector<X> values = {0, 1, static_cast<X>(int64_t{1} << 31), 7, 7};
  std::vector<uint8_t> got, want;
  std::vector<std::string> inputs;
  for (const X a : values) {
    for (const X b : values) {
      got.push_back(FromOneLane(NarrowMask(d, hn::Lt(ToOneLane(a), ToOneLane(b)))));
      want.push_back(a < b);
      inputs.push_back(Text<X>(a) + ", " + Text<X>(b));
    }
  }
  ExpectSame<uint8_t>("one mask", got.data(), want, inputs);
}

void TestOneLane() {
  ForEachType([](auto type) {
    using T = decltype(type);
    const std::vector<T> from = Elements<T>();
    const std::vector<std::string> inputs = Texts(from);
    CheckOneLane<int32_t>(from, inputs);
    CheckOneLane<float>(from, inputs);
    CheckOneLane<double>(from, inputs);
  });
  CheckOneMask<int32_t>();
  CheckOneMask<uint32_t>();
  CheckOneMask<int64_t>();
  CheckOneMask<float>();
  CheckOneMask<double>();
}

void TestFloat8() {
  TestFloat8Of<f8e4m3fn>();
  TestFloat8Of<f8e5m2>();
  TestFloat8Of<f8e8m0fnu>();
  CheckCastsOf<float, f8e8m0fnu>(NearPowers());
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_convert
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_convert {
HWY_EXPORT(TestCasts);
HWY_EXPORT(TestNearest);
HWY_EXPORT(TestBitcasts);
HWY_EXPORT(TestFloat8);
HWY_EXPORT(TestOneLane);

TEST_CASE("Cast is the interpreter's, for every two types", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestCasts)(); }) == "");
}

TEST_CASE("A cast of what is rounded is one of the rounded value", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestNearest)(); }) == "");
}

TEST_CASE("All floats of 8 bits are widened, and all of 16 bits rounded to them", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestFloat8)(); }) == "");
}

TEST_CASE("Scalars and vectors of one lane are each other's, of every type", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestOneLane)(); }) == "");
}

TEST_CASE("Bitcast keeps bits", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestBitcasts)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_convert
#endif
