#include "kiln/core/block.h"

#include "tests/runtime/runtime_testing.h"

namespace kiln {
namespace {

TEST_CASE("Blocks side by side; the last is cut off") {
  const Blocks<1> blocks{{10}, {Blocked(4, Clip::kYes)}};
  CHECK(blocks.Count() == 3);
  const Box<1> last = blocks.BoxAt({2});
  CHECK(last.start[0] == 8);
  CHECK(last.low[0] == 0);
  CHECK(last.high[0] == 2);
  CHECK(last.size[0] == 4);
  CHECK(last.clipped[0]);
  CHECK_FALSE(last.IsWhole());
  CHECK(blocks.BoxAt({1}).IsWhole());
  CHECK(blocks.Contains(0, 2));
  CHECK_FALSE(blocks.Contains(0, 3));
  CHECK_FALSE(blocks.Contains(0, -1));
}

TEST_CASE("An array without elements has no blocks, except the whole of it") {
  const Blocks<2> blocks{{0, 0}, {Blocked(4), All(0)}};
  CHECK(blocks.Count() == 0);
  CHECK(blocks.FirstOutside({0, 0}) == 0);
  CHECK(blocks.Contains(1, 0));
  CHECK_FALSE(blocks.Contains(1, 1));
}

TEST_CASE("A window by the element begins in the halo") {
  const Blocks<1> blocks{{10}, {Element(6, 1, 2)}};
  CHECK(blocks.Count() == 13);
  const Box<1> first = blocks.BoxAt({0});
  CHECK(first.start[0] == -1);
  CHECK(first.low[0] == 1);
  CHECK(first.high[0] == 6);
  const Box<1> middle = blocks.BoxAt({1});
  CHECK(middle.start[0] == 0);
  CHECK(middle.IsWhole());
  const Box<1> last = blocks.BoxAt({12});
  CHECK(last.start[0] == 11);
  CHECK(last.inside() == 0);
}

TEST_CASE("A bounded window has a start and a size") {
  const Blocks<1> blocks{{10}, {Bounded(4)}};
  CHECK(DsStart(Ds(7, 3)) == 7);
  CHECK(DsSize(Ds(7, 3)) == 3);
  CHECK(blocks.Contains(0, Ds(7, 3)));
  CHECK(blocks.Contains(0, Ds(10, 0)));
  CHECK_FALSE(blocks.Contains(0, Ds(7, 4)));
  CHECK_FALSE(blocks.Contains(0, Ds(0, 5)));
  CHECK_FALSE(blocks.Contains(0, Ds(-1, 1)));
  CHECK_FALSE(blocks.Contains(0, Ds(0, -1)));
  CHECK_FALSE(blocks.Contains(0, Ds(0, INT64_MAX)));
  CHECK_FALSE(blocks.Contains(0, Ds(INT64_MAX, 1)));
  const Box<1> box = blocks.BoxAt({Ds(7, 3)});
  CHECK(box.start[0] == 7);
  CHECK(box.high[0] == 3);
}

TEST_CASE("A view has the dimensions that are not squeezed") {
  const Blocks<3> blocks{{2, 5, 9}, {Squeezed(), Blocked(4), All(9)}};
  CHECK(blocks.shape().view_rank() == 2);
  CHECK(blocks.shape().ViewDims<2>() == std::array<int, 2>{1, 2});
  CHECK(blocks.Count() == 2 * 2 * 1);
  CHECK(blocks.Linear({1, 1, 0}) == 3);
}

TEST_CASE("Blocks that are more than any number") {
  const int64_t huge = int64_t{1} << 40;
  const Blocks<2> blocks{{huge, huge}, {Element(1), Element(1)}};
  CHECK(blocks.Count() == INT64_MAX);
  CHECK(blocks.Linear({huge - 1, huge - 1}) >= 0);
}

}  // namespace
}  // namespace kiln
