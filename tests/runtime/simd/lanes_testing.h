// What the tests of the SIMD headers share: values to try, and checks that code compiled for any
// target may call.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "generator/data/dtype.h"
#include "kiln/core/targets.h"
// Highway after its targets.
#include "hwy/targets.h"
#include "kiln/core/types.h"

namespace kiln::lanes_testing {

// clang-format off
template <typename T> struct Traits;
template <> struct Traits<bool>     { static constexpr DType kDType = DType::kBool; };
template <> struct Traits<int8_t>   { static constexpr DType kDType = DType::kI8; };
template <> struct Traits<uint8_t>  { static constexpr DType kDType = DType::kU8; };
template <> struct Traits<int16_t>  { static constexpr DType kDType = DType::kI16; };
template <> struct Traits<uint16_t> { static constexpr DType kDType = DType::kU16; };
template <> struct Traits<int32_t>  { static constexpr DType kDType = DType::kI32; };
template <> struct Traits<uint32_t> { static constexpr DType kDType = DType::kU32; };
template <> struct Traits<int64_t>  { static constexpr DType kDType = DType::kI64; };
template <> struct Traits<f8e4m3fn> { static constexpr DType kDType = DType::kF8E4M3FN; };
template <> struct Traits<f8e5m2>   { static constexpr DType kDType = DType::kF8E5M2; };
template <> struct Traits<f8e8m0fnu> { static constexpr DType kDType = DType::kF8E8M0FNU; };
template <> struct Traits<bf16>     { static constexpr DType kDType = DType::kBF16; };
template <> struct Traits<f16>      { static constexpr DType kDType = DType::kF16; };
template <> struct Traits<float>    { static constexpr DType kDType = DType::kF32; };
template <> struct Traits<double>   { static constexpr DType kDType = DType::kF64; };
// clang-format on
template <typename T>
inline constexpr DType kDTypeOf = Traits<T>::kDType;
template <typename T>
inline constexpr bool kIsFloat = IsFloat(kDTypeOf<T>);

/// Of the size of a narrow float.
template <typename T>
using UnsignedOf = std::conditional_t<sizeof(T) == 1, uint8_t, uint16_t>;

/// Calls use(T()) for every storage type.
template <typename Use>
void ForEachType(Use use) {
  use(bool()), use(int8_t()), use(uint8_t()), use(int16_t()), use(uint16_t()), use(int32_t());
  use(uint32_t()), use(int64_t()), use(f8e4m3fn()), use(f8e5m2()), use(f8e8m0fnu());
  use(bf16()), use(f16()), use(float()), use(double());
}

/// An element as the interpreter holds it: a double or an int64_t.
template <typename T>
auto Value(T element) {
  if constexpr (kIsNarrowFloat<T>) {
    return FloatFromBits(std::bit_cast<UnsignedOf<T>>(element), kDTypeOf<T>);
  } else if constexpr (std::is_floating_point_v<T>) {
    return double{element};
  } else {
    return static_cast<int64_t>(element);
  }
}

/// The element nearest to a double, or the one that an int64_t wraps to.
template <typename T>
T Element(double value) {
  if constexpr (kIsNarrowFloat<T>) {
    return std::bit_cast<T>(static_cast<UnsignedOf<T>>(BitsOfFloat(value, kDTypeOf<T>)));
  } else {
    return static_cast<T>(value);
  }
}
/// Of narrow floats these are the bits: newer Highways have classes for them that no integer
/// becomes.
template <typename T>
T Element(int64_t value) {
  if constexpr (kIsNarrowFloat<T>) {
    return std::bit_cast<T>(static_cast<UnsignedOf<T>>(Wrap(value, kDTypeOf<T>)));
  } else {
    return static_cast<T>(Wrap(value, kDTypeOf<T>));
  }
}

/// Bits that are the same, or two NaN.
template <typename T>
bool Same(T a, T b) {
  if constexpr (kIsFloat<T>) {
    if (std::isnan(Value(a)) || std::isnan(Value(b)))
      return std::isnan(Value(a)) && std::isnan(Value(b));
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// What went wrong. Code that is compiled for several targets reports here, because Catch's inline
/// functions must not be compiled for them.
struct Report {
  size_t checks = 0;
  std::vector<std::string> failures;

  static Report& Of() {
    static Report report;
    return report;
  }
};

template <typename T>
std::string Text(T x) {
  if constexpr (kIsFloat<T>) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.17g (%a)", Value(x), Value(x));
    return text;
  } else {
    return std::to_string(Value(x));
  }
}

__attribute__((noinline)) inline void Fail(const std::string& text) {
  auto& failures = Report::Of().failures;
  if (failures.size() < 20) failures.push_back(text);
}

/// Whether got[i] is want[i] for all elements; inputs[i] describes where not.
template <typename T>
__attribute__((noinline)) void ExpectSame(const std::string& what, const T* got,
                                          const std::vector<T>& want,
                                          const std::vector<std::string>& inputs) {
  ++Report::Of().checks;
  for (size_t i = 0; i < want.size(); ++i) {
    if (Same<T>(got[i], want[i])) continue;
    return Fail(what + " of " + inputs[i] + ": " + Text<T>(got[i]) + ", not " + Text<T>(want[i]) +
                ", " + std::to_string(i) + " of " + std::to_string(want.size()));
  }
}

/// Texts of elements.
template <typename T>
__attribute__((noinline)) std::vector<std::string> Texts(const std::vector<T>& elements) {
  std::vector<std::string> texts;
  for (const T x : elements) texts.push_back(Text<T>(x));
  return texts;
}

/// Room for elements, with whole vectors at the end. Not a vector, for bool.
template <typename T>
struct Room {
  std::unique_ptr<T[]> data;
  explicit Room(size_t size) : data(new T[size + 64]()) {}
  explicit Room(const std::vector<T>& values) : Room(values.size()) {
    for (size_t i = 0; i < values.size(); ++i) data[i] = values[i];
  }
  T* operator()(size_t i = 0) const { return data.get() + i; }
};

__attribute__((noinline)) inline void Expect(bool holds, const std::string& what) {
  ++Report::Of().checks;
  if (!holds) Fail(what);
}

/// Runs `run`, which dispatches, for each target of this machine; gives the failures of all.
template <typename Run>
std::string OnEachTarget(int64_t compiled, Run run) {
  std::string failures;
  hwy::SetSupportedTargetsForTest(0);
  const int64_t supported = hwy::SupportedTargets() & compiled;
  for (int64_t rest = supported; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    Report::Of() = Report();
    run();
    if (Report::Of().checks == 0) Fail("no checks");
    for (const std::string& failure : Report::Of().failures) {
      failures += std::string(hwy::TargetName(target)) + ": " + failure + "\n";
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return failures;
}

/// Elements of T that are likely to go wrong, and some at random.
template <typename T>
std::vector<T> Elements(size_t random = 200) {
  std::vector<T> elements;
  std::mt19937_64 bits(7);
  if constexpr (kIsFloat<T>) {
    const double inf = std::numeric_limits<double>::infinity();
    // clang-format off
    for (const double x :
         {0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.5, 126.5, 127.0, 127.5, 128.0, 128.5, 255.0,
          255.5, 256.0, 32767.5, 32768.0, 65504.0, 65519.0, 65519.9999, 65520.0, 65535.5, 65536.0,
          0x1p23 + 0.5, 0x1p24, 0x1p24 + 1, 0x1p31 - 1, 0x1p31, 0x1p31 + 1, 0x1p32 - 1,
          0x1p32 - 0.5, 0x1p32, 0x1p53, 0x1p62, 0x1p63, 0x1p64, 1e30, 3.3895e38, 3.4028e38, 3.41e38,
          1e300, 0x1p-14, 0x1.ffp-15, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-26, 0x1p-126, 0x1.fp-127,
          0x1p-133, 0x1p-134, 0x1p-149, 0x1p-150, 0x1.8p-150, 0x1p-1022, 0x1p-1074, 0x1.010001p0,
          0x1.018p0, 0x1.01p0, 0x1.03p0, 0.49999997, 0x1.0100000001p0, 0x1.0080000001p0, 0x1.008p0,
          inf, std::nan("")}) {
      // clang-format on
      elements.push_back(Element<T>(x));
      elements.push_back(Element<T>(-x));
    }
    for (size_t i = 0; i < random; ++i) {
      const uint64_t x = bits();
      T any;
      std::memcpy(&any, &x, sizeof(T));
      elements.push_back(any);
      elements.push_back(
          Element<T>(std::ldexp(static_cast<double>(bits() >> 11), -53) * 200 - 100));
    }
  } else {
    for (int shift = 0; shift < 64; ++shift) {
      for (const int64_t by : {-1, 0, 1}) {
        const uint64_t near = (uint64_t{1} << shift) + static_cast<uint64_t>(by);
        const int64_t x = static_cast<int64_t>(near);
        elements.push_back(Element<T>(x));
        elements.push_back(Element<T>(static_cast<int64_t>(-near)));
        elements.push_back(Element<T>(x | (x >> 7)));
      }
    }
    for (size_t i = 0; i < random; ++i) {
      elements.push_back(Element<T>(static_cast<int64_t>(bits() >> (bits() % 64))));
    }
  }
  return elements;
}

}  // namespace kiln::lanes_testing
