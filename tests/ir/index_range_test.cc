#include "generator/ir/index_range.h"

#include "tests/catch.h"
#include "tests/ir/kernel_builder.h"

namespace kiln::index_range_test {
namespace {

using namespace build;

IndexRange AnyLocal(LocalId) { return AnyIndex(); }

/// Elements of host arrays, as index maps have them.
struct Indices {
  KernelBuilder b;
  NodePtr n = b.AddDim("n");
  NodePtr small = Element("small", DType::kU8), id = Element("id", DType::kI32),
          wide = Element("wide", DType::kI64);

  NodePtr Element(const std::string& name, DType dtype) {
    return Read(b.AddRef(name, Role::kPrefetch, dtype, {n}), {Int(0)});
  }
  bool Overflows(const NodePtr& node) const { return MayOverflow(*node, b.kernel, AnyLocal); }
  std::pair<int64_t, int64_t> Range(const NodePtr& node) const {
    const IndexRange range = RangeOf(*node, b.kernel, AnyLocal);
    return {static_cast<int64_t>(range.low), static_cast<int64_t>(range.high)};
  }
};

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST_CASE("sums and products of elements of 32 bits stay within 64") {
  const Indices s;
  CHECK_FALSE(s.Overflows(Do(Op::kAdd, {s.id, Int(1)})));
  CHECK_FALSE(s.Overflows(Do(Op::kMul, {s.id, s.n})));
  CHECK_FALSE(s.Overflows(Do(Op::kMul, {s.id, s.id})));
  CHECK(s.Overflows(Do(Op::kMul, {Do(Op::kMul, {s.id, s.id}), s.id})));
  CHECK(s.Overflows(Do(Op::kMul, {s.id, Int(kMax)})));
}

TEST_CASE("any operation on elements of 64 bits may leave them, but what only picks or divides") {
  const Indices s;
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kShl, Op::kPow, Op::kFloorDiv}) {
    INFO(Name(op));
    CHECK(s.Overflows(Do(op, {s.wide, s.id})));
  }
  CHECK(s.Overflows(Do(Op::kNeg, {s.wide})));
  CHECK(s.Overflows(Do(Op::kAbs, {s.wide})));
  for (const Op op : {Op::kMin, Op::kMax, Op::kMod, Op::kRem, Op::kShr, Op::kBitXor}) {
    INFO(Name(op));
    CHECK_FALSE(s.Overflows(Do(op, {s.wide, s.id})));
  }
  CHECK_FALSE(s.Overflows(Do(Op::kFloorDiv, {s.wide, Int(2)})));
  CHECK_FALSE(s.Overflows(Do(Op::kFloorDiv, {s.wide, s.n})));
}

TEST_CASE("a clamp or a remainder bounds what comes after it") {
  const Indices s;
  const NodePtr clamped = Do(Op::kClamp, {s.wide, Int(0), Int(100)});
  CHECK(s.Range(clamped).first == 0);
  CHECK(s.Range(clamped).second == 100);
  CHECK_FALSE(s.Overflows(Do(Op::kMul, {clamped, s.n})));
  CHECK(s.Range(Do(Op::kMod, {s.wide, Int(8)})).first == 0);
  CHECK(s.Range(Do(Op::kMod, {s.wide, Int(8)})).second == 7);
  CHECK_FALSE(s.Overflows(Do(Op::kShl, {Do(Op::kMod, {s.wide, Int(8)}), Int(40)})));
}

TEST_CASE("some of the bits of what has no sign are no more than it") {
  const Indices s;
  const auto range = [&](const NodePtr& node) { return s.Range(node); };
  CHECK(range(Do(Op::kBitAnd, {s.wide, Int(12)})) == std::pair<int64_t, int64_t>(0, 12));
  CHECK(range(Do(Op::kBitAnd, {Int(12), s.wide})) == std::pair<int64_t, int64_t>(0, 12));
  CHECK(range(Do(Op::kBitAnd, {s.small, Int(300)})) == std::pair<int64_t, int64_t>(0, 255));
  CHECK(range(Do(Op::kBitAnd, {s.id, s.wide})).first < 0);
  CHECK(range(Do(Op::kShr, {s.small, Int(4)})) == std::pair<int64_t, int64_t>(0, 15));
  CHECK(range(Do(Op::kShr, {s.id, Int(31)})).first < 0);
}

TEST_CASE("of the body's integers a quotient by what may be 0 has any value of its type") {
  const Indices s;
  const auto quotient = [&](const NodePtr& by) {
    return s.Range(Do(Op::kFloorDiv, DType::kI32, {Int(9, DType::kI32), by}));
  };
  CHECK(quotient(Int(3, DType::kI32)) == std::pair<int64_t, int64_t>(0, 3));
  CHECK(quotient(Do(Op::kMod, DType::kI32, {s.id, Int(8, DType::kI32)})).first == INT32_MIN);
}

TEST_CASE("a quotient is as much smaller as the least divisor says, rounded up or down") {
  const Indices s;
  const NodePtr by = Do(Op::kClamp, {s.wide, Int(10), Int(20)});
  CHECK(s.Range(Do(Op::kFloorDiv, {s.small, by})) == std::pair<int64_t, int64_t>(0, 25));
  CHECK(s.Range(Do(Op::kCeilDiv, {s.small, by})) == std::pair<int64_t, int64_t>(0, 26));
  CHECK(s.Range(Do(Op::kFloorDiv, {Do(Op::kNeg, {s.small}), by})) ==
        std::pair<int64_t, int64_t>(-255, 0));
}

TEST_CASE("a shift may overflow where its count may be past the width or what it shifts is wide") {
  const Indices s;
  CHECK(s.Overflows(Do(Op::kShl, {s.id, s.small})));
  CHECK(s.Overflows(Do(Op::kShl, {s.id, Int(33)})));
  CHECK_FALSE(s.Overflows(Do(Op::kShl, {s.id, Int(32)})));
  CHECK_FALSE(s.Overflows(Do(Op::kShl, {s.small, Int(54)})));
}

TEST_CASE("sizes alone are looked at as the call begins") {
  const Indices s;
  CHECK_FALSE(s.Overflows(Do(Op::kMul, {Do(Op::kMul, {s.n, s.n}), Do(Op::kMul, {s.n, s.n})})));
  CHECK(s.Overflows(Do(Op::kMul, {Do(Op::kMul, {s.n, s.n}), s.id})));
}

TEST_CASE("an index that has left 64 bits may be any") {
  const Indices s;
  const auto [low, high] = s.Range(Do(Op::kMul, {s.wide, s.wide}));
  CHECK(low == kMin);
  CHECK(high == kMax);
}

}  // namespace
}  // namespace kiln::index_range_test
