// Elements of which memory has two in a byte: what loops read and write of them, from either half
// of a byte, and what they are cast to.
#include <algorithm>
#include <array>
#include <numeric>

#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/packed_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/kiln-inl.h"

#ifndef KILN_PACKED_TEST_ONCE
#define KILN_PACKED_TEST_ONCE
namespace kiln::lanes_testing::of_packed {

constexpr size_t kCount = 80;  // more than the lanes of any vector, and some

template <typename T>
constexpr DType kPackedType = std::is_same_v<T, i4> ? DType::kI4 : DType::kU4;

/// Bytes with every pair of elements somewhere, and what they hold from the `first` one on.
struct Memory {
  std::array<uint8_t, 4 * kCount> bytes{};

  Memory() {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + 11);
  }
  template <typename T>
  T* At(size_t first) {
    return ElementsAt<T>(bytes.data()) + first;
  }
  /// By plain arithmetic, which shares nothing with the library.
  int64_t Get(DType dtype, size_t at) const {
    return Wrap(at % 2 == 0 ? bytes[at / 2] & 15 : bytes[at / 2] / 16, dtype);
  }
  void Set(size_t at, int64_t value) {
    const int bits = static_cast<int>(value & 15), byte = bytes[at / 2];
    bytes[at / 2] =
        static_cast<uint8_t>(at % 2 == 0 ? byte / 16 * 16 + bits : byte % 16 + bits * 16);
  }
};

