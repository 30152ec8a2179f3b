// Tiles: views, broadcasting, what becomes of undefined elements.

#include "generator/interpret/tiles/map.h"
#include "tests/interpret/tiles.h"

namespace kiln::interpret {
namespace {

using namespace kiln::testing;
using Ids = std::vector<OriginId>;
using Doubles = std::vector<double>;
using Integers = std::vector<int64_t>;

Tile Map(Op op, const Dims& extents, const std::vector<Tile>& args, OriginId no_value = 9) {
  const DType dtype = args[0].floating ? DType::kF32 : DType::kI32;
  return MapTiles(*MeaningOf(op, dtype), dtype, dtype, false, extents, args, no_value);
}

TEST_CASE("broadcasting repeats without copying") {
  const Tile column = TileOf({2, 1}, Doubles{1, 2});
  const Tile row = TileOf({3}, Doubles{10, 20, 30});
  CHECK(FloatsOf(BroadcastTo(column, {2, 3})) == Doubles{1, 1, 1, 2, 2, 2});
  CHECK(FloatsOf(Map(Op::kAdd, {2, 3}, {column, row})) == Doubles{11, 21, 31, 12, 22, 32});
  CHECK(FloatsOf(Map(Op::kMul, {2, 2, 3}, {BroadcastTo(column, {2, 2, 3}), row})) ==
        Doubles{10, 20, 30, 20, 40, 60, 10, 20, 30, 20, 40, 60});
}

TEST_CASE("transposed views compute as their copies") {
  const Tile x = TileOf({2, 3}, Doubles{0, 1, 2, 3, 4, 5});
  const Tile t = Transpose(x, {1, 0});
  CHECK(FloatsOf(t) == Doubles{0, 3, 1, 4, 2, 5});
  CHECK(FloatsOf(Map(Op::kAdd, {3, 2}, {t, TileOf({2}, Doubles{10, 20})})) ==
        Doubles{10, 23, 11, 24, 12, 25});
}

TEST_CASE("rows longer than a piece") {
  const int64_t n = 5000;
  Tile x = MakeTile(false, {2, n});
  for (int64_t i = 0; i < x.cells; ++i) x.ints[i] = i;
  const Tile y = Map(Op::kAdd, {n, 2}, {Transpose(x, {1, 0}), TileOf({1, 2}, Integers{1, 2})});
  CHECK(y.ints[2 * 4321] == 4322);
  CHECK(y.ints[2 * 4321 + 1] == n + 4323);
}

TEST_CASE("an undefined argument makes the result undefined, the first one wins") {
  const Tile a = Undefine(TileOf({3}, Doubles{1, 2, 3}), {0, 5, 5});
  const Tile b = Undefine(TileOf({3}, Doubles{1, 2, 3}), {0, 0, 7});
  const Tile zero = TileOf({1}, Doubles{0});
  CHECK(OriginsOf(Map(Op::kAdd, {3}, {a, b})) == Ids{0, 5, 5});
  CHECK(OriginsOf(Map(Op::kAdd, {3}, {b, a})) == Ids{0, 5, 7});
  CHECK(OriginsOf(Map(Op::kMul, {3}, {zero, a})) == Ids{0, 5, 5});
  CHECK(OriginsOf(Map(Op::kMul, {3}, {zero, zero})) == Ids{});
  CHECK(OriginsOf(Map(Op::kAdd, {2, 3}, {a, TileOf({2, 1}, Doubles{1, 2})})) ==
        Ids{0, 5, 5, 0, 5, 5});
}

TEST_CASE("division by zero is undefined where it happens") {
  const Tile a = Undefine(TileOf({3}, Integers{6, 7, 8}), {0, 0, 5});
  CHECK(OriginsOf(Map(Op::kFloorDiv, {3}, {a, TileOf({3}, Integers{2, 0, 0})})) == Ids{0, 9, 5});
  CHECK(OriginsOf(Map(Op::kFloorDiv, {3}, {a, TileOf({}, Integers{0})})) == Ids{9, 9, 5});
  CHECK(IntsOf(Map(Op::kMod, {3}, {TileOf({3}, Integers{6, 7, 8}), TileOf({}, Integers{4})})) ==
        Integers{2, 3, 0});
}

TEST_CASE("where discards what it does not choose") {
  const Tile mask = TileOf({4}, Integers{1, 0, 1, 0});
  const Tile yes = Undefine(TileOf({4}, Doubles{1, 2, 3, 4}), {5, 5, 0, 0});
  const Tile no = Undefine(TileOf({}, Doubles{-1}), {6});
  const Tile chosen = WhereTiles({4}, mask, yes, no);
  CHECK(FloatsOf(chosen) == Doubles{1, -1, 3, -1});
  CHECK(OriginsOf(chosen) == Ids{5, 6, 0, 6});
  CHECK(OriginsOf(WhereTiles({4}, mask, TileOf({}, Doubles{0}), yes)) == Ids{0, 5, 0, 0});
  const Tile all = TileOf({4}, Integers{0, 0, 1, 1});
  CHECK(OriginsOf(WhereTiles({4}, all, yes, TileOf({}, Doubles{0}))) == Ids{});
  const Tile unclear = Undefine(mask, {0, 8, 0, 0});
  CHECK(OriginsOf(WhereTiles({4}, unclear, TileOf({}, Doubles{0}), TileOf({}, Doubles{1}))) ==
        Ids{0, 8, 0, 0});
}

TEST_CASE("casts of views") {
  const Tile x = Undefine(TileOf({2, 2}, Doubles{1.7, -1.7, 300, 4}), {0, 3, 0, 0});
  const Tile y = CastTile(Transpose(x, {1, 0}), DType::kF32, DType::kI8, false);
  CHECK(IntsOf(y) == Integers{1, 127, -1, 4});
  CHECK(OriginsOf(y) == Ids{0, 0, 3, 0});
  const Tile z = BitcastTile(TileOf({1}, Doubles{1}), DType::kF32, DType::kI32);
  CHECK(IntsOf(z) == Integers{0x3F800000});
}

TEST_CASE("pasting into a window") {
  Tile target = TileOf({2, 3}, Doubles{0, 0, 0, 0, 0, 0});
  Tile window = target;
  window.offset = 1;
  window.extents = {2, 2};
  Paste(target, window, TileOf({2}, Doubles{1, 2}), nullptr);
  CHECK(FloatsOf(target) == Doubles{0, 1, 2, 0, 1, 2});
  const Tile mask = Undefine(TileOf({2, 2}, Integers{1, 0, 0, 1}), {0, 0, 7, 0});
  const Tile value = Undefine(TileOf({2, 2}, Doubles{5, 6, 7, 8}), {0, 4, 0, 4});
  Paste(target, window, value, &mask);
  CHECK(FloatsOf(target) == Doubles{0, 5, 2, 0, 1, 8});
  CHECK(OriginsOf(target) == Ids{0, 0, 0, 0, 7, 4});
  Paste(target, target, TileOf({}, Doubles{3}), nullptr);
  CHECK(OriginsOf(target) == Ids{0, 0, 0, 0, 0, 0});
  DropOrigins(target);
  CHECK(OriginsOf(target) == Ids{});
}

TEST_CASE("a tile is a snapshot") {
  Tile block = TileOf({2}, Doubles{1, 2});
  const Tile before = block;
  MakeWritable(block);
  block.floats[0] = 9;
  CHECK(FloatsOf(before) == Doubles{1, 2});
  const double* same = block.floats.get();
  MakeWritable(block);
  CHECK(block.floats.get() == same);
}

TEST_CASE("tiles without elements") {
  const Tile none = MakeTile(true, {0, 3});
  CHECK(Map(Op::kAdd, {0, 3}, {none, TileOf({3}, Doubles{1, 2, 3})}).size() == 0);
  CHECK(Compact(Transpose(none, {1, 0})).size() == 0);
}

}  // namespace
}  // namespace kiln::interpret
