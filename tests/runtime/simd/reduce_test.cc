#include "kiln/simd/nan_bits.h"
#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/reduce_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/simd/locate-inl.h"
#include "kiln/simd/reduce-inl.h"

#ifndef KILN_REDUCE_TEST_ONCE
#define KILN_REDUCE_TEST_ONCE
namespace kiln::lanes_testing::of_reduce {

constexpr size_t kMost = 150;

/// An element as the kernel's arithmetic sees it.
template <typename T>
Rep<T> Widened(T x) {
  return static_cast<Rep<T>>(Value(x));
}

/// Elements whose sums are exact and whose products do not overflow: small integers and halves.
template <typename T>
std::vector<T> Small(size_t count, int seed) {
  std::vector<T> values;
  std::mt19937 random(static_cast<unsigned>(seed));
  for (size_t i = 0; i < count; ++i) {
    const int64_t x = static_cast<int64_t>(random() % 19) - (std::is_unsigned_v<T> ? 0 : 9);
    if constexpr (kIsFloat<T>) {
      values.push_back(Element<T>(static_cast<double>(x) / 2));
    } else {
      values.push_back(Element<T>(x));
    }
  }
  return values;
}

/// The order in which sums are rounded, with vectors of n lanes: four chains of vectors, the rest
/// in the first of them, the last few elements in the second, and then the upper half onto the
/// lower.
inline float SumInOrder(const std::vector<float>& values, size_t count, size_t n) {
  std::vector<float> sums(4 * n, 0.0f);
  const size_t fourfold = count - count % (4 * n), end = count - count % n;
  for (size_t i = 0; i < count; ++i) {
    const size_t chain = i < fourfold ? i / n % 4 : i < end ? 0 : 1;
    sums[chain * n + i % n] = values[i] + sums[chain * n + i % n];
  }
  for (size_t k = 0; k < n; ++k)
    sums[k] = (sums[k] + sums[n + k]) + (sums[2 * n + k] + sums[3 * n + k]);
  for (size_t half = n / 2; half > 0; half /= 2) {
    for (size_t k = 0; k < half; ++k) sums[k] = sums[k] + sums[k + half];
  }
  return sums[0];
}

}  // namespace kiln::lanes_testing::of_reduce
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_reduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

template <typename T>
std::string Named(const char* what, size_t count) {
  return std::string(what) + " " + std::string(Name(kDTypeOf<T>)) + " " + std::to_string(count);
}

template <typename T, class D>
void CheckSums(D d, const std::vector<T>& values, size_t count) {
  using X = Rep<T>;
  const Room<T> in(values), out(count);
  // What is loaded is not 0 where a Part has no lanes.
  const auto plus_one = [&](auto at, size_t i)
                            HWY_ATTR { return AddOf(at.Load(in(i)), at.Splat(X{1})); };
  const auto load = [&](auto at, size_t i) HWY_ATTR { return at.Load(in(i)); };
  X sum{0}, product{1}, most = LowestElement<T>(), least = HighestElement<T>();
  const Room<T> running(count);
  X total{0};
  for (size_t i = 0; i < count; ++i) {
    const X x = Widened(values[i]);
    sum = AddOf(sum, AddOf(x, X{1}));
    product = MulOf(product, x);
    most = Maximum(x, most);
    least = Minimum(x, least);
    total = AddOf(total, x);
    *running(i) = Element<T>(Value(total));
  }
  Expect(Same(SumLanes<T>(d, count, plus_one), sum), Named<T>("sum", count));
  if (count < 20) Expect(Same(ProdLanes<T>(d, count, load), product), Named<T>("prod", count));
  Expect(Same(MaxLanes<T>(d, count, load), most), Named<T>("max", count));
  Expect(Same(MinLanes<T>(d, count, load), least), Named<T>("min", count));

  ScanLanes<T>(d, count, load, [&](auto at, size_t i, auto v) HWY_ATTR { at.Store(v, out(i)); });
  size_t same = 0;
  for (size_t i = 0; i < count; ++i) same += Same(*out(i), *running(i));
  Expect(same == count, Named<T>("scan", count));
}

