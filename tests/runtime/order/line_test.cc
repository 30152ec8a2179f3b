#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/order/line_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/order/line-inl.h"

#ifndef KILN_LINE_TEST_ONCE
#define KILN_LINE_TEST_ONCE
#include <algorithm>
#include <numeric>

namespace kiln::lanes_testing {

/// Whether a comes before b of what is sorted upwards; `zeros`: -0 before 0.
template <typename T>
bool Less(T a, T b, bool zeros = false) {
  const auto x = Value(a), y = Value(b);
  if constexpr (kIsFloat<T>) {
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x);
    if (zeros && x == 0 && y == 0) return std::signbit(x) && !std::signbit(y);
  }
  return x < y;
}

template <typename T>
std::vector<int32_t> Ordered(const std::vector<T>& values, bool descending, bool zeros) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const T x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return descending ? Less(y, x, zeros) : Less(x, y, zeros);
  });
  return order;
}

/// `count` of them, in another order for each count, some equal.
template <typename T>
std::vector<T> Shuffled(size_t count) {
  const std::vector<T> all = Elements<T>();
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) values.push_back(all[random() % all.size()]);
  return values;
}

}  // namespace kiln::lanes_testing
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing {
namespace HWY_NAMESPACE {
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// What was written, every `stride`-th element.
template <typename T>
std::vector<T> Every(const Room<T>& room, size_t count, size_t stride) {
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) values.push_back(*room(i * stride));
  return values;
}

template <typename T>
void CheckLines(const std::vector<T>& values, size_t stride) {
  const size_t count = values.size();
  const std::string name = std::string(Name(kDTypeOf<T>)) + " of " + std::to_string(count);
  const Room<T> in(count * stride), sorted(count * stride);
  const Room<int32_t> ids(count * stride);
  const Room<int64_t> room(RoomWords(count));
  for (size_t i = 0; i < count; ++i) *in(i * stride) = values[i];
  const auto by = Signed(stride);
  const Line<const T> from{in(), by};
  const Line<int32_t> places{ids(), by};
  const auto check = [&](const char* what, bool descending, bool zeros, size_t k) {
    std::vector<int32_t> want = Ordered(values, descending, zeros);
    want.resize(k);
    Expect(Every(ids, k, stride) == want, what + (" of " + name));
  };
  const auto check_values = [&](const char* what, bool descending) {
    const std::vector<int32_t> order = Ordered(values, descending, false);
    for (size_t i = 0; i < count; ++i) {
      // The very bits, those of NaN and of -0 too.
      const T want = values[static_cast<size_t>(order[i])];
      const bool same = std::memcmp(sorted(i * stride), &want, sizeof(T)) == 0;
      if (!same) return Expect(same, what + (" of " + name) + " at " + std::to_string(i));
    }
    Expect(true, what);
  };
  SortLine(from, count, Line<T>{sorted(), by}, room());
  check_values("sort", false);
  SortLine<kDescending>(from, count, Line<T>{sorted(), by}, room());
  check_values("sort downwards", true);
  ArgsortLine(from, count, places, room());
  check("argsort", false, false, count);
  ArgsortLine<kDescending>(from, count, places, room());
  check("argsort downwards", true, false, count);
  for (const size_t k : {size_t{0}, size_t{1}, size_t{3}, size_t{8}, size_t{50}, count}) {
    if (k > count) continue;
    TopOfLine(from, count, k, places, room());
    check("top", true, true, k);
  }
}

/// Lines side by side, with others behind them, each as if it were alone. `special`: some elements
/// are equal, and have other bits.
template <typename T>
void CheckSideBySide(size_t count, size_t lines, bool special) {
  const std::string name = std::string(Name(kDTypeOf<T>)) + ", " + std::to_string(lines) +
                           " lines of " + std::to_string(count);
  const size_t stride = lines + 3;
  std::vector<T> values = Shuffled<T>(count * stride);
  if constexpr (kIsFloat<T>) {
    for (T& x : values)
      if (!special && !(Value(x) < 0 || Value(x) > 0)) x = Element<T>(1.0);
  }
  const Room<T> in(values), sorted(values);
  const Room<int64_t> room(RoomWordsOfLines(count));
  const auto check = [&](const char* what, bool descending) {
    size_t same = 0;
    for (size_t l = 0; l < stride; ++l) {
      std::vector<T> line;
      for (size_t i = 0; i < count; ++i) line.push_back(values[i * stride + l]);
      const std::vector<int32_t> order = Ordered(line, descending, false);
      for (size_t i = 0; i < count; ++i) {
        const T want = l < lines ? line[static_cast<size_t>(order[i])] : line[i];
        same += std::memcmp(sorted(i * stride + l), &want, sizeof(T)) == 0;
      }
    }
    Expect(same == count * stride, what + (" of " + name));
  };
  const Line<const T> from{in(), Signed(stride)};
  const Line<T> to{sorted(), Signed(stride)};
  SortLines(from, count, to, lines, room());
  check("sort", false);
  SortLines<kDescending>(from, count, to, lines, room());
  check("sort downwards", true);
}

/// Sums of few small numbers, which are exact in any order, and extremes of what is likely to go
/// wrong.
template <typename T>
void CheckScans(size_t count) {
  const std::string name = std::string(Name(kDTypeOf<T>)) + " of " + std::to_string(count);
  std::vector<T> small;
  for (size_t i = 0; i < count; ++i) small.push_back(Element<T>(static_cast<int64_t>(i * 7 % 11)));
  const Room<T> in(small), out(count);
  const auto check = [&](const char* what, T start, auto next) {
    T value = start;
    for (size_t i = 0; i < count; ++i) {
      value = i == 0 ? small[0] : next(value, small[i]);
      if (!Same(*out(i), value)) return Expect(false, what + (" of " + name));
    }
    Expect(true, what);
  };
  const Line<const T> from{in(), 1};
  const Line<T> to{out(), 1};
  if constexpr (sizeof(T) >= 4) {
    CumsumLine(from, count, to);
    check("cumsum", T{0}, [](T a, T x) { return static_cast<T>(a + x); });
    for (size_t i = 0; i < count; ++i) *in(i) = small[i] = Element<T>(int64_t{i % 5 == 0 ? 2 : 1});
    if (count < 100) {
      CumprodLine(from, count, to);
      check("cumprod", T{1}, [](T a, T x) { return static_cast<T>(a * x); });
    }
  }
  small = Shuffled<T>(count);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (kIsFloat<T>)  // of two zeros either may be the larger, and of NaNs any
      if (Value(small[i]) == 0 || std::isnan(Value(small[i]))) small[i] = Element<T>(1.0);
    *in(i) = small[i];
  }
  CummaxLine(from, count, to);
  check("cummax", T{}, [](T a, T x) { return Less(a, x) ? x : a; });
  CumminLine(from, count, to);
  check("cummin", T{}, [](T a, T x) { return Less(x, a) ? x : a; });
  if (kIsFloat<T> && count > 2) {
    *in(count / 2) = Element<T>(std::nan(""));
    CummaxLine(from, count, to);
    for (size_t i = 0; i < count; ++i)
      Expect(std::isnan(static_cast<double>(Value(*out(i)))) == (i >= count / 2), "NaN of " + name);
  }
}

void TestLines() {
  ForEachType([](auto type) {
    using T = decltype(type);
    for (const size_t count : {0, 1, 2, 5, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 300, 1100}) {
      CheckLines<T>(Shuffled<T>(count), count % 3 == 0 ? 3 : 1);
      if constexpr (!std::is_same_v<T, bool>) CheckScans<T>(count);
    }
    for (const size_t count : {0, 1, 2, 3, 7, 9, 16, 25, 33, 64}) {
      for (const size_t lines : {0, 1, 15, 32, 37, 70}) {
        CheckSideBySide<T>(count, lines, false);
        if (kIsFloat<T> && lines < 40) CheckSideBySide<T>(count, lines, true);
      }
    }
    std::vector<T> rising = Shuffled<T>(400);  // each is among the largest so far
    std::stable_sort(rising.begin(), rising.end(), [](T a, T b) { return Less(a, b); });
    CheckLines<T>(rising, 1);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing {
HWY_EXPORT(TestLines);

TEST_CASE("lines are sorted, and scanned, as element by element") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestLines)(); }) == "");
}

}  // namespace kiln::lanes_testing
#endif