inline void ExpectBytes(const std::string& what, const Memory& got, const Memory& want) {
  Expect(got.bytes == want.bytes, what);
}

}  // namespace kiln::lanes_testing::of_packed
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_packed {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// Calls fn(at, i) for loops of both kinds of tags.
template <class Fn>
void OnBothLoops(size_t count, Fn fn) {
  ForLanes(kFloats, count, fn);
  ForLanes(kDoubles, count, fn);
}

template <typename T>
void CheckLoads(size_t first) {
  constexpr DType kType = kPackedType<T>;
  Memory memory;
  const T* const p = memory.At<const T>(first);
  alignas(64) int32_t lanes[64];
  const auto expect = [&](const char* what, auto at, auto v, auto place) HWY_ATTR {
    hn::StoreU(v, TagFor<int32_t, decltype(at.tag())>(), lanes);
    for (size_t k = 0; k < at.lanes(); ++k)
      Expect(lanes[k] == memory.Get(kType, first + place(k)), what);
  };
  OnBothLoops(kCount - 3, [&](auto at, size_t i) HWY_ATTR {
    expect("Load", at, at.Load(p + i), [&](size_t k) { return i + k; });
    expect("LoadStrided", at, at.LoadStrided(p + i, 3), [&](size_t k) { return i + 3 * k; });
    expect("Gather", at, at.Gather(p, 2, at.Iota(static_cast<int32_t>(i))),
           [&](size_t k) { return 2 * (i + k); });
  });
  for (size_t i = 0; i < kCount; ++i)
    Expect(LoadOne(p + i) == memory.Get(kType, first + i), "LoadOne");
}

template <typename T>
void CheckStores(size_t first) {
  // Values that do not fit, of which the lower bits are stored.
  const auto value = [](size_t i) { return static_cast<int32_t>(i * 29) - 1000; };
  const auto run = [&](const char* what, auto store, auto place, auto holds) {
    for (const bool doubles : {false, true}) {
      Memory got, want;
      T* const p = got.At<T>(first);
      const auto step = [&](auto at, size_t i) HWY_ATTR {
        const auto v = hn::Sub(hn::Mul(at.Iota(static_cast<int32_t>(i)), at.Splat(int32_t{29})),
                               at.Splat(int32_t{1000}));
        store(at, i, v, p);
      };
      doubles ? ForLanes(kDoubles, kCount - 3, step) : ForLanes(kFloats, kCount - 3, step);
      for (size_t i = 0; i < kCount - 3; ++i) {
        if (holds(i)) want.Set(first + place(i), value(i));
      }
      ExpectBytes(what, got, want);
    }
  };
  const auto here = [](size_t i) { return i; };
  const auto always = [](size_t) { return true; };
  run(
      "Store", [](auto at, size_t i, auto v, T* p) HWY_ATTR { at.Store(v, p + i); }, here, always);
  run(
      "StoreStrided",
      [](auto at, size_t i, auto v, T* p) HWY_ATTR { at.StoreStrided(v, p + 3 * i, 3); },
      [](size_t i) { return 3 * i; }, always);
  run(
      "StoreIf",
      [](auto at, size_t i, auto v, T* p)
          HWY_ATTR { at.StoreIf(Gt(v, at.Splat(int32_t{100})), v, p + i); },
      here, [&](size_t i) { return value(i) > 100; });
  Memory got, want;
  for (size_t i = 0; i < kCount; ++i) {
    StoreOne(value(i), got.At<T>(first + i));
    want.Set(first + i, value(i));
  }
  ExpectBytes("StoreOne", got, want);
}

/// Of every element to another type, and of that type to elements.
template <typename T, typename U>
void CheckCasts() {
  constexpr DType kType = kPackedType<T>;
  const std::vector<U> others = Elements<U>();
  for (int64_t x = kiln::MinOf(kType); x <= kiln::MaxOf(kType); ++x) {
    const U want = kIsFloat<U> ? Element<U>(static_cast<double>(x)) : Element<U>(x);
    U got;
    StoreOne(Cast<T, U>(static_cast<int32_t>(x)), &got);
    Expect(Same(got, want),
           "a cast of " + std::to_string(x) + " to " + std::string(Name(kDTypeOf<U>)));
  }
  for (const U& x : others) {
    int64_t want;
    if constexpr (kIsFloat<U>)
      want = FloatToInt(Value(x), kType);
    else
      want = Wrap(Value(x), kType);
    Expect(Cast<U, T>(LoadOne(&x)) == want, "a cast of " + Text(x));
  }
}

template <typename T>
void CheckPacked() {
  for (const size_t first : {0, 1, 2, 3}) {
    CheckLoads<T>(first);
    CheckStores<T>(first);
  }
  ForEachType([](auto type) { CheckCasts<T, decltype(type)>(); });
}

void TestPacked() {
  CheckPacked<i4>();
  CheckPacked<u4>();
  for (int32_t x = -8; x < 8; ++x) {
    Expect(Bitcast<i4, u4>(x) == (x & 15), "a bitcast to u4");
    Expect(Bitcast<u4, i4>(x & 15) == x, "a bitcast to i4");
    Expect(Cast<i4, u4>(x) == (x & 15), "a cast to u4");
    Expect(Cast<u4, i4>(x & 15) == x, "a cast to i4");
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_packed
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_packed {
HWY_EXPORT(TestPacked);

TEST_CASE("Elements of 4 bits are read, written and cast as the interpreter has it", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestPacked)(); }) == "");
}

TEST_CASE("Runs of packed elements are copied between any places", "[runtime]") {
  for (const size_t from : {0, 1, 2}) {
    for (const size_t to : {0, 1, 5}) {
      for (const int64_t count : {0, 1, 2, 3, 40, 41}) {
        Memory source, got, want;
        internal::CopyPlaces(internal::PlaceOf(source.At<u4>(from)), 1,
                             internal::PlaceOf(got.At<u4>(to + 8)), 1, count);
        for (size_t i = 0; i < static_cast<size_t>(count); ++i)
          want.Set(to + 8 + i, source.Get(DType::kU4, from + i));
        CHECK(got.bytes == want.bytes);
        internal::FillPlaces(internal::PlaceOf(got.At<i4>(to)), 1, count, 0xF3);
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) want.Set(to + i, 3);
        CHECK(got.bytes == want.bytes);
      }
    }
  }
}

}  // namespace kiln::lanes_testing::of_packed
#endif
