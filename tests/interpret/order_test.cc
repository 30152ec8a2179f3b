#include "generator/interpret/tiles/order.h"

#include <cmath>

#include "tests/interpret/tiles.h"

namespace kiln::interpret {
namespace {

using namespace kiln::testing;
using Ids = std::vector<OriginId>;
using Doubles = std::vector<double>;
using Integers = std::vector<int64_t>;

struct Ordering {
  Origins origins;
  Combining how;
  explicit Ordering(Op op, DType dtype = DType::kF32) {
    how = {op, RowOf(op).result == ResultType::kI32 ? DType::kI32 : dtype, false, {}, &origins};
  }
  Tile operator()(const Tile& tile, int axis, bool descending = false, int64_t count = -1) {
    return OrderTile(how, tile, axis, descending, count < 0 ? tile.extents[axis] : count);
  }
};

const Tile Unsorted() { return TileOf({2, 3}, Doubles{3, 1, 2, -4, 0, 6}); }

TEST_CASE("sorts along each axis, both ways") {
  Ordering sort(Op::kSort);
  CHECK(FloatsOf(sort(Unsorted(), 1)) == Doubles{1, 2, 3, -4, 0, 6});
  CHECK(FloatsOf(sort(Unsorted(), 0)) == Doubles{-4, 0, 2, 3, 1, 6});
  CHECK(FloatsOf(sort(Unsorted(), 1, true)) == Doubles{3, 2, 1, 6, 0, -4});
  CHECK(FloatsOf(sort(Transpose(Unsorted(), {1, 0}), 0)) == Doubles{1, -4, 2, 0, 3, 6});
  Ordering ints(Op::kSort, DType::kI32);
  CHECK(IntsOf(ints(TileOf({4}, Integers{2, -1, 7, -1}), 0)) == Integers{-1, -1, 2, 7});
  CHECK(sort(MakeTile(true, {2, 0}), 1).extents == Dims{2, 0});
}

TEST_CASE("equals keep their order, zeros are equal, and NaN is the largest") {
  const Tile x = TileOf({6}, Doubles{0, kNaN, -0.0, kInf, 1, 0});
  Ordering sort(Op::kSort), argsort(Op::kArgsort), top(Op::kTopPositions);
  const Doubles sorted = FloatsOf(sort(x, 0));
  CHECK(!std::signbit(sorted[0]));
  CHECK(std::signbit(sorted[1]));
  CHECK(!std::signbit(sorted[2]));
  CHECK(std::isnan(sorted[5]));
  CHECK(IntsOf(argsort(x, 0)) == Integers{0, 2, 5, 4, 3, 1});
  CHECK(IntsOf(argsort(x, 0, true)) == Integers{1, 3, 4, 0, 2, 5});
  // Among the largest 0 is before -0, as XLA has it.
  CHECK(IntsOf(top(x, 0, false, 6)) == Integers{1, 3, 4, 0, 5, 2});
  CHECK(IntsOf(top(x, 0, false, 2)) == Integers{1, 3});
}

TEST_CASE("an undefined element makes its line undefined") {
  Ordering sort(Op::kSort), top(Op::kTopPositions);
  const OriginId edge = sort.origins.Edge(Origin::Kind::kEdge, 0, 1);
  CHECK(top.origins.Edge(Origin::Kind::kEdge, 0, 1) == edge);
  const Tile x = Undefine(Unsorted(), {0, edge, 0, 0, 0, 0});
  const Ids ids = OriginsOf(sort(x, 1));
  for (const size_t k : {0, 1, 2}) {
    CHECK(sort.origins[ids[k]].reduced);
    CHECK(ids[k + 3] == kDefined);
  }
  const Tile places = top(x, 1, false, 1);
  const Tile values = TakeAlongTile(x, places, 1);
  CHECK(OriginsOf(values)[0] == OriginsOf(places)[0]);
  CHECK(OriginsOf(values)[1] == kDefined);
  CHECK(FloatsOf(values)[1] == 6);
}

TEST_CASE("reversals are views") {
  CHECK(FloatsOf(FlipTile(Unsorted(), {1})) == Doubles{2, 1, 3, 6, 0, -4});
  CHECK(FloatsOf(FlipTile(Unsorted(), {0, 1})) == Doubles{6, 0, -4, 2, 1, 3});
  CHECK(FloatsOf(FlipTile(FlipTile(Unsorted(), {0}), {0})) == FloatsOf(Unsorted()));
  CHECK(FlipTile(MakeTile(true, {0, 2}), {0}).extents == Dims{0, 2});
}

}  // namespace
}  // namespace kiln::interpret
