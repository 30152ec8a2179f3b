#include <limits>

#include "generator/bind/bind.h"
#include "tests/catch.h"
#include "tests/ir/kernel_builder.h"

namespace kiln::evaluate_test {
namespace {

using namespace build;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

EvalResult Run(const NodePtr& node) { return Evaluate(*node, Binding(), nullptr); }

int64_t Value(const NodePtr& node) {
  const EvalResult result = Run(node);
  CHECK(result.fault == EvalFault::kNone);
  return result.value;
}

int64_t Index(Op op, int64_t a, int64_t b) { return Value(Do(op, {Int(a), Int(b)})); }
EvalFault Fault(Op op, int64_t a, int64_t b) { return Run(Do(op, {Int(a), Int(b)})).fault; }

int64_t Body(Op op, DType dtype, int64_t a, int64_t b) {
  return Value(Do(op, dtype, {Int(a, dtype), Int(b, dtype)}));
}

TEST_CASE("Division floors, rem and quot truncate, cdiv rounds up") {
  struct Row {
    int64_t a, b, floor, ceil, mod, rem;
  };
  const Row rows[] = {{7, 2, 3, 4, 1, 1},     {-7, 2, -4, -3, 1, -1}, {7, -2, -4, -3, -1, 1},
                      {-7, -2, 3, 4, -1, -1}, {6, 3, 2, 2, 0, 0},     {-6, 3, -2, -2, 0, 0},
                      {0, -5, 0, 0, 0, 0},    {5, -1, -5, -5, 0, 0}};
  for (const Row& r : rows) {
    CAPTURE(r.a, r.b);
    CHECK(Index(Op::kFloorDiv, r.a, r.b) == r.floor);
    CHECK(Index(Op::kCeilDiv, r.a, r.b) == r.ceil);
    CHECK(Index(Op::kMod, r.a, r.b) == r.mod);
    CHECK(Index(Op::kRem, r.a, r.b) == r.rem);
    CHECK(Index(Op::kQuot, r.a, r.b) * r.b + r.rem == r.a);
  }
  for (const Op op : {Op::kFloorDiv, Op::kCeilDiv, Op::kMod, Op::kRem, Op::kQuot}) {
    CHECK(Fault(op, 1, 0) == EvalFault::kDivideByZero);
  }
}

TEST_CASE("Index arithmetic is checked for overflow") {
  CHECK(Fault(Op::kAdd, kMax, 1) == EvalFault::kOverflow);
  CHECK(Fault(Op::kSub, kMin, 1) == EvalFault::kOverflow);
  CHECK(Fault(Op::kMul, kMax, 2) == EvalFault::kOverflow);
  CHECK(Fault(Op::kFloorDiv, kMin, -1) == EvalFault::kOverflow);
  CHECK(Fault(Op::kCeilDiv, kMin, -1) == EvalFault::kOverflow);
  CHECK(Fault(Op::kQuot, kMin, -1) == EvalFault::kOverflow);
  CHECK(Index(Op::kMod, kMin, -1) == 0);
  CHECK(Index(Op::kRem, kMin, -1) == 0);
  CHECK(Run(Do(Op::kNeg, {Int(kMin)})).fault == EvalFault::kOverflow);
  CHECK(Run(Do(Op::kAbs, {Int(kMin)})).fault == EvalFault::kOverflow);
  CHECK(Fault(Op::kPow, 10, 19) == EvalFault::kOverflow);
  CHECK(Index(Op::kPow, 10, 18) == 1000000000000000000);
  CHECK(Index(Op::kPow, -2, 63) == kMin);
  CHECK(Index(Op::kPow, 1, kMax) == 1);
  CHECK(Index(Op::kPow, 0, 0) == 1);
  CHECK(Fault(Op::kPow, 2, -1) == EvalFault::kDivideByZero);
  CHECK(Index(Op::kShl, 1, 62) == int64_t{1} << 62);
  CHECK(Fault(Op::kShl, 1, 63) == EvalFault::kOverflow);
  CHECK(Fault(Op::kShl, 1, 64) == EvalFault::kOverflow);
  CHECK(Index(Op::kShl, 0, 100) == 0);
  CHECK(Index(Op::kShr, -8, 1) == -4);
  CHECK(Index(Op::kShr, -8, 100) == -1);
}

TEST_CASE("Other integers wrap to their type") {
  CHECK(Body(Op::kAdd, DType::kI32, 2147483647, 1) == -2147483648);
  CHECK(Body(Op::kMul, DType::kU32, 65536, 65536) == 0);
  CHECK(Body(Op::kSub, DType::kU32, 0, 1) == 4294967295);
  CHECK(Body(Op::kAdd, DType::kI64, kMax, 1) == kMin);
  CHECK(Body(Op::kFloorDiv, DType::kI32, -2147483648, -1) == -2147483648);
  CHECK(Body(Op::kFloorDiv, DType::kI64, kMin, -1) == kMin);
  CHECK(Body(Op::kShl, DType::kI32, 1, 31) == -2147483648);
  CHECK(Body(Op::kShl, DType::kI32, 1, 40) == 0);
  CHECK(Body(Op::kShr, DType::kU32, 4294967295, 31) == 1);
  CHECK(Body(Op::kShr, DType::kI32, -5, 40) == -1);
  CHECK(Value(Do(Op::kBitNot, DType::kU32, {Int(0, DType::kU32)})) == 4294967295);
  CHECK(Value(Do(Op::kBitNot, DType::kBool, {Bool(true)})) == 0);
  CHECK(Value(Do(Op::kCast, DType::kI8, {Int(300, DType::kI32)})) == 44);
  CHECK(Value(Do(Op::kCast, DType::kBool, {Int(2, DType::kI32)})) == 1);
  CHECK(Value(Do(Op::kCast, DType::kI32, {Int(int64_t{1} << 33)})) == 0);
}

TEST_CASE("Choice, bounds and bits") {
  CHECK(Index(Op::kMax, 3, -4) == 3);
  CHECK(Index(Op::kMin, 3, -4) == -4);
  CHECK(Value(Do(Op::kClamp, {Int(9), Int(0), Int(5)})) == 5);
  CHECK(Value(Do(Op::kClamp, {Int(-9), Int(0), Int(5)})) == 0);
  CHECK(Value(Do(Op::kSign, {Int(-9)})) == -1);
  CHECK(Index(Op::kBitAnd, 12, 10) == 8);
  CHECK(Index(Op::kBitOr, 12, 10) == 14);
  CHECK(Index(Op::kBitXor, 12, 10) == 6);
  CHECK(Value(Do(Op::kNot, {Bool(false)})) == 1);
  CHECK(Value(Do(Op::kLt, {Int(1), Int(2)})) == 1);
  CHECK(Value(Do(Op::kNe, {Int(2), Int(2)})) == 0);
}

TEST_CASE("if, and, or evaluate what they need; where evaluates everything") {
  const NodePtr trap = Do(Op::kFloorDiv, {Int(1), Int(0)});
  const NodePtr overflow = Do(Op::kAdd, {Int(kMax), Int(1)});
  const NodePtr bad = Do(Op::kEq, {trap, Int(0)});
  CHECK(Value(Do(Op::kIf, {Bool(true), Int(4), overflow})) == 4);
  CHECK(Value(Do(Op::kIf, {Bool(false), overflow, Int(5)})) == 5);
  CHECK(Value(Do(Op::kAnd, {Bool(false), bad})) == 0);
  CHECK(Value(Do(Op::kOr, {Bool(true), bad})) == 1);
  CHECK(Run(Do(Op::kAnd, {Bool(true), bad})).fault == EvalFault::kDivideByZero);
  CHECK(Run(Do(Op::kOr, {Bool(false), bad})).fault == EvalFault::kDivideByZero);
  CHECK(Run(Do(Op::kWhere, {Bool(true), Int(4), overflow})).fault == EvalFault::kOverflow);
  // An undefined value is discarded.
  CHECK(Value(Do(Op::kWhere, {Bool(true), Int(4), trap})) == 4);
  CHECK(Run(Do(Op::kWhere, {Bool(false), Int(4), trap})).fault == EvalFault::kDivideByZero);
}

TEST_CASE("Axes, steps and dims") {
  KernelBuilder b;
  const NodePtr m = b.AddDim("m");
  const NodePtr n = b.AddDim("n");
  Binding binding;
  binding.kernel = &b.kernel;
  binding.dims = {10, std::nullopt};
  binding.steps = {3, 4};
  const int64_t axes[] = {2, 1};
  const auto at = [&](const NodePtr& node) { return Evaluate(*node, binding, axes); };
  CHECK(at(Axis_(0)).value == 2);
  CHECK(at(Steps_(1)).value == 4);
  CHECK(at(m).value == 10);
  CHECK(at(n).fault == EvalFault::kUnknown);
  CHECK(at(Node_(Op::kFirstStep, DType::kBool, {}, 0)).value == 0);
  CHECK(at(Node_(Op::kLastStep, DType::kBool, {}, 0)).value == 1);
  CHECK(at(Node_(Op::kLastStep, DType::kBool, {}, 1)).value == 0);
  CHECK(at(Node_(Op::kFirstVisit, DType::kBool, {}, 0)).fault == EvalFault::kUnknown);
  CHECK(Evaluate(*Axis_(0), binding, nullptr).fault == EvalFault::kUnknown);
  CHECK(Evaluate(*Steps_(0), Binding(), nullptr).fault == EvalFault::kUnknown);
}

TEST_CASE("Reads of prefetch arrays and scalars") {
  KernelBuilder b;
  const Array table = Ints({2, 3}, {1, 2, 3, 4, 5, 6}, DType::kI16);
  const Array mask = Ints({2}, {0, 1}, DType::kBool);
  const Array scale = FloatScalar(0.5);
  Binding binding;
  binding.kernel = &b.kernel;
  binding.host = {&table, &mask, &scale, nullptr};
  const auto at = [&](const NodePtr& node) { return Evaluate(*node, binding, nullptr); };
  CHECK(at(Read(0, {Int(1), Int(2)})).value == 6);
  CHECK(at(Read(1, {Int(1)}, DType::kBool)).value == 1);
  const EvalResult outside = at(Do(Op::kAdd, {Int(1), Read(0, {Int(1), Int(3)})}));
  CHECK(outside.fault == EvalFault::kHostRange);
  CHECK(outside.ref == 0);
  CHECK(outside.at == 3);
  CHECK(outside.extent == 3);
  CHECK(outside.dimension == 1);
  CHECK(at(Read(0, {Int(-1), Int(0)})).fault == EvalFault::kHostRange);
  CHECK(at(Read(0)).fault == EvalFault::kUnknown);
  CHECK(at(Read(3)).fault == EvalFault::kUnknown);
  // Subscripts are values too.
  CHECK(at(Read(0, {Int(0), Read(0, {Int(0), Int(1)})})).value == 3);
}

TEST_CASE("Float scalars in conditions") {
  const Array scale = FloatScalar(0.1);
  Binding binding;
  binding.host = {&scale};
  const NodePtr read = Read(0, {}, DType::kF32);
  const auto at = [&](const NodePtr& node) { return Evaluate(*node, binding, nullptr); };
  CHECK(at(Do(Op::kGt, {read, Float(0)})).value == 1);
  CHECK(at(Do(Op::kEq, {read, Float(0.1f)})).value == 1);
  CHECK(at(Do(Op::kEq, {Do(Op::kAdd, DType::kF32, {read, read}), Float(0.2f)})).value == 1);
  CHECK(at(Do(Op::kLt, {read, Do(Op::kCast, DType::kF32, {Int(1)})})).value == 1);
  CHECK(at(Do(Op::kCast, DType::kI32, {Do(Op::kMul, DType::kF32, {read, Float(25)})})).value == 2);
  CHECK(at(read).fault == EvalFault::kUnknown);
  const NodePtr nan = Float(std::numeric_limits<double>::quiet_NaN());
  CHECK(at(Do(Op::kLe, {nan, nan})).value == 0);
  CHECK(at(Do(Op::kNe, {nan, nan})).value == 1);
  CHECK(at(Do(Op::kGt, {Do(Op::kExp, DType::kF32, {read}), Float(0)})).fault ==
        EvalFault::kUnknown);
}

}  // namespace
}  // namespace kiln::evaluate_test
