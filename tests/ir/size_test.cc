#include "generator/ir/size.h"

#include "tests/catch.h"
#include "tests/ir/kernel_builder.h"

namespace kiln::size_test {
namespace {

using namespace build;

struct Sizes {
  KernelBuilder b;
  NodePtr m_node = b.AddDim("m"), n_node = b.AddDim("n");
  Size m = Of(m_node), n = Of(n_node);

  Size Of(const NodePtr& node) const { return SizeOf(node, b.kernel); }
  std::optional<int64_t> Value(const Size& size, int64_t m_value, int64_t n_value) const {
    Binding binding;
    binding.kernel = &b.kernel;
    binding.dims = {m_value, n_value};
    return Evaluate(size, binding);
  }
};

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST_CASE("Sizes print in one order") {
  const Sizes s;
  CHECK(Size().ToString() == "0");
  CHECK(Size(-3).ToString() == "-3");
  CHECK(s.m.ToString() == "m");
  CHECK((s.m + s.m + 1).ToString() == "2*m + 1");
  CHECK((s.n - s.m).ToString() == "n - m");
  CHECK((Size(1) - s.m).ToString() == "1 - m");
  CHECK((Size(-1) - s.m).ToString() == "-m - 1");
  CHECK((s.n * s.m * s.m * 3 - s.n).ToString() == "3*m*m*n - n");
  CHECK((Size(0) - Size(kMax) - 1).ToString() == "-9223372036854775808");
  const Size half = s.Of(Do(Op::kFloorDiv, {s.m_node, Int(2)}));
  CHECK(half.ToString() == "m // 2");
  CHECK((half + 1).ToString() == "(m // 2) + 1");
  CHECK((half * 2).ToString() == "2*(m // 2)");
  CHECK(ToString(Shape{s.m, 4, s.n + 1}) == "[m, 4, n + 1]");
  CHECK(ToString(Shape{}) == "[]");
}

TEST_CASE("Sizes are equal when their normal forms are") {
  const Sizes s;
  CHECK((s.m + s.n) * (s.m - s.n) == s.m * s.m - s.n * s.n);
  CHECK((s.m - s.m).Constant() == 0);
  CHECK((s.m - s.m + 7).Constant() == 7);
  CHECK_FALSE((s.m + 1).Constant());
  CHECK(s.m * 0 == Size(0));
  CHECK_FALSE(s.m == s.n);
  CHECK(Size(1).IsOne());
  CHECK(s.m.AsAtom() == s.m_node.get());
  CHECK((s.m + 1).AsAtom() == nullptr);
  CHECK((s.m * 2).AsAtom() == nullptr);
  CHECK((s.m * s.m).AsAtom() == nullptr);
  CHECK(Size(4).AsAtom() == nullptr);
}

TEST_CASE("SizeOf takes sums and products apart and folds constants") {
  Sizes s;
  CHECK(s.Of(Do(Op::kAdd, {Do(Op::kMul, {Int(2), s.m_node}), Int(1)})) == s.m * 2 + 1);
  CHECK(s.Of(Do(Op::kNeg, {s.m_node})) == Size(0) - s.m);
  CHECK(s.Of(Do(Op::kCeilDiv, {Int(100), Int(8)})) == Size(13));
  CHECK(s.Of(Do(Op::kCeilDiv, {Do(Op::kMul, {s.m_node, Int(8)}), Int(8)})) == s.m);
  const NodePtr odd = Do(Op::kSub, {Do(Op::kMul, {s.m_node, Int(8)}), Int(9)});
  CHECK(s.Of(Do(Op::kCeilDiv, {odd, Int(8)})) == s.m - 1);
  CHECK(s.Of(Do(Op::kFloorDiv, {odd, Int(8)})) == s.m - 2);
  const NodePtr less = Do(Op::kSub, {s.m_node, Int(1)}), more = Do(Op::kAdd, {s.m_node, Int(7)});
  CHECK(s.Of(Do(Op::kFloorDiv, {less, Int(2)})) == s.Of(Do(Op::kCeilDiv, {s.m_node, Int(2)})) - 1);
  CHECK(s.Of(Do(Op::kCeilDiv, {less, Int(2)})) == s.Of(Do(Op::kFloorDiv, {s.m_node, Int(2)})));
  CHECK(s.Of(Do(Op::kFloorDiv, {more, Int(4)})) == s.Of(Do(Op::kCeilDiv, {s.m_node, Int(4)})) + 1);
  CHECK(s.Of(Do(Op::kFloorDiv, {more, Int(5)})).ToString() == "(m + 7) // 5");
  CHECK(s.Of(Do(Op::kCeilDiv, {odd, Int(16)})).ToString() == "cdiv(m * 8 - 9, 16)");
  CHECK(s.Of(Do(Op::kCeilDiv, {s.m_node, Int(8)})).ToString() == "cdiv(m, 8)");
  CHECK(s.Of(Do(Op::kFloorDiv, {s.m_node, Int(0)})).ToString() == "m // 0");
  s.b.AddAxis("i", Do(Op::kCeilDiv, {s.m_node, Int(8)}));
  CHECK(s.Of(Steps_(0)).ToString() == "cdiv(m, 8)");
  s.b.kernel.dims[0].fixed = 96;
  CHECK(s.Of(s.m_node) == Size(96));
  CHECK(s.Of(Do(Op::kMin, {s.m_node, Int(64)})) == Size(64));
}

TEST_CASE("Sizes evaluate") {
  const Sizes s;
  CHECK(s.Value(s.m * s.n - 3, 4, 5) == 17);
  CHECK(s.Value(s.Of(Do(Op::kCeilDiv, {s.m_node, Int(8)})) * 8, 9, 0) == 16);
  CHECK_FALSE(s.Value(s.m * s.n, int64_t{1} << 40, int64_t{1} << 40));
  CHECK_FALSE(s.Value(s.m + s.n, kMax, 1));
  CHECK_FALSE(s.Value(s.Of(Do(Op::kFloorDiv, {Int(1), s.m_node})), 0, 0));
  int atoms = 0;
  (s.m * s.m + s.n).ForEachAtom([&](const Node&) { ++atoms; });
  CHECK(atoms == 3);
}

TEST_CASE("A size that does not fit stays an expression") {
  const Sizes s;
  const Size big = Size(kMax) + 1;
  CHECK_FALSE(big.Constant());
  CHECK(big.ToString() == "9223372036854775807 + 1");
  CHECK_FALSE(s.Value(big, 0, 0));
  CHECK_FALSE(big == Size(kMax) * 2);
  CHECK_FALSE((Size(0) - Size(kMin)).Constant());
  // It is only the normal form that does not fit; the value may.
  const Size wide = s.m * kMax + s.m * kMax;
  CHECK_FALSE(wide.Constant());
  CHECK(s.Value(wide, 0, 0) == 0);
  CHECK_FALSE(s.Value(wide, 1, 0));
  // A power with too many factors.
  Size power = 1;
  for (int i = 0; i < 40; ++i) power = power * s.m;
  CHECK(s.Value(power, 2, 0) == int64_t{1} << 40);
  Size sum = 1;
  for (int i = 0; i < 12; ++i) sum = sum * (s.m + s.n + 1);
  CHECK(s.Value(sum, 0, 1) == 4096);
}

TEST_CASE("Extents broadcast as in numpy") {
  const Sizes s;
  bool differ = false, unproved = false;
  CHECK(BroadcastSize(s.m, 1, differ, unproved) == s.m);
  CHECK(BroadcastSize(1, s.m, differ, unproved) == s.m);
  CHECK(BroadcastSize(s.m + 1, s.m + 1, differ, unproved) == s.m + 1);
  CHECK_FALSE(differ);
  CHECK_FALSE(unproved);
  CHECK(BroadcastSize(s.m, 8, differ, unproved) == Size(8));
  CHECK(unproved);
  CHECK_FALSE(differ);
  BroadcastSize(s.m, s.m + 1, differ, unproved);
  CHECK(differ);
}

}  // namespace
}  // namespace kiln::size_test
