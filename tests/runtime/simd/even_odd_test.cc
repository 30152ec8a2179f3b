// Lines by their even and odd lanes do what loops over whole vectors do, to the bit.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/even_odd_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/convert-inl.h"
#include "kiln/simd/even_odd-inl.h"

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_lines {
namespace HWY_NAMESPACE {
using namespace kiln::HWY_NAMESPACE;  // NOLINT

constexpr size_t kMost = 200, kRoom = 256;

/// Memory of its own, so that what lies beside the elements can be compared, too.
template <typename T>
struct Elements {
  alignas(64) T at[kRoom];

  explicit Elements(uint32_t seed) {
    std::minstd_rand random(seed);
    for (T& element : at) element = Element<T>(static_cast<double>(random() % 255) / 2 - 60);
  }
  bool operator==(const Elements& other) const {
    return std::memcmp(at, other.at, sizeof(at)) == 0;
  }
};

/// A function that loads and stores elements of many types, what it counts and what it copies.
struct Mixed {
  Elements<bf16> z{1}, copied{2};
  Elements<float> wide{3};
  Elements<int8_t> bytes{4};
  Elements<int32_t> places{5};
  Elements<f16> half{6};

  template <class At>
  HWY_INLINE void operator()(At at, size_t i, const Elements<bf16>& x, const Elements<float>& y,
                             const Elements<int8_t>& b, const Elements<f16>& h) {
    const auto x_0 = at.Load(x.at + i);
    const auto y_0 = at.Load(y.at + i);
    const auto b_0 = ToF32(at.Load(b.at + i));
    const auto h_0 = at.Load(h.at + i);
    at.Store(hn::Add(hn::Mul(x_0, y_0), hn::Add(b_0, h_0)), z.at + i);
    at.Copy(x.at + i, copied.at + i);
    at.Store(hn::Sub(x_0, hn::Mul(b_0, at.Splat(0.25f))), wide.at + i);
    at.Store(CastTruncating<int8_t>(x_0), bytes.at + i);
    at.Store(at.Iota(static_cast<int32_t>(i)), places.at + i);
    at.Store(hn::Mul(h_0, x_0), half.at + i);
  }

  bool operator==(const Mixed& o) const {
    return z == o.z && copied == o.copied && wide == o.wide && bytes == o.bytes &&
           places == o.places && half == o.half;
  }
};

void TestMixed() {
  const Elements<bf16> x(11);
  const Elements<float> y(12);
  const Elements<int8_t> b(13);
  const Elements<f16> h(14);
  for (size_t count = 0; count <= kMost; ++count) {
    Mixed expected, found, streamed;
    ForLanes(kFloats, count, [&](auto at, size_t i) HWY_ATTR { expected(at, i, x, y, b, h); });
    ForLanes(kEvenOdd, count, [&](auto at, size_t i) HWY_ATTR { found(at, i, x, y, b, h); });
    Expect(found == expected, std::to_string(count) + " elements of many types");
    StreamLanes(kEvenOdd, count, true, streamed.z.at,
                [&](auto at, size_t i) HWY_ATTR { streamed(at.Cached(), i, x, y, b, h); });
    Expect(streamed == expected, std::to_string(count) + " elements that are not streamed");
  }
}

/// Streaming stores from each element on, at which a line begins or does not.
template <typename T>
void TestStreams(const char* type) {
  const Elements<bf16> x(21);
  for (size_t begin = 0; begin < 36; ++begin) {
    for (size_t count = 0; count + begin <= kMost; ++count) {
      Elements<T> expected(22), found(22);
      const auto write = [&](Elements<T>& to) {
        return [&to, &x, begin](auto at, size_t i) HWY_ATTR {
          const auto value = hn::Mul(at.Load(x.at + i), at.Splat(1.5f));
          if constexpr (kIsFloating<T>) at.Store(value, to.at + begin + i);
          if constexpr (!kIsFloating<T>) at.Store(CastTruncating<T>(value), to.at + begin + i);
        };
      };
      ForLanes(kFloats, count, write(expected));
      StreamLanes(kEvenOdd, count, true, found.at + begin, write(found));
      Expect(found == expected, std::to_string(count) + " " + type + " streamed from element " +
                                    std::to_string(begin));
    }
  }
}

/// Floats of all kinds are rounded as by a vector: ties, subnormals, infinities and NaNs.
void TestRounding() {
  std::vector<uint32_t> bits;
  for (uint32_t upper = 0; upper < 0x10000; upper += 7) {
    for (const uint32_t lower : {0x0u, 0x1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu})
      bits.push_back(upper << 16 | lower);
  }
  const auto* const x = reinterpret_cast<const float*>(bits.data());
  std::vector<uint16_t> expected(bits.size()), found(bits.size());
  const auto write = [x](std::vector<uint16_t>& to) {
    auto* const z = reinterpret_cast<bf16*>(to.data());
    return [x, z](auto at, size_t i) HWY_ATTR { at.Store(at.Load(x + i), z + i); };
  };
  ForLanes(kFloats, bits.size(), write(expected));
  ForLanes(kEvenOdd, bits.size(), write(found));
  Expect(found == expected, "floats of all kinds");
}

/// Integers, so that the order of additions does not matter; what is folded may be stored, too.
void TestFolds() {
  Elements<bf16> x(31);
  for (bf16& element : x.at) element = Element<bf16>(std::floor(Value(element)));
  for (size_t count = 0; count <= kMost; ++count) {
    const std::string of = " of " + std::to_string(count);
    Elements<float> expected(32), found(32);
    const auto fold = [&x](Elements<float>& kept) {
      return [&x, &kept](auto at, size_t i) HWY_ATTR {
        const auto value = at.Load(x.at + i);
        at.Store(value, kept.at + i);
        return value;
      };
    };
    Expect(SumLanes<float>(kEvenOdd, count, fold(found)) ==
               SumLanes<float>(kFloats, count, fold(expected)),
           "sum" + of);
    Expect(found == expected, "what is stored beside a sum" + of);
    Expect(MaxLanes<float>(kEvenOdd, count, fold(found)) ==
               MaxLanes<float>(kFloats, count, fold(expected)),
           "largest" + of);
    const auto both = [&x](auto at, size_t i, auto into) HWY_ATTR {
      const auto value = at.Load(x.at + i);
      into(value, hn::Mul(value, value));
    };
    const auto folds = FoldLanes<SumOf<float>, SumOf<float>>(kEvenOdd, count, both);
    Expect(folds == FoldLanes<SumOf<float>, SumOf<float>>(kFloats, count, both), "two sums" + of);
  }
}

void TestLines() {
  TestMixed();
  TestStreams<bf16>("bf16");
  TestStreams<float>("f32");
  TestStreams<int8_t>("i8");
  TestStreams<int32_t>("i32");
  TestRounding();
  TestFolds();
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_lines
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_lines {
HWY_EXPORT(TestLines);

TEST_CASE("Lines by even and odd lanes become what vectors of neighbours become", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestLines)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_lines
#endif
