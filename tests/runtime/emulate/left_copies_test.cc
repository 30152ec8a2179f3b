// Copies by hand that Direct does not make, as who reads what they bring finds it in the array, and
// who sets what they take away sets it there.
#include "kiln/emulate/left_copies.h"

#include "tests/runtime/emulate/dma_testing.h"

namespace kiln::dma_test {
namespace {

/// A tile that holds kOld until something is copied there.
struct Found : Bench {
  static constexpr float kOld = -7;

  explicit Found(const Options& options = Options()) : Bench(options) {
    Fill(x.tensor, 0.0f);
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kCols; ++c) *x.tensor.At<2>({r, c}) = OfX(r, c);
    }
    std::fill_n(tile.data, TileSize<float>(kRows, kCols), kOld);
    copies.MayStay(tile.data);
  }

  using Bench::OfX;
  static float OfX(int64_t row, int64_t col) { return static_cast<float>(10 * row + col); }

  bool Bring(const Cuts& from, const Cuts& to) { return Start(OfX(from), OfTile(to)) && Wait(); }
  Tile<float, 2> Find(const Cuts& part) { return copies.Find(12, "tile", tile, part); }
  Tile<float, 2> Ahead(const Cuts& part, const Cuts& to) {
    return copies.Ahead(12, "tile", tile, part, OfY(to));
  }
  float OfY(int64_t row, int64_t col) { return *y.tensor.At<2>({row, col}); }
  using Bench::OfY;
  bool IsAtHome(const Tile<float, 2>& found) const { return found.data == tile.data; }
};

TEST_CASE("What a copy brings is read in the array, at the tile's coordinates") {
  Found bench;
  REQUIRE(bench.Bring(Bench::Part(0, 2, 1, 3), Bench::Part(2, 2, 3, 3)));
  CHECK(*bench.tile.At(2, 3) == Found::kOld);
  const auto found = bench.Find(Bench::Part(2, 2, 3, 3));
  CHECK(*found.At(2, 3) == Found::OfX(0, 1));
  CHECK(*found.At(3, 5) == Found::OfX(1, 3));
  // A part of it is there as well.
  CHECK(*bench.Find(Bench::Part(3, 1, 4, 2)).At(3, 4) == Found::OfX(1, 2));
  CHECK(bench.RecordOf(kX).copies == 1);
  CHECK(bench.RecordOf(kX).bytes == 2 * 3 * 4);
}

TEST_CASE("What no copy has brought is read in the tile") {
  Found bench;
  CHECK(bench.IsAtHome(bench.Find(Bench::Part(0, 4, 0, 6))));
  REQUIRE(bench.Bring(Bench::Part(0, 2, 0, 6), Bench::Part(0, 2, 0, 6)));
  CHECK(bench.IsAtHome(bench.Find(Bench::Part(2, 2, 0, 6))));
}

TEST_CASE("What several copies bring together is in the tile, and so is all that comes later") {
  Found bench;
  REQUIRE(bench.Bring(Bench::Part(0, 2, 0, 6), Bench::Part(0, 2, 0, 6)));
  REQUIRE(bench.Bring(Bench::Part(3, 1, 0, 6), Bench::Part(2, 1, 0, 6)));
  CHECK(bench.IsAtHome(bench.Find(Bench::Part(0, 4, 0, 6))));
  CHECK(*bench.tile.At(1, 5) == Found::OfX(1, 5));
  CHECK(*bench.tile.At(2, 0) == Found::OfX(3, 0));
  CHECK(*bench.tile.At(3, 0) == Found::kOld);
  REQUIRE(bench.Bring(Bench::Part(0, 1, 0, 6), Bench::Part(3, 1, 0, 6)));
  CHECK(*bench.tile.At(3, 4) == Found::OfX(0, 4));
}

TEST_CASE("A copy takes the place of those before it, of which the rest is in the tile") {
  Found bench;
  REQUIRE(bench.Bring(Bench::Part(0, 4, 0, 6), Bench::Part(0, 4, 0, 6)));
  REQUIRE(bench.Bring(Bench::Part(1, 2, 0, 6), Bench::Part(2, 2, 0, 6)));
  CHECK(*bench.Find(Bench::Part(2, 2, 0, 6)).At(3, 1) == Found::OfX(2, 1));
  const auto rest = bench.Find(Bench::Part(0, 2, 0, 6));
  CHECK(bench.IsAtHome(rest));
  CHECK(*rest.At(1, 1) == Found::OfX(1, 1));
  REQUIRE(bench.Bring(Bench::Part(0, 4, 0, 6), Bench::Part(0, 4, 0, 6)));
  CHECK(*bench.Find(Bench::Part(2, 2, 0, 6)).At(3, 1) == Found::OfX(3, 1));
}

TEST_CASE("A copy out of the tile has what those before it brought") {
  Found bench;
  REQUIRE(bench.Bring(Bench::Part(1, 2, 0, 6), Bench::Part(0, 2, 0, 6)));
  REQUIRE(bench.Start(bench.OfTile(Bench::Part(0, 2, 0, 6)), bench.OfY(Bench::Part(2, 2, 0, 6))));
  REQUIRE(bench.Wait());
  CHECK(bench.OfY(3, 4) == Found::OfX(2, 4));
}

