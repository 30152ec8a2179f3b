#include "generator/interpret/tiles/functions.h"
#include "generator/interpret/tiles/map.h"
#include "tests/catch.h"
#include "tests/runtime/simd/lanes_testing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/runtime/simd/values_test.cc"
#include "hwy/foreach_target.h"
#include "kiln/math/math-inl.h"
#include "kiln/simd/lanes-inl.h"
#include "kiln/simd/values-inl.h"

#ifndef KILN_VALUES_TEST_ONCE
#define KILN_VALUES_TEST_ONCE
namespace kiln::lanes_testing::of_values {

/// Arguments of operations on three elements of T, as all combinations of a few.
template <typename T>
struct Arguments {
  std::vector<T> a, b, c;
  std::vector<std::string> texts;

  Arguments() {
    std::vector<T> some;
    const std::vector<T> all = Elements<T>(40);
    for (size_t i = 0; i<all.size(); i += all.size()> 150 ? 5 : 1) some.push_back(all[i]);
    if constexpr (!kIsFloat<T>) {
      for (const int x : {0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 63, 64, 65, 100}) {
        some.push_back(Element<T>(int64_t{x}));
        some.push_back(Element<T>(int64_t{-x}));
      }
      some.push_back(static_cast<T>(MinOf(kDTypeOf<T>)));
      some.push_back(static_cast<T>(MaxOf(kDTypeOf<T>)));
    }
    for (size_t i = 0; i < some.size(); ++i) {
      for (size_t k = 0; k < some.size(); ++k) {
        a.push_back(some[i]);
        b.push_back(some[k]);
        c.push_back(some[(i + 3 * k) % some.size()]);
        texts.push_back(Text<T>(a.back()) + ", " + Text<T>(b.back()));
      }
    }
  }
};

/// What the interpreter gives for op(a, b, c), and whether that is a value.
template <typename T, typename R>
std::vector<R> Interpreted(Op op, const Arguments<T>& in, std::vector<bool>& valid) {
  const interpret::Meaning& meaning = *interpret::MeaningOf(op, kDTypeOf<T>);
  std::vector<R> results;
  valid.clear();
  for (size_t i = 0; i < in.a.size(); ++i) {
    const auto a = Value(in.a[i]), b = Value(in.b[i]), c = Value(in.c[i]);
    const decltype(a)* args[] = {&a, &b, &c};
    if constexpr (kIsFloat<T> && kIsFloat<R>) {
      double y;
      meaning.floats(1, args, &y);
      results.push_back(static_cast<R>(y));
      valid.push_back(true);
    } else {
      int64_t y;
      if constexpr (kIsFloat<T>) {
        meaning.tests(1, args, &y);
        valid.push_back(true);
      } else {
        meaning.ints(1, args, &y);
        valid.push_back(!meaning.no_value || !meaning.no_value(b));
      }
      results.push_back(static_cast<R>(Wrap(y, kDTypeOf<R>)));
    }
  }
  return results;
}

}  // namespace kiln::lanes_testing::of_values
#endif