// Limits of a dtype have these names, too.
template <typename T>
using MaxFold = kiln::HWY_NAMESPACE::MaxOf<T>;
template <typename T>
using MinFold = kiln::HWY_NAMESPACE::MinOf<T>;

/// Several folds of one pass are those that each alone gives, bit for bit, whatever the others are;
/// fn is called once for each element.
template <typename T, class D>
void CheckInOnePass(D d, const std::vector<T>& values, size_t count) {
  using X = Rep<T>;
  const Room<T> in(values);
  const auto load = [&](auto at, size_t i) HWY_ATTR { return at.Load(in(i)); };
  // Sums of these are rounded: only the same order gives the same bits.
  const auto third = [&](auto at, size_t i) HWY_ATTR {
    return MulOf(Cast<T, float>(at.Load(in(i))), at.Splat(1.0f / 3));
  };
  const auto number = [&](auto at, size_t i) HWY_ATTR { return at.Iota(static_cast<int32_t>(i)); };
  size_t called = 0;
  const auto folded = FoldLanes<SumOf<float>, MaxFold<T>, ProdOf<int32_t>, MinFold<T>>(
      d, count, [&](auto at, size_t i, auto fold) KILN_INLINE_ATTR {
        called += at.lanes();
        fold(third(at, i), load(at, i), number(at, i), load(at, i));
      });
  Expect(called == count, Named<T>("elements in one pass", count));
  std::vector<float> thirds;
  for (size_t i = 0; i < count; ++i)
    thirds.push_back(static_cast<float>(Widened(values[i])) * (1.0f / 3));
  const float sum = SumInOrder(thirds, count, hn::Lanes(d));
  Expect(Same(SumLanes<float>(d, count, third), sum), Named<T>("order of a sum", count));
  Expect(Same(std::get<0>(folded), sum), Named<T>("1st of 4", count));
  Expect(Same(std::get<1>(folded), MaxLanes<T>(d, count, load)), Named<T>("2nd of 4", count));
  Expect(std::get<2>(folded) == ProdLanes<int32_t>(d, count, number), Named<T>("3rd of 4", count));
  Expect(Same(std::get<3>(folded), MinLanes<T>(d, count, load)), Named<T>("4th of 4", count));

  const auto two =
      FoldLanes<MinFold<T>, SumOf<T>>(d, count, [&](auto at, size_t i, auto fold) KILN_INLINE_ATTR {
        const auto x = load(at, i);
        fold(x, AddOf(x, at.Splat(X{1})));
      });
  const auto plus_one = [&](auto at, size_t i)
                            HWY_ATTR { return AddOf(at.Load(in(i)), at.Splat(X{1})); };
  Expect(Same(std::get<0>(two), MinLanes<T>(d, count, load)), Named<T>("1st of 2", count));
  Expect(Same(std::get<1>(two), SumLanes<T>(d, count, plus_one)), Named<T>("2nd of 2", count));
}

/// What the interpreter locates: the first of the best, and a NaN before all others.
template <bool kLargest, typename T>
int32_t Locate(const std::vector<T>& values, size_t count) {
  int32_t at = -1;
  for (size_t i = 0; i < count; ++i) {
    const auto x = Value(values[i]);
    const auto best = Value(values[at < 0 ? i : static_cast<size_t>(at)]);
    const bool better = best == best && (x != x || (kLargest ? x > best : x < best));
    if (at < 0 || better) at = static_cast<int32_t>(i);
  }
  return at;
}

