#include "generator/interpret/tiles/functions.h"

#include <cmath>

#include "generator/interpret/tiles/map.h"
#include "tests/interpret/tiles.h"

namespace kiln::interpret {
namespace {

using testing::kInf;
using testing::kNaN;
constexpr OriginId kNoValue = 1;

Scalar Call(Op op, DType dtype, DType result, const std::array<Scalar, 3>& args) {
  const Meaning* meaning = MeaningOf(op, dtype);
  REQUIRE(meaning);
  return MapScalars(*meaning, dtype, result, /*wide=*/false, args, kNoValue);
}

double F(Op op, double a, double b = 0, double c = 0, DType dtype = DType::kF32) {
  return Call(op, dtype, dtype, {Scalar{a, 0, 0}, Scalar{b, 0, 0}, Scalar{c, 0, 0}}).f;
}

int64_t I(Op op, int64_t a, int64_t b = 0, int64_t c = 0, DType dtype = DType::kI32) {
  const Scalar result = Call(op, dtype, dtype, {Scalar{0, a, 0}, Scalar{0, b, 0}, Scalar{0, c, 0}});
  CHECK(result.origin == kDefined);
  return result.i;
}

bool HasNoValue(Op op, int64_t a, int64_t b, DType dtype = DType::kI32) {
  const Scalar result = Call(op, dtype, dtype, {Scalar{0, a, 0}, Scalar{0, b, 0}, Scalar{}});
  return result.origin == kNoValue;
}

bool Near(double got, double want) { return std::fabs(got - want) <= 1e-14 * std::fabs(want); }

TEST_CASE("integers wrap to their dtype") {
  CHECK(I(Op::kAdd, INT32_MAX, 1) == INT32_MIN);
  CHECK(I(Op::kSub, INT32_MIN, 1) == INT32_MAX);
  CHECK(I(Op::kMul, 65536, 65536) == 0);
  CHECK(I(Op::kMul, UINT32_MAX, UINT32_MAX, 0, DType::kU32) == 1);
  CHECK(I(Op::kNeg, INT32_MIN) == INT32_MIN);
  CHECK(I(Op::kAbs, INT32_MIN) == INT32_MIN);
  CHECK(I(Op::kSub, 0, 1, 0, DType::kU32) == UINT32_MAX);
  CHECK(I(Op::kAdd, INT64_MAX, 1, 0, DType::kI64) == INT64_MIN);
  CHECK(I(Op::kMul, INT64_MIN, -1, 0, DType::kI64) == INT64_MIN);
}

TEST_CASE("// floors, % has the divisor's sign, rem and quot truncate, cdiv rounds up") {
  CHECK(I(Op::kFloorDiv, 7, 2) == 3);
  CHECK(I(Op::kFloorDiv, -7, 2) == -4);
  CHECK(I(Op::kFloorDiv, 7, -2) == -4);
  CHECK(I(Op::kFloorDiv, -7, -2) == 3);
  CHECK(I(Op::kMod, 7, 3) == 1);
  CHECK(I(Op::kMod, -7, 3) == 2);
  CHECK(I(Op::kMod, 7, -3) == -2);
  CHECK(I(Op::kMod, -7, -3) == -1);
  CHECK(I(Op::kRem, -7, 3) == -1);
  CHECK(I(Op::kRem, 7, -3) == 1);
  CHECK(I(Op::kQuot, -7, 2) == -3);
  CHECK(I(Op::kQuot, 7, -2) == -3);
  CHECK(I(Op::kQuot, -7, -2) == 3);
  CHECK(I(Op::kQuot, INT32_MIN, -1) == INT32_MIN);
  CHECK(I(Op::kCeilDiv, 7, 2) == 4);
  CHECK(I(Op::kCeilDiv, -7, 2) == -3);
  CHECK(I(Op::kCeilDiv, 8, 2) == 4);
  CHECK(I(Op::kFloorDiv, INT32_MIN, -1) == INT32_MIN);
  CHECK(I(Op::kFloorDiv, INT64_MIN, -1, 0, DType::kI64) == INT64_MIN);
  CHECK(I(Op::kMod, INT64_MIN, -1, 0, DType::kI64) == 0);
}

TEST_CASE("x // 0 and negative powers have no value") {
  for (const Op op : {Op::kFloorDiv, Op::kMod, Op::kRem, Op::kQuot, Op::kCeilDiv}) {
    CHECK(HasNoValue(op, 5, 0));
    CHECK(HasNoValue(op, 0, 0));
    CHECK(!HasNoValue(op, 0, 5));
  }
  CHECK(HasNoValue(Op::kPow, 2, -1));
  CHECK(I(Op::kPow, 2, 0) == 1);
  CHECK(I(Op::kPow, 0, 0) == 1);
  CHECK(I(Op::kPow, -3, 3) == -27);
  CHECK(I(Op::kPow, 3, 40) == static_cast<int32_t>(12157665459056928801ull));
}

TEST_CASE("shifts past the width give 0 or the sign") {
  CHECK(I(Op::kShl, 1, 31) == INT32_MIN);
  CHECK(I(Op::kShl, 1, 32) == 0);
  CHECK(I(Op::kShl, 1, 100) == 0);
  CHECK(I(Op::kShr, -8, 1) == -4);
  CHECK(I(Op::kShr, -8, 32) == -1);
  CHECK(I(Op::kShr, -8, 100) == -1);
  CHECK(I(Op::kShr, 8, 100) == 0);
  CHECK(I(Op::kShr, UINT32_MAX, 31, 0, DType::kU32) == 1);
  CHECK(I(Op::kShr, UINT32_MAX, 32, 0, DType::kU32) == 0);
  CHECK(I(Op::kShl, 1, 63, 0, DType::kI64) == INT64_MIN);
  CHECK(I(Op::kShl, 1, 64, 0, DType::kI64) == 0);
  CHECK(I(Op::kShr, INT64_MIN, 64, 0, DType::kI64) == -1);
  CHECK(I(Op::kShl, 1, -1) == 0);
  CHECK(I(Op::kShr, -1, -1) == -1);
}

TEST_CASE("bit operations of bools stay bool") {
  CHECK(I(Op::kBitNot, 1, 0, 0, DType::kBool) == 0);
  CHECK(I(Op::kBitNot, 0, 0, 0, DType::kBool) == 1);
  CHECK(I(Op::kBitXor, 1, 1, 0, DType::kBool) == 0);
  CHECK(I(Op::kBitNot, 5) == -6);
  CHECK(I(Op::kBitNot, 0, 0, 0, DType::kU32) == UINT32_MAX);
}

TEST_CASE("f32 arithmetic rounds once, f64 not at all") {
  CHECK(F(Op::kAdd, 16777216, 1) == 16777216);
  CHECK(F(Op::kAdd, 16777216, 1, 0, DType::kF64) == 16777217);
  CHECK(F(Op::kDiv, 1, 3) == static_cast<double>(1.0f / 3.0f));
  CHECK(F(Op::kMul, 1e38, 10) == kInf);
  CHECK(F(Op::kMul, 1e-40, 1) == static_cast<double>(1e-40f));
}

TEST_CASE("floats divide as numpy has it") {
  CHECK(F(Op::kDiv, 1, 0) == kInf);
  CHECK(F(Op::kFloorDiv, -7, 2) == -4);
  CHECK(F(Op::kFloorDiv, 1, 0.1f) == 9);
  CHECK(F(Op::kFloorDiv, 1, 0) == kInf);
  CHECK(std::isnan(F(Op::kFloorDiv, 0, 0)));
  CHECK(F(Op::kMod, -7, 3) == 2);
  CHECK(F(Op::kMod, 7, -3) == -2);
  CHECK(F(Op::kRem, -7, 3) == -1);
  CHECK(std::isnan(F(Op::kMod, 1, 0)));
}

TEST_CASE("max and min propagate NaN") {
  for (const Op op : {Op::kMax, Op::kMin}) {
    CHECK(std::isnan(F(op, kNaN, 1)));
    CHECK(std::isnan(F(op, 1, kNaN)));
  }
  CHECK(F(Op::kMax, -kInf, 1) == 1);
  CHECK(F(Op::kMin, -kInf, 1) == -kInf);
  CHECK(std::isnan(F(Op::kClamp, kNaN, 0, 1)));
  CHECK(F(Op::kClamp, 5, 0, 1) == 1);
  CHECK(F(Op::kClamp, -5, 0, 1) == 0);
  CHECK(I(Op::kClamp, 5, 0, 1) == 1);
  CHECK(std::isnan(F(Op::kRelu, kNaN)));
  CHECK(F(Op::kRelu, -1) == 0);
}

TEST_CASE("elementwise functions") {
  CHECK(F(Op::kSign, -2) == -1);
  CHECK(std::isnan(F(Op::kSign, kNaN)));
  CHECK(F(Op::kRound, 0.5) == 0);
  CHECK(F(Op::kRound, 1.5) == 2);
  CHECK(F(Op::kRound, -2.5) == -2);
  CHECK(F(Op::kFloor, -0.5) == -1);
  CHECK(F(Op::kCeil, 0.5) == 1);
  CHECK(F(Op::kSigmoid, 0) == 0.5);
  CHECK(F(Op::kSigmoid, -1000) == 0);
  CHECK(F(Op::kRsqrt, 4) == 0.5);
  CHECK(F(Op::kExp2, 10) == 1024);
  CHECK(F(Op::kLog2, 1024) == 10);
  CHECK(F(Op::kPow, 2, 0.5) == static_cast<float>(std::sqrt(2.0)));
  // By their definitions, in Python.
  CHECK(Near(F(Op::kGelu, 1.5, 0, 0, DType::kF64), 1.399789198096713));
  CHECK(Near(F(Op::kGeluTanh, 1.5, 0, 0, DType::kF64), 1.3995715769802328));
  CHECK(Near(F(Op::kSilu, 1.5, 0, 0, DType::kF64), 1.2263617142904655));
  CHECK(Near(F(Op::kGelu, -10, 0, 0, DType::kF64), -7.619853024160593e-23));
}

TEST_CASE("comparisons with NaN are false, except !=") {
  const auto test = [](Op op, double a, double b) {
    return Call(op, DType::kF32, DType::kBool, {Scalar{a, 0, 0}, Scalar{b, 0, 0}, Scalar{}}).i;
  };
  CHECK(test(Op::kLt, 1, 2) == 1);
  CHECK(test(Op::kLt, kNaN, 2) == 0);
  CHECK(test(Op::kGe, kNaN, 2) == 0);
  CHECK(test(Op::kEq, kNaN, kNaN) == 0);
  CHECK(test(Op::kNe, kNaN, kNaN) == 1);
}

TEST_CASE("casts") {
  const auto to_int = [](double x, DType dtype) {
    return CastScalar({x, 0, 0}, DType::kF32, dtype, false).i;
  };
  CHECK(to_int(2.9, DType::kI32) == 2);
  CHECK(to_int(-2.9, DType::kI32) == -2);
  CHECK(to_int(1e20, DType::kI32) == INT32_MAX);
  CHECK(to_int(-1e20, DType::kI32) == INT32_MIN);
  CHECK(to_int(-1, DType::kU8) == 0);
  CHECK(to_int(300, DType::kI8) == 127);
  CHECK(to_int(1e30, DType::kI64) == INT64_MAX);
  CHECK(to_int(kNaN, DType::kI32) == 0);
  CHECK(to_int(0.5, DType::kBool) == 1);
  CHECK(CastScalar({0, 300, 0}, DType::kI32, DType::kI8, false).i == 44);
  CHECK(CastScalar({0, -1, 0}, DType::kI32, DType::kU32, false).i == UINT32_MAX);
  CHECK(CastScalar({0, 2, 0}, DType::kI32, DType::kBool, false).i == 1);
  // By way of double this would round twice, to ...896.
  CHECK(CastScalar({0, 9007199791611905, 0}, DType::kI64, DType::kF32, false).f ==
        9007200328482816.0);
  CHECK(CastScalar({1 + 0x1p-8, 0, 0}, DType::kF32, DType::kBF16, false).f == 1);
  CHECK(CastScalar({1 + 0x1p-8, 0, 0}, DType::kF32, DType::kBF16, /*wide=*/true).f == 1 + 0x1p-8);
  CHECK(CastScalar({1 + 3 * 0x1p-8, 0, 0}, DType::kF32, DType::kBF16, false).f == 1 + 0x1p-6);
}

TEST_CASE("bitcasts keep the bits") {
  CHECK(BitcastScalar({1.0, 0, 0}, DType::kF32, DType::kI32).i == 0x3F800000);
  CHECK(BitcastScalar({-0.0, 0, 0}, DType::kF32, DType::kI32).i == INT32_MIN);
  CHECK(BitcastScalar({-0.0, 0, 0}, DType::kF32, DType::kU32).i == 0x80000000);
  CHECK(BitcastScalar({0, 0x40490FDB, 0}, DType::kI32, DType::kF32).f == 3.14159274101257324);
  CHECK(BitcastScalar({0, -1, 0}, DType::kI8, DType::kU8).i == 255);
  CHECK(BitcastScalar({0, 255, 0}, DType::kU8, DType::kI8).i == -1);
  CHECK(BitcastScalar({1.0, 0, 0}, DType::kBF16, DType::kI16).i == 0x3F80);
  CHECK(BitcastScalar({1.0, 0, 0}, DType::kF64, DType::kI64).i == 0x3FF0000000000000);
}

TEST_CASE("index arithmetic overflows") {
  CHECK(Overflows(Op::kAdd, INT64_MAX, 1));
  CHECK(!Overflows(Op::kAdd, INT64_MAX, 0));
  CHECK(Overflows(Op::kSub, INT64_MIN, 1));
  CHECK(Overflows(Op::kMul, INT64_MAX / 2, 3));
  CHECK(Overflows(Op::kNeg, INT64_MIN, 0));
  CHECK(Overflows(Op::kFloorDiv, INT64_MIN, -1));
  CHECK(Overflows(Op::kShl, 1, 63));
  CHECK(!Overflows(Op::kShl, 1, 62));
  CHECK(Overflows(Op::kPow, 2, 63));
  CHECK(!Overflows(Op::kPow, 2, 62));
  CHECK(!Overflows(Op::kPow, -1, INT64_MAX));
}

TEST_CASE("every operation of elements has a meaning") {
  for (const Operation& row : AllOperations()) {
    const bool own = ClassOf(row.op) == OpClass::kSpecial;
    INFO(row.name);
    const bool of_floats = MeaningOf(row.op, DType::kF32) != nullptr;
    const bool of_integers = MeaningOf(row.op, DType::kI32) != nullptr;
    CHECK((of_floats || of_integers) == (IsElementwise(row.op) && !own));
    if (row.call == CallRule::kFloats) CHECK(of_floats);
    if (row.call == CallRule::kIntegers) CHECK(of_integers);
    if (row.call == CallRule::kNumber || IsComparison(row.op)) CHECK((of_floats && of_integers));
  }
}

TEST_CASE("softplus is log(1 + exp(x)) where that overflows, too") {
  CHECK(F(Op::kSoftplus, 0, 0, 0, DType::kF64) == std::log(2.0));
  CHECK(Near(F(Op::kSoftplus, 1, 0, 0, DType::kF64), 1.3132616875182228));
  CHECK(Near(F(Op::kSoftplus, -40, 0, 0, DType::kF64), 4.248354255291589e-18));
  CHECK(F(Op::kSoftplus, 1e300, 0, 0, DType::kF64) == 1e300);
  CHECK(F(Op::kSoftplus, kInf) == kInf);
  CHECK(F(Op::kSoftplus, -kInf) == 0);
  CHECK(std::isnan(F(Op::kSoftplus, kNaN)));
}

TEST_CASE("atan2 knows its quadrant by the signs of zeros, too") {
  constexpr double kPi = 3.141592653589793;
  const auto angle = [](double y, double x) { return F(Op::kAtan2, y, x, 0, DType::kF64); };
  CHECK(angle(1, 1) == kPi / 4);
  CHECK(angle(1, -1) == 3 * kPi / 4);
  CHECK(angle(-1, -1) == -3 * kPi / 4);
  CHECK(angle(-1, 0) == -kPi / 2);
  CHECK(angle(0.0, -0.0) == kPi);
  CHECK(angle(-0.0, -0.0) == -kPi);
  CHECK(std::signbit(angle(-0.0, 1)));
  CHECK(angle(kInf, -kInf) == 3 * kPi / 4);
  CHECK(angle(-1, kInf) == 0);
  CHECK(std::isnan(angle(kNaN, 1)));
  CHECK(std::isnan(angle(kInf, kNaN)));
}

}  // namespace
}  // namespace kiln::interpret