KILN_BEFORE_NAMESPACE();
namespace kiln::lanes_testing::of_values {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace kiln::HWY_NAMESPACE;  // NOLINT

/// f(a, b, c) against the interpreter, as vectors of both kinds of loops and as scalars.
template <typename R, typename T, class F>
void Check(Op op, const Arguments<T>& in, F f) {
  const std::string what = std::string(Name(op)) + " " + std::string(Name(kDTypeOf<T>));
  std::vector<bool> valid;
  const std::vector<R> want = Interpreted<T, R>(op, in, valid);
  const size_t count = want.size();
  const Room<T> a(in.a), b(in.b), c(in.c);
  const Room<R> out(count);
  const auto compare = [&](const std::string& how) {
    for (size_t i = 0; i < count; ++i) {
      if (!valid[i]) *out(i) = want[i];
    }
    ExpectSame<R>(how + what, out(), want, in.texts);
  };
  const auto run = [&](auto d) HWY_ATTR {
    const Whole<decltype(d)> at;
    for (size_t i = 0; i < count; i += at.lanes()) {
      at.Store(f(at.Load(a(i)), at.Load(b(i)), at.Load(c(i))), out(i));
    }
    compare("");
  };
  if constexpr (sizeof(T) < 8 && sizeof(R) < 8) run(kFloats);
  run(kDoubles);
  for (size_t i = 0; i < count; ++i) {
    const R y = f(*a(i), *b(i), *c(i));
    *out(i) = y;
  }
  compare("scalar ");
}

#define KILN_CHECK(op, R, expression)                        \
  Check<R>(Op::op, in, [](auto a, auto b, auto c) HWY_ATTR { \
    (void)a, (void)b, (void)c;                               \
    return expression;                                       \
  })

template <typename T>
void CheckCommon(const Arguments<T>& in) {
  KILN_CHECK(kLt, bool, Lt(a, b));
  KILN_CHECK(kLe, bool, Le(a, b));
  KILN_CHECK(kGt, bool, Gt(a, b));
  KILN_CHECK(kGe, bool, Ge(a, b));
  KILN_CHECK(kEq, bool, Eq(a, b));
  KILN_CHECK(kNe, bool, Ne(a, b));
  KILN_CHECK(kMax, T, Maximum(a, b));
  KILN_CHECK(kMin, T, Minimum(a, b));
  KILN_CHECK(kClamp, T, ClampTo(a, b, c));
  KILN_CHECK(kAbs, T, AbsOf(a));
  KILN_CHECK(kSign, T, Sign(a));
  KILN_CHECK(kNeg, T, Negate(a));
  KILN_CHECK(kRelu, T, Relu(a));
  KILN_CHECK(kAdd, T, AddOf(a, b));
  KILN_CHECK(kSub, T, SubOf(a, b));
  KILN_CHECK(kMul, T, MulOf(a, b));
  KILN_CHECK(kMod, T, Mod(a, b));
  KILN_CHECK(kRem, T, Rem(a, b));
  KILN_CHECK(kFloorDiv, T, FloorDiv(a, b));
}

template <typename T>
void CheckInteger() {
  const Arguments<T> in;
  CheckCommon(in);
  KILN_CHECK(kCeilDiv, T, CeilDiv(a, b));
  KILN_CHECK(kQuot, T, TruncDiv(a, b));
  KILN_CHECK(kPow, T, Pow(a, b));
  KILN_CHECK(kShl, T, Shl(a, b));
  KILN_CHECK(kShr, T, Shr(a, b));
  KILN_CHECK(kBitAnd, T, BitAnd(a, b));
  KILN_CHECK(kBitOr, T, BitOr(a, b));
  KILN_CHECK(kBitXor, T, BitXor(a, b));
  KILN_CHECK(kBitNot, T, BitNot(a));
}

template <typename T>
void CheckFloat() {
  const Arguments<T> in;
  CheckCommon(in);
  KILN_CHECK(kDiv, T, DivOf(a, b));
  KILN_CHECK(kFloor, T, FloorOf(a));
  KILN_CHECK(kCeil, T, CeilOf(a));
  KILN_CHECK(kRound, T, RoundEven(a));
  KILN_CHECK(kPow, T, Pow(a, b));
}

/// Shifts of all lanes by a scalar.
template <typename T>
void CheckScalarCounts() {
  const std::vector<T> values = Elements<T>(20);
  const std::vector<std::string> texts = Texts(values);
  const Room<T> in(values), out(values.size());
  for (const int32_t count : {0, 1, 5, 31, 32, 33, 63, 64, 100, -1, -100}) {
    const Whole<hn::ScalableTag<double>> at;
    std::vector<T> left, right;
    for (const T x : values) left.push_back(Shl(x, count)), right.push_back(Shr(x, count));
    for (size_t i = 0; i < values.size(); i += at.lanes()) {
      at.Store(Shl(at.Load(in(i)), count), out(i));
    }
    ExpectSame<T>("shl by " + std::to_string(count), out(), left, texts);
    for (size_t i = 0; i < values.size(); i += at.lanes()) {
      at.Store(Shr(at.Load(in(i)), count), out(i));
    }
    ExpectSame<T>("shr by " + std::to_string(count), out(), right, texts);
  }
}

/// Whether a quotient's last digit may differ from that of a division: in reach of what is not a
/// normal number.
template <typename T>
bool MayBeOff(T v, T quotient) {
  const T least = std::is_same_v<T, float> ? T(0x1p-100f) : T(0x1p-900);
  const T most = std::nextafter(std::numeric_limits<T>::max(), T{0});
  return std::fabs(v) < least || std::fabs(quotient) < least || std::fabs(quotient) > most;
}

/// Division of all lanes by a scalar.
template <typename T>
void CheckDivideBy() {
  const std::vector<T> values = Elements<T>(2000);
  const std::vector<std::string> texts = Texts(values);
  const Room<T> in(values), out(values.size());
  const Whole<hn::ScalableTag<T>> at;
  std::vector<T> want(values.size());
  for (const T divisor : Elements<T>(40)) {
    for (size_t i = 0; i < values.size(); i += at.lanes())
      at.Store(DivideBy(at.Load(in(i)), divisor), out(i));
    for (size_t i = 0; i < values.size(); ++i) {
      want[i] = values[i] / divisor;
      const T got = *out(i);
      const bool close = std::nextafter(want[i], got) == got;
      if (close && MayBeOff(values[i], want[i])) want[i] = got;
    }
    ExpectSame<T>("over " + Text<T>(divisor), out(), want, texts);
  }
}
void TestDivideBy() {
  CheckDivideBy<float>();
  CheckDivideBy<double>();
}

/// Select of every representation.
template <typename T>
void CheckSelect() {
  const std::vector<T> values = Elements<T>(20);
  const std::vector<std::string> texts = Texts(values);
  const size_t count = values.size() - 1;
  const Room<T> in(values), out(count);
  const Room<bool> mask(count);
  std::vector<T> want;
  for (size_t i = 0; i < count; ++i) {
    *mask(i) = i * i % 5 < 2;
    want.push_back(values[*mask(i) ? i : i + 1]);
  }
  const auto run = [&](auto d) HWY_ATTR {
    const Whole<decltype(d)> at;
    for (size_t i = 0; i < count; i += at.lanes()) {
      at.Store(Select(at.Load(mask(i)), at.Load(in(i)), at.Load(in(i + 1))), out(i));
    }
    ExpectSame<T>("select", out(), want, texts);
  };
  if constexpr (sizeof(T) < 8) run(kFloats);
  run(kDoubles);
}

void TestMasks() {
  const Arguments<bool> in;
  KILN_CHECK(kBitAnd, bool, BothOf(a, b));
  KILN_CHECK(kBitOr, bool, EitherOf(a, b));
  KILN_CHECK(kBitXor, bool, HWY_NAMESPACE::OneOf(a, b));
  KILN_CHECK(kBitNot, bool, NotOf(a));
  KILN_CHECK(kBitAnd, bool, BitAnd(a, b));
  KILN_CHECK(kBitOr, bool, BitOr(a, b));
  KILN_CHECK(kBitXor, bool, BitXor(a, b));
  KILN_CHECK(kBitNot, bool, BitNot(a));
  KILN_CHECK(kEq, bool, Eq(a, b));
  KILN_CHECK(kNe, bool, Ne(a, b));
  ForEachType([](auto type) { CheckSelect<decltype(type)>(); });
  CheckScalarCounts<int32_t>();
  CheckScalarCounts<uint32_t>();
  CheckScalarCounts<int64_t>();
}

void TestI32() { CheckInteger<int32_t>(); }
void TestU32() { CheckInteger<uint32_t>(); }
void TestI64() { CheckInteger<int64_t>(); }
void TestF32() { CheckFloat<float>(); }
void TestF64() { CheckFloat<double>(); }

#undef KILN_CHECK

}  // namespace HWY_NAMESPACE
}  // namespace kiln::lanes_testing::of_values
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::lanes_testing::of_values {
HWY_EXPORT(TestMasks);
HWY_EXPORT(TestI32);
HWY_EXPORT(TestU32);
HWY_EXPORT(TestI64);
HWY_EXPORT(TestF32);
HWY_EXPORT(TestF64);
HWY_EXPORT(TestDivideBy);

TEST_CASE("Operations on i32 are the interpreter's", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestI32)(); }) == "");
}
TEST_CASE("Operations on u32 are the interpreter's", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestU32)(); }) == "");
}
TEST_CASE("Operations on i64 are the interpreter's", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestI64)(); }) == "");
}
TEST_CASE("Operations on f32 are the interpreter's", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestF32)(); }) == "");
}
TEST_CASE("Operations on f64 are the interpreter's", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestF64)(); }) == "");
}
TEST_CASE("Division by the same scalar in all lanes is division", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestDivideBy)(); }) == "");
}
TEST_CASE("Operations on masks are the interpreter's", "[runtime]") {
  CHECK(OnEachTarget(HWY_TARGETS, [] { KILN_DISPATCH(TestMasks)(); }) == "");
}

}  // namespace kiln::lanes_testing::of_values
#endif