template <typename T, class D>
void CheckPositions(D d, const std::vector<T>& values, size_t count) {
  const Room<T> in(values);
  const auto load = [&](auto at, size_t i) HWY_ATTR { return at.Load(in(i)); };
  const auto largest = ArgmaxLanes<T>(d, count, load);
  const auto smallest = ArgminLanes<T>(d, count, load);
  const int32_t most = Locate<true>(values, count), least = Locate<false>(values, count);
  Expect(largest.index == most, Named<T>("argmax", count));
  Expect(smallest.index == least, Named<T>("argmin", count));
  if (count > 0) {
    Expect(Same(largest.value, Widened(values[static_cast<size_t>(most)])), Named<T>("max", count));
    Expect(Same(smallest.value, Widened(values[static_cast<size_t>(least)])),
           Named<T>("min", count));
  }
}

template <class D>
void CheckMasks(D d, size_t count) {
  const Room<bool> all(count), one(count), none(count);
  for (size_t i = 0; i < count; ++i) *all(i) = true;
  const auto load = [&](const Room<bool>& room) {
    return [&room](auto at, size_t i) HWY_ATTR { return at.Load(room(i)); };
  };
  // Lanes that are not in use hold where `fn` negates what it loads.
  const auto negated = [&](const Room<bool>& room) {
    return [&room](auto at, size_t i) HWY_ATTR { return NotOf(at.Load(room(i))); };
  };
  Expect(AllLanes(d, count, load(all)) && !AnyLanes(d, count, negated(all)), "all");
  Expect(!AnyLanes(d, count, load(none)) && AllLanes(d, count, negated(none)), "none");
  for (size_t i = 0; i < count; ++i) {
    *all(i) = false;
    *one(i) = true;
    Expect(AnyLanes(d, count, load(one)) && !AllLanes(d, count, load(all)), "one");
    *all(i) = true;
    *one(i) = false;
  }
}

/// The largest of sizes, by their bits.
template <typename T, class D>
void CheckSizes(D d, const std::vector<T>& values, size_t count) {
  if constexpr (kIsFloat<T> && sizeof(T) <= 4) {
    const Room<T> in(values);
    const auto size = [&](auto at, size_t i) HWY_ATTR { return AbsOf(at.Load(in(i))); };
    Expect(Same(MaxAbsLanes<T>(d, count, size), MaxLanes<T>(d, count, size)),
           Named<T>("largest size", count));
  }
}

template <typename T, class D>
void CheckAll(D d) {
  for (size_t count = 0; count <= kMost; count += count < 70 ? 1 : 13) {
    const std::vector<T> values = Small<T>(kMost, static_cast<int>(count));
    CheckSums<T>(d, values, count);
    CheckSizes<T>(d, values, count);
    CheckInOnePass<T>(d, values, count);
    CheckPositions<T>(d, values, count);
    if constexpr (kIsFloat<T>) {
      for (const size_t where : {count / 3, count / 2, count - 1}) {
        if (where >= count) continue;
        std::vector<T> with_nan = values;
        with_nan[where] = Element<T>(std::nan(""));
        CheckPositions<T>(d, with_nan, count);
        CheckInOnePass<T>(d, with_nan, count);
        CheckSizes<T>(d, with_nan, count);
        const Room<T> in(with_nan);
        const auto load = [&](auto at, size_t i) HWY_ATTR { return at.Load(in(i)); };
        Expect(std::isnan(MaxLanes<T>(d, count, load)) && std::isnan(MinLanes<T>(d, count, load)) &&
                   std::isnan(SumLanes<T>(d, count, load)),
               Named<T>("nan", count));
        // Nothing but infinities: the first of them.
        const std::vector<T> low(kMost, Element<T>(-std::numeric_limits<double>::infinity()));
        CheckPositions<T>(d, low, count);
      }
    }
  }
}

