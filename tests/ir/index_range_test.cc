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
