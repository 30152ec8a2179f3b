#include "generator/interpret/tiles/reduce.h"

#include <cmath>

#include "tests/interpret/tiles.h"

namespace kiln::interpret {
namespace {

using namespace kiln::testing;
using Ids = std::vector<OriginId>;
using Doubles = std::vector<double>;
using Integers = std::vector<int64_t>;

struct Reducing {
  Origins origins;
  Combining how;
  Reducing(Op op, DType dtype) { how = {op, dtype, false, {}, &origins}; }
};

Tile Reduce(Op op, const Tile& tile, const std::vector<int>& axes, bool keep = false,
            DType dtype = DType::kF32) {
  Reducing r(op, tile.floating ? dtype : DType::kI32);
  return ReduceTile(r.how, tile, axes, keep);
}

const Tile Sixes() { return TileOf({2, 3}, Doubles{3, 1, 2, -4, 0, 6}); }

TEST_CASE("reductions along each axis and all") {
  CHECK(FloatsOf(Reduce(Op::kSum, Sixes(), {0})) == Doubles{-1, 1, 8});
  CHECK(FloatsOf(Reduce(Op::kSum, Sixes(), {1})) == Doubles{6, 2});
  CHECK(FloatsOf(Reduce(Op::kSum, Sixes(), {0, 1})) == Doubles{8});
  CHECK(FloatsOf(Reduce(Op::kProd, Sixes(), {0})) == Doubles{-12, 0, 12});
  CHECK(FloatsOf(Reduce(Op::kReduceMax, Sixes(), {1})) == Doubles{3, 6});
  CHECK(FloatsOf(Reduce(Op::kReduceMin, Sixes(), {1})) == Doubles{1, -4});
  CHECK(FloatsOf(Reduce(Op::kMean, Sixes(), {1})) == Doubles{2, static_cast<float>(2.0 / 3)});
  const Tile kept = Reduce(Op::kSum, Sixes(), {1}, true);
  CHECK(kept.extents == Dims{2, 1});
  const Tile cube = TileOf({2, 2, 2}, Doubles{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(FloatsOf(Reduce(Op::kSum, cube, {0, 2})) == Doubles{14, 22});
  CHECK(FloatsOf(Reduce(Op::kSum, Transpose(cube, {2, 1, 0}), {1})) == Doubles{4, 12, 6, 14});
}

TEST_CASE("sums accumulate in double and round once") {
  CHECK(FloatsOf(Reduce(Op::kSum, TileOf({3}, Doubles{16777216, 1, 1}), {0})) == Doubles{16777218});
}

TEST_CASE("integer reductions wrap") {
  CHECK(IntsOf(Reduce(Op::kSum, TileOf({2}, Integers{INT32_MAX, 1}), {0})) == Integers{INT32_MIN});
  CHECK(IntsOf(Reduce(Op::kReduceMax, TileOf({2}, Integers{-3, -5}), {0})) == Integers{-3});
}

TEST_CASE("any and all") {
  Reducing any(Op::kAny, DType::kBool), all(Op::kAll, DType::kBool);
  const Tile x = TileOf({2, 2}, Integers{0, 1, 1, 1});
  CHECK(IntsOf(ReduceTile(any.how, x, {1}, false)) == Integers{1, 1});
  CHECK(IntsOf(ReduceTile(all.how, x, {1}, false)) == Integers{0, 1});
  CHECK(IntsOf(ReduceTile(any.how, MakeTile(false, {2, 0}), {1}, false)) == Integers{0, 0});
}

TEST_CASE("positions are the first of equals, and NaN wins") {
  const auto argmax = [](const Tile& tile, int axis) {
    Reducing r(Op::kArgmax, DType::kI32);
    return IntsOf(ReduceTile(r.how, tile, {axis}, false));
  };
  CHECK(argmax(TileOf({4}, Doubles{1, 3, 3, 2}), 0) == Integers{1});
  CHECK(argmax(TileOf({4}, Doubles{1, kNaN, 3, kNaN}), 0) == Integers{1});
  CHECK(argmax(TileOf({2}, Doubles{-kInf, -kInf}), 0) == Integers{0});
  CHECK(argmax(Sixes(), 0) == Integers{0, 0, 1});
  CHECK(argmax(Transpose(Sixes(), {1, 0}), 0) == Integers{0, 2});
  CHECK(argmax(TileOf({3}, Integers{1, 5, 5}), 0) == Integers{1});
  Reducing all(Op::kArgmax, DType::kI32);
  CHECK(IntsOf(ReduceTile(all.how, Sixes(), {0, 1}, false)) == Integers{5});
  CHECK(IntsOf(ReduceTile(all.how, Transpose(Sixes(), {1, 0}), {0, 1}, true)) == Integers{5});
  const Tile cube = TileOf({2, 2, 2}, Doubles{0, 9, 2, 3, 4, 5, 6, 7});
  CHECK(IntsOf(ReduceTile(all.how, cube, {0, 2}, false)) == Integers{1, 3});
  CHECK(IntsOf(ReduceTile(all.how, TileOf({}, Doubles{3}), {}, false)) == Integers{0});
  Reducing r(Op::kArgmin, DType::kI32);
  CHECK(IntsOf(ReduceTile(r.how, Sixes(), {1}, true)) == Integers{1, 0});
  const Tile none = ReduceTile(r.how, MakeTile(true, {2, 0}), {1}, false);
  REQUIRE(OriginsOf(none).size() == 2);
  CHECK(r.origins[none.origins[0]].kind == Origin::Kind::kEmpty);
}

TEST_CASE("max of NaN and of nothing") {
  CHECK(std::isnan(FloatsOf(Reduce(Op::kReduceMax, TileOf({3}, Doubles{1, kNaN, 3}), {0}))[0]));
  CHECK(FloatsOf(Reduce(Op::kReduceMax, MakeTile(true, {0}), {0})) == Doubles{-kInf});
  CHECK(FloatsOf(Reduce(Op::kSum, MakeTile(true, {2, 0}), {1})) == Doubles{0, 0});
}

TEST_CASE("an undefined element spreads to what it takes part in") {
  Reducing r(Op::kSum, DType::kF32);
  const OriginId edge = r.origins.Edge(Origin::Kind::kEdge, 0, 1);
  const Tile x = Undefine(Sixes(), {0, 0, edge, 0, 0, 0});
  const Tile rows = ReduceTile(r.how, x, {1}, false);
  REQUIRE(OriginsOf(rows).size() == 2);
  CHECK(rows.origins[1] == kDefined);
  CHECK(r.origins[rows.origins[0]].reduced);
  CHECK(r.origins[rows.origins[0]].kind == Origin::Kind::kEdge);
  CHECK(OriginsOf(ReduceTile(r.how, Sixes(), {1}, false)).empty());
}

TEST_CASE("running sums") {
  Reducing r(Op::kCumsum, DType::kF32);
  CHECK(FloatsOf(CumulateTile(r.how, Sixes(), 1)) == Doubles{3, 4, 6, -4, -4, 2});
  CHECK(FloatsOf(CumulateTile(r.how, Sixes(), 0)) == Doubles{3, 1, 2, -1, 1, 8});
  CHECK(FloatsOf(CumulateTile(r.how, Transpose(Sixes(), {1, 0}), 0)) ==
        Doubles{3, -4, 4, -4, 6, 2});
  const OriginId edge = r.origins.Edge(Origin::Kind::kEdge, 0, 1);
  const Tile x = Undefine(Sixes(), {0, edge, 0, 0, 0, 0});
  const Ids ids = OriginsOf(CumulateTile(r.how, x, 1));
  CHECK(ids[0] == kDefined);
  CHECK(ids[1] != kDefined);
  CHECK(ids[2] == ids[1]);
  CHECK(ids[3] == kDefined);
}

TEST_CASE("running products and extremes") {
  Reducing product(Op::kCumprod, DType::kF32), most(Op::kCummax, DType::kF32),
      least(Op::kCummin, DType::kF32), ints(Op::kCummax, DType::kI32);
  CHECK(FloatsOf(CumulateTile(product.how, Sixes(), 1)) == Doubles{3, 3, 6, -4, 0, 0});
  CHECK(FloatsOf(CumulateTile(most.how, Sixes(), 1)) == Doubles{3, 3, 3, -4, 0, 6});
  CHECK(FloatsOf(CumulateTile(least.how, Sixes(), 0)) == Doubles{3, 1, 2, -4, 0, 2});
  CHECK(IntsOf(CumulateTile(ints.how, TileOf({3}, Integers{-5, -7, 1}), 0)) == Integers{-5, -5, 1});
  const Doubles nan = FloatsOf(CumulateTile(most.how, TileOf({3}, Doubles{1, kNaN, 2}), 0));
  CHECK(nan[0] == 1);
  CHECK(std::isnan(nan[1]));
  CHECK(std::isnan(nan[2]));
}

Tile Dot(const Tile& a, const Tile& b) {
  Reducing r(Op::kDot, a.floating ? DType::kF32 : DType::kI32);
  return DotTiles(r.how, a, b);
}

TEST_CASE("matrix products") {
  const Tile b = TileOf({3, 2}, Doubles{1, 0, 0, 1, 1, 1});
  CHECK(FloatsOf(Dot(Sixes(), b)) == Doubles{5, 3, 2, 6});
  CHECK(FloatsOf(Dot(Transpose(b, {1, 0}), Transpose(Sixes(), {1, 0}))) == Doubles{5, 2, 3, 6});
  CHECK(Dot(MakeTile(true, {2, 0}), MakeTile(true, {0, 2})).extents == Dims{2, 2});
  CHECK(FloatsOf(Dot(MakeTile(true, {2, 0}), MakeTile(true, {0, 2}))) == Doubles{0, 0, 0, 0});
}

TEST_CASE("matrix products of every height, against the definition") {
  for (int64_t m = 1; m <= 9; ++m) {
    Tile a = MakeTile(false, {2, m, 5}), b = MakeTile(false, {2, 5, 7});
    for (int64_t i = 0; i < a.cells; ++i) a.ints[i] = i * 37 % 11 - 5;
    for (int64_t i = 0; i < b.cells; ++i) b.ints[i] = i * 53 % 13 - 6;
    const Tile c = Dot(a, b);
    for (int64_t p = 0; p < 2; ++p) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < 7; ++j) {
          int64_t sum = 0;
          for (int64_t k = 0; k < 5; ++k)
            sum += a.ints[(p * m + i) * 5 + k] * b.ints[(p * 5 + k) * 7 + j];
          REQUIRE(c.ints[(p * m + i) * 7 + j] == sum);
        }
      }
    }
  }
}

TEST_CASE("products wrap in i32") {
  const Tile big = TileOf({1, 1}, Integers{INT32_MAX});
  CHECK(IntsOf(Dot(big, big)) == Integers{1});
}

TEST_CASE("an undefined row and an undefined column") {
  Reducing r(Op::kDot, DType::kF32);
  const OriginId edge = r.origins.Edge(Origin::Kind::kEdge, 0, 1);
  const Tile a = Undefine(Sixes(), {0, 0, 0, 0, edge, 0});
  const Tile b = Undefine(TileOf({3, 2}, Doubles{1, 0, 0, 1, 1, 1}), {0, 0, 0, 0, 0, edge});
  const Ids left = OriginsOf(DotTiles(r.how, a, TileOf({3, 2}, Doubles(6, 0.0))));
  const OriginId reduced = r.origins.Reduced(edge, {});
  CHECK(left == Ids{0, 0, reduced, reduced});
  CHECK(OriginsOf(DotTiles(r.how, Sixes(), b)) == Ids{0, reduced, 0, reduced});
  CHECK(OriginsOf(DotTiles(r.how, a, b)) == Ids{0, reduced, reduced, reduced});
}

}  // namespace
}  // namespace kiln::interpret