/// What a short row whose length the compiler knows is folded by, the first chain alone, gives the
/// bits of all four.
template <class Fold>
void CheckFirstChain(float first) {
  WithChains<Fold>(kFloats, [&](auto chains) KILN_INLINE_ATTR {
    for (int vectors = 1; vectors <= 3; ++vectors) {
      chains.AddAlone(hn::Iota(kFloats, first / static_cast<float>(vectors)));
      Expect(Same(chains.Total(), chains.TotalOfFirst()), Named<float>("first chain", 1));
    }
  });
}
void CheckFirstChains() {
  for (const float first : {-0.0f, 1.0f / 3, -7.5f, std::numeric_limits<float>::quiet_NaN()}) {
    CheckFirstChain<SumOf<float>>(first);
    CheckFirstChain<ProdOf<float>>(first);
    CheckFirstChain<MaxFold<float>>(first);
    CheckFirstChain<MinFold<float>>(first);
  }
}

/// Positions in rows of a length that the compiler knows, whatever is best and wherever it is.
template <size_t kCount>
void CheckKnownPlaces() {
  const auto check = [](const std::vector<float>& values) HWY_ATTR {
    const Room<float> in(values);
    const auto load = [&](auto at, size_t i) HWY_ATTR { return at.Load(in(i)); };
    const int32_t most = Locate<true>(values, kCount), least = Locate<false>(values, kCount);
    const auto look = [&](const auto& largest, const auto& smallest) {
      Expect(largest.index == most && smallest.index == least &&
                 Same(largest.value, values[static_cast<size_t>(most)]) &&
                 Same(smallest.value, values[static_cast<size_t>(least)]),
             Named<float>("known place", kCount));
    };
    look(ArgmaxLanes<float>(kFloats, kCount, load), ArgminLanes<float>(kFloats, kCount, load));
#if !HWY_HAVE_SCALABLE
    // Without optimization no number is known.
    if (kCount > kFewVectors * hn::Lanes(kFloats)) return;
    look(LocateInFew<true, float>(kFloats, kCount, load),
         LocateInFew<false, float>(kFloats, kCount, load));
#endif
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float all : {0.5f, kInfinity, -kInfinity}) {
    std::vector<float> values(kCount, all);
    check(values);
    for (size_t i = 0; i < kCount; ++i) {
      for (const float one : {1.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
        values[i] = one;
        check(values);
        values[kCount - 1 - i] = one;
        check(values);
        values[i] = values[kCount - 1 - i] = all;
      }
    }
  }
}

/// The bits of the one NaN of a row are those of its largest and smallest element: marks of what
/// is undefined live on that.
void CheckMarks(size_t count) {
  const auto bits_of = [](float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
  };
  constexpr uint32_t kMark = 0x7FE50000;
  float mark;
  std::memcpy(&mark, &kMark, sizeof mark);
  const Room<float> in(Small<float>(count, 1));
  const auto load = [&](auto at, size_t i) HWY_ATTR { return at.Load(in(i)); };
  for (size_t i = 0; i < count && internal::KeepsNanBits(); ++i) {
    const float before = *in(i);
    *in(i) = mark;
    Expect(bits_of(MaxLanes<float>(kFloats, count, load)) == kMark &&
               bits_of(MinLanes<float>(kFloats, count, load)) == kMark,
           Named<float>("mark", count));
    *in(i) = before;
  }
}

void TestReduce() {
  CheckFirstChains();
  CheckKnownPlaces<1>();
  CheckKnownPlaces<7>();
  CheckKnownPlaces<16>();
  CheckKnownPlaces<40>();
  CheckKnownPlaces<64>();
  CheckKnownPlaces<100>();
  CheckKnownPlaces<129>();
  ForEachType([](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, bool>) {
      // Small and unsigned elements are also those of sums that wrap, but not here.
      if constexpr (sizeof(T) < 8) CheckAll<T>(kFloats);
      CheckAll<T>(kDoubles);
    }
  });
  for (size_t count = 0; count <= 40; ++count) {
    CheckMasks(kFloats, count);
    CheckMasks(kDoubles, count);
  }
  for (const size_t count : {1, 5, 16, 64, 75, 150}) CheckMarks(count);
}

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_reduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_reduce {
HWY_EXPORT(TestReduce);

TEST_CASE("Reductions along lanes", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestReduce)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_reduce
#endif