TEST_CASE("Elements that are not side by side in the array are copied") {
  Found bench;
  const Bench::Cuts column{CutRange(0, 4, kRows), CutPoint(2, kCols)};
  const Bench::Cuts row{CutPoint(1, kRows), CutRange(0, 4, kCols)};
  REQUIRE(bench.Start(bench.OfX(column), bench.OfTile(row)));
  REQUIRE(bench.Wait());
  CHECK(bench.IsAtHome(bench.Find(row)));
  CHECK(*bench.tile.At(1, 3) == Found::OfX(3, 2));
}

TEST_CASE("One element of each row is seen in the array, however far from the next one there") {
  Found bench;
  Tensor<const float> turned = bench.x.tensor;
  turned.shape = {kCols, kRows};
  turned.stride = {1, bench.x.tensor.stride[0]};
  const Bench::Cuts column{CutRange(0, 4, kRows), CutRange(5, 1, kCols)};
  const Bench::Cuts of_turned{CutRange(1, 4, kCols), CutRange(2, 1, kRows)};
  REQUIRE(bench.Start(PartOf(kX, turned, of_turned), bench.OfTile(column)));
  REQUIRE(bench.Wait());
  const auto found = bench.Find(column);
  CHECK(!bench.IsAtHome(found));
  for (int64_t r = 0; r < kRows; ++r) CHECK(*found.At(r, 5) == Found::OfX(2, 1 + r));
}

TEST_CASE("More copies than anybody would read one by one are made") {
  Found bench;
  for (int64_t k = 0; k < 17; ++k)
    REQUIRE(bench.Bring(Bench::Part(0, 1, 0, 1), Bench::Part(k / 6, 1, k % 6, 1)));
  for (int64_t k = 0; k < 17; ++k) CHECK(*bench.tile.At(k / 6, k % 6) == Found::OfX(0, 0));
}

TEST_CASE("What a copy is going to take away is set where it goes, and that is the copy") {
  Found bench;
  const auto part = Bench::Part(1, 2, 0, 3), to = Bench::Part(0, 2, 3, 3);
  const auto set = bench.Ahead(part, to);
  *set.At(1, 0) = 1;
  *set.At(2, 2) = 2;
  CHECK(bench.OfY(0, 3) == 1.0f);
  REQUIRE(bench.Start(bench.OfTile(part), bench.OfY(to)));
  REQUIRE(bench.Wait());
  CHECK(bench.OfY(1, 5) == 2.0f);
  CHECK(bench.RecordOf(kY).copies == 1);
  // The next one has bytes in the tile.
  *bench.tile.At(1, 0) = 3;
  REQUIRE(bench.Start(bench.OfTile(part), bench.OfY(to)));
  REQUIRE(bench.Wait());
  CHECK(bench.OfY(0, 3) == 3.0f);
}

TEST_CASE("Several are set before they are copied, in any order") {
  Found bench;
  const auto first = Bench::Part(0, 1, 0, 6), second = Bench::Part(1, 1, 0, 6);
  const auto to_first = Bench::Part(3, 1, 0, 6), to_second = Bench::Part(2, 1, 0, 6);
  *bench.Ahead(first, to_first).At(0, 4) = 1;
  *bench.Ahead(second, to_second).At(1, 4) = 2;
  REQUIRE(bench.Start(bench.OfTile(second), bench.OfY(to_second)));
  REQUIRE(bench.Start(bench.OfTile(first), bench.OfY(to_first)));
  REQUIRE(bench.Wait());
  CHECK(bench.OfY(3, 4) == 1.0f);
  CHECK(bench.OfY(2, 4) == 2.0f);
}

TEST_CASE("A copy in front of what is set reads what was there before") {
  Found bench;
  Fill(bench.y.tensor, 5.0f);
  Tile<float, 2> other = bench.tile;
  std::vector<float> memory(static_cast<size_t>(TileSize<float>(kRows, kCols)));
  other.data = memory.data();
  const auto rows = Bench::Part(0, 2, 0, 6);
  REQUIRE(bench.Start(bench.OfY(rows), PartOf("other", other, rows)));
  *bench.Ahead(rows, rows).At(0, 0) = 9;
  CHECK(*other.At(0, 0) == 5.0f);
}

TEST_CASE("What does not fit the array is set in the tile, and the copy says so") {
  Found bench;
  const auto part = Bench::Part(0, 2, 0, 6), outside = Bench::Part(3, 2, 0, 6);
  CHECK(bench.IsAtHome(bench.Ahead(part, outside)));
  CHECK(!bench.Start(bench.OfTile(part), bench.OfY(outside)));
  CHECK(bench.lone.core.status().code == kIndexRange);
}

TEST_CASE("The emulator makes all copies, when they are waited for") {
  Found bench(EmulatedOptions());
  const auto rows = Bench::Part(0, 2, 0, 6);
  REQUIRE(bench.Bring(rows, rows));
  CHECK(bench.IsAtHome(bench.Find(rows)));
  CHECK(*bench.tile.At(1, 2) == Found::OfX(1, 2));
  CHECK(bench.IsAtHome(bench.Ahead(rows, rows)));
  REQUIRE(bench.Start(bench.OfTile(rows), bench.OfY(rows)));
  CHECK(bench.Find(rows).data == bench.tile.data);
  bench.Ahead(rows, rows);  // while it is in flight
  CHECK(bench.lone.core.status().code == kSync);
}

}  // namespace
}  // namespace kiln::dma_test
