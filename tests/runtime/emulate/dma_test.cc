// Copies by hand and their semaphores, as one core sees them.
#include "kiln/emulate/dma.h"

#include <cmath>
#include <string>

#include "tests/runtime/emulate/dma_testing.h"

namespace kiln::dma_test {
namespace {

TEST_CASE("A manual copy arrives at the wait, and its target is undefined until then") {
  Bench bench;
  *bench.tile.At(0, 0) = 5;
  REQUIRE(bench.Start(bench.OfX(Bench::Part(1, 2, 2, 3)), bench.OfTile(Bench::Part(0, 2, 0, 3))));
  CHECK(std::isnan(*bench.tile.At(0, 0)));
  CHECK(bench.RecordOf(kX).copies == 0);
  REQUIRE(bench.Wait());
  for (int r = 0; r < 2; ++r) {
    for (int c = 0; c < 3; ++c)
      CHECK(*bench.tile.At(r, c) == *bench.x.tensor.At<2>({r + 1, c + 2}));
  }
  bench.copies.End();
  CHECK(bench.lone.core.ok());
}

TEST_CASE("A manual copy arrives at once where copies are eager") {
  Options eager = EmulatedOptions();
  eager.dma = Dma::kEager;
  Bench bench(eager);
  REQUIRE(bench.Start(bench.OfX(Bench::Part(3, 1, 0, 6)), bench.OfTile(Bench::Part(0, 1, 0, 6))));
  CHECK(*bench.tile.At(0, 5) == *bench.x.tensor.At<2>({3, 5}));
  CHECK(bench.Wait());
  CHECK(bench.RecordOf(kX).copies == 1);
}

TEST_CASE("On this machine a manual copy moves with the next one, at a wait or at the end") {
  Bench bench{Options()};
  const auto copy_row = [&](int64_t row) {
    REQUIRE(
        bench.Start(bench.OfX(Bench::Part(row, 1, 0, 6)), bench.OfTile(Bench::Part(row, 1, 0, 6))));
  };
  const auto has = [&](int64_t row) {
    return *bench.tile.At(row, 5) == *bench.x.tensor.At<2>({row, 5});
  };
  copy_row(0);
  CHECK(bench.RecordOf(kX).copies == 0);
  copy_row(1);
  CHECK(bench.RecordOf(kX).copies == 1);
  CHECK(has(0));
  CHECK(bench.Wait());
  CHECK(has(1));
  copy_row(2);
  bench.copies.End();
  CHECK(has(2));
  CHECK(bench.RecordOf(kX).copies == 3);
}

TEST_CASE("Rows that follow each other at both ends, or at one, or at none, arrive alike") {
  for (const Options& options : {EmulatedOptions(), Options()}) {
    for (const int64_t columns : {int64_t{1}, int64_t{3}, int64_t{kCols}}) {
      Bench bench(options);
      REQUIRE(bench.Start(bench.OfX(Bench::Part(0, 3, 0, columns)),
                          bench.OfTile(Bench::Part(1, 3, 0, columns))));
      REQUIRE(bench.Wait());
      for (int64_t r = 0; r < 3; ++r) {
        for (int64_t c = 0; c < columns; ++c)
          CHECK(*bench.tile.At(r + 1, c) == *bench.x.tensor.At<2>({r, c}));
      }
    }
  }
}

TEST_CASE("What manual copies move is in the record of the arrays in HBM") {
  for (const Options& options : {EmulatedOptions(), Options()}) {
    Bench bench(options);
    for (const int64_t row : {0, 2}) {
      bench.Start(bench.OfX(Bench::Part(row, 2, 0, 6)), bench.OfTile(Bench::Part(row, 2, 0, 6)));
      bench.Wait();
    }
    bench.Start(bench.OfTile(Bench::Part(0, 1, 0, 5)), bench.OfY(Bench::Part(3, 1, 1, 5)));
    bench.Wait();
    bench.Start(bench.OfX(Bench::Part(0, 1, 0, 1)), bench.OfY(Bench::Part(0, 1, 0, 1)));
    bench.Wait();
    CHECK(bench.RecordOf(kX).copies == 3);
    CHECK(bench.RecordOf(kX).bytes == (2 * 12 + 1) * 4);
    CHECK_FALSE(bench.RecordOf(kX).is_output);
    CHECK(bench.RecordOf(kY).copies == 2);
    CHECK(bench.RecordOf(kY).bytes == (5 + 1) * 4);
    CHECK(bench.RecordOf(kY).is_output);
    CHECK(*bench.y.tensor.At<2>({3, 5}) == *bench.x.tensor.At<2>({0, 4}));
  }
}

TEST_CASE("Points disappear, and both ends keep their own strides") {
  Bench bench;
  const Bench::Cuts column = {CutRange(0, 4, kRows), CutPoint(2, kCols)};
  const Bench::Cuts row = {CutPoint(1, kRows), CutRange(2, 4, kCols)};
  REQUIRE(bench.Start(bench.OfX(column), bench.OfTile(row)));
  REQUIRE(bench.Wait());
  for (int i = 0; i < 4; ++i) CHECK(*bench.tile.At(1, 2 + i) == *bench.x.tensor.At<2>({i, 2}));
}

TEST_CASE("A copy of nothing is a copy") {
  Bench bench;
  REQUIRE(bench.Start(bench.OfX(Bench::Part(4, 0, 0, 6)), bench.OfTile(Bench::Part(0, 0, 0, 6))));
  CHECK(bench.Wait());
  CHECK(bench.RecordOf(kX).bytes == 0);
}

TEST_CASE("Copies on one semaphore arrive in the order of their starts") {
  Bench bench;
  bench.Start(bench.OfX(Bench::Part(0, 1, 0, 6)), bench.OfTile(Bench::Part(0, 1, 0, 6)));
  bench.Start(bench.OfX(Bench::Part(1, 1, 0, 6)), bench.OfTile(Bench::Part(1, 1, 0, 6)));
  bench.Start(bench.OfX(Bench::Part(2, 1, 0, 6)), bench.OfTile(Bench::Part(2, 1, 0, 6)), 1);
  REQUIRE(bench.Wait());
  CHECK_FALSE(std::isnan(*bench.tile.At(0, 0)));
  CHECK(std::isnan(*bench.tile.At(1, 0)));
  REQUIRE(bench.Wait(1));
  CHECK_FALSE(std::isnan(*bench.tile.At(2, 0)));
  CHECK(std::isnan(*bench.tile.At(1, 0)));
  REQUIRE(bench.Wait());
  CHECK_FALSE(std::isnan(*bench.tile.At(1, 0)));
}

TEST_CASE("A wait for bytes takes several copies, or a part of one") {
  Bench bench;
  const auto wait = [&](int64_t rows) {
    return bench.copies.Wait(kSent, 0, sizeof(float), bench.OfTile(Bench::Part(0, rows, 0, 6)));
  };
  const auto arrived = [&](int64_t row) { return !std::isnan(*bench.tile.At(row, 0)); };
  for (const int64_t row : {0, 1})
    bench.Start(bench.OfX(Bench::Part(row, 1, 0, 6)), bench.OfTile(Bench::Part(row, 1, 0, 6)));
  bench.Start(bench.OfX(Bench::Part(2, 2, 0, 6)), bench.OfTile(Bench::Part(2, 2, 0, 6)));
  REQUIRE(wait(3));
  CHECK(arrived(1));
  CHECK_FALSE(arrived(2));
  REQUIRE(wait(1));
  CHECK(arrived(3));
  CHECK(wait(0));
  CHECK_FALSE(wait(1));
  CHECK(
      bench.lone.message() ==
      "kernel: [sync] nothing to wait for (line 9) on core 0: no copy on sent[0] is in flight, so "
      "this would wait for ever");
}

TEST_CASE("A wait for nothing takes copies of nothing") {
  Bench bench;
  const auto nothing = [&] { return bench.OfTile(Bench::Part(0, 0, 0, 6)); };
  const auto wait = [&] { return bench.copies.Wait(kSent, 0, sizeof(float), nothing()); };
  CHECK(wait());
  REQUIRE(bench.Start(bench.OfX(Bench::Part(4, 0, 0, 6)), nothing()));
  bench.Start(bench.OfX(Bench::Part(1, 1, 0, 6)), bench.OfTile(Bench::Part(1, 1, 0, 6)));
  CHECK(wait());
  CHECK(std::isnan(*bench.tile.At(1, 0)));
  CHECK(bench.Wait());
  bench.copies.End();
  CHECK(bench.lone.message() == "");
}

TEST_CASE("Semaphores of two dimensions") {
  const Semaphore sent{"sent", 7, {2, 3}, 9};
  Bench bench;
  const auto start = [&](int64_t row, const SemaphoreIndex& slot) {
    return bench.copies.Start(sent, slot, sizeof(float), bench.OfX(Bench::Part(row, 1, 0, 6)),
                              bench.OfTile(Bench::Part(row, 1, 0, 6)));
  };
  REQUIRE(start(0, {0, 2}));
  REQUIRE(start(1, {1, 1}));
  REQUIRE(bench.copies.Wait(sent, {1, 1}));
  CHECK(std::isnan(*bench.tile.At(0, 0)));
  CHECK_FALSE(std::isnan(*bench.tile.At(1, 0)));
  bench.copies.End();
  CHECK(bench.lone.message() ==
        "kernel: [sync] the copy into tile (line 9) is still in flight on core 0: nobody waited "
        "for sent[0, 2]");
  Bench outside;
  CHECK_FALSE(outside.copies.Wait(sent, {0, 3}));
  CHECK(outside.lone.message() ==
        "kernel: [index-range] sent[0, 3] is used (line 9) on core 0, but dimension 1 of sent has "
        "3 semaphores");
}

TEST_CASE("A copy of more than it may take") {
  for (const Options& options : {EmulatedOptions(), Options()}) {
    Bench bench(options);
    const Bench::Cuts cuts = {CutUpTo(0, 3, 2, kRows), CutRange(0, 6, kCols)};
    CHECK_FALSE(bench.Start(bench.OfX(cuts), bench.OfTile(cuts)));
    CHECK(bench.lone.message() ==
          "kernel: [index-range] a copy (line 9) on core 0 takes 3 elements of dimension 0 of x, "
          "of which it may take 2");
  }
}

TEST_CASE("A wait without a copy, and one too many") {
  Bench bench;
  CHECK_FALSE(bench.Wait());
  CHECK(bench.lone.core.status().code == kSync);
  CHECK(
      bench.lone.message() ==
      "kernel: [sync] nothing to wait for (line 9) on core 0: no copy on sent[0] is in flight, so "
      "this would wait for ever");
  Bench twice;
  twice.Start(twice.OfX(Bench::Part(0, 1, 0, 6)), twice.OfTile(Bench::Part(0, 1, 0, 6)));
  CHECK(twice.Wait());
  CHECK_FALSE(twice.Wait());
  CHECK(twice.lone.core.status().code == kSync);
}

TEST_CASE("A copy that nobody waits for") {
  Bench bench;
  bench.Start(bench.OfX(Bench::Part(0, 1, 0, 6)), bench.OfTile(Bench::Part(0, 1, 0, 6)), 1);
  bench.copies.End();
  CHECK(bench.lone.message() ==
        "kernel: [sync] the copy into tile (line 9) is still in flight on core 0: nobody waited "
        "for sent[1]");
}

/// What a second copy finds while one to columns 2 to 5 of the tile's rows 0 and 1 is in flight.
template <class Second>
std::string WhileInFlight(const Second& second) {
  Bench bench;
  bench.Start(bench.OfX(Bench::Part(0, 2, 0, 4)), bench.OfTile(Bench::Part(0, 2, 2, 4)));
  REQUIRE(bench.lone.core.ok());
  second(bench);
  return bench.lone.message();
}

TEST_CASE("Copies in flight keep to themselves") {
  const std::string written =
      "kernel: [sync] a copy (line 9) writes tile on core 0 while one from x to tile is in flight";
  const std::string read =
      "kernel: [sync] a copy (line 9) reads tile on core 0 while one from x to tile is in flight";
  CHECK(WhileInFlight([](Bench& b) {
          b.Start(b.OfX(Bench::Part(3, 1, 0, 1)), b.OfTile(Bench::Part(1, 1, 5, 1)));
        }) == written);
  CHECK(WhileInFlight([](Bench& b) {
          b.Start(b.OfTile(Bench::Part(1, 1, 2, 1)), b.OfY(Bench::Part(0, 1, 0, 1)));
        }) == read);
  // Beside it, also where bytes interleave: columns 0 and 1, which begin after its first row.
  CHECK(WhileInFlight([](Bench& b) {
          b.Start(b.OfX(Bench::Part(2, 2, 0, 2)), b.OfTile(Bench::Part(1, 2, 0, 2)));
        }) == "");
  // One that begins in a later row and further left.
  CHECK(WhileInFlight([](Bench& b) {
          b.Start(b.OfX(Bench::Part(2, 2, 0, 3)), b.OfTile(Bench::Part(1, 2, 0, 3)));
        }) == written);
  // Two may read the same.
  CHECK(WhileInFlight([](Bench& b) {
          b.Start(b.OfX(Bench::Part(0, 2, 0, 4)), b.OfY(Bench::Part(0, 2, 0, 4)));
        }) == "");
}

/// What the body or the pipeline finds while a copy from row 0 of x to row 1 of the tile is in
/// flight.
template <class Touch>
std::string Touching(const Touch& touch) {
  Bench bench;
  bench.Start(bench.OfX(Bench::Part(0, 1, 0, 6)), bench.OfTile(Bench::Part(1, 1, 0, 6)));
  touch(bench);
  return bench.lone.message();
}

TEST_CASE("A body keeps off what copies in flight touch") {
  const auto row = [](Bench& b, int64_t at) { return b.OfTile(Bench::Part(at, 1, 0, 6)); };
  CHECK(Touching([&](Bench& b) {
          CHECK(b.copies.MayRead(12, [&] { return row(b, 0); }));
          CHECK(b.copies.MayWrite(12, [&] { return row(b, 2); }));
        }) == "");
  CHECK(Touching([&](Bench& b) { b.copies.MayRead(12, [&] { return row(b, 1); }); }) ==
        "kernel: [sync] tile is read (line 12) on core 0 while a copy into it is in flight, which "
        "began in line 9");
  CHECK(Touching([&](Bench& b) { b.copies.MayWrite(12, [&] { return row(b, 1); }); }) ==
        "kernel: [sync] tile is written (line 12) on core 0 while a copy into it is in flight, "
        "which began in line 9");
}

TEST_CASE("The pipeline keeps off what copies in flight touch") {
  const auto move = [](Bench& b, int64_t at, bool writes) {
    b.copies.CheckMove({"o", 3, 7}, b.x.tensor.data, b.OfX(Bench::Part(at, 1, 0, 6)).window,
                       writes);
  };
  CHECK(Touching([&](Bench& b) { move(b, 0, false); }) == "");
  CHECK(Touching([&](Bench& b) { move(b, 1, true); }) == "");
  CHECK(Touching([&](Bench& b) { move(b, 0, true); }) ==
        "kernel: [sync] a block of o (line 7) is copied out on core 0 while a copy from o is in "
        "flight, which began in line 9");
}

TEST_CASE("What is undefined is not copied") {
  Bench bench;
  Emulated::Forget(bench.lone.core, bench.tile.data, TileSize<float>(kRows, kCols));
  CHECK_FALSE(
      bench.Start(bench.OfTile(Bench::Part(0, 1, 0, 6)), bench.OfY(Bench::Part(0, 1, 0, 6))));
  CHECK(bench.lone.message() ==
        "kernel: [undefined] an element of tile that is copied by hand (line 9) on core 0 is "
        "undefined");
}

TEST_CASE("A copy upon itself") {
  Bench bench;
  CHECK_FALSE(
      bench.Start(bench.OfTile(Bench::Part(0, 2, 0, 6)), bench.OfTile(Bench::Part(1, 2, 0, 6))));
  CHECK(bench.lone.message() ==
        "kernel: [sync] the two ends of a copy (line 9) from tile to tile overlap on core 0");
  Bench beside;
  CHECK(
      beside.Start(beside.OfTile(Bench::Part(0, 2, 0, 6)), beside.OfTile(Bench::Part(2, 2, 0, 6))));
}

TEST_CASE("Parts, semaphores and shapes that are not there, in both modes") {
  for (const Options& options : {EmulatedOptions(), Options()}) {
    Bench bench(options);
    CHECK_FALSE(
        bench.Start(bench.OfX(Bench::Part(3, 2, 0, 6)), bench.OfTile(Bench::Part(0, 2, 0, 6))));
    CHECK(bench.lone.core.status().code == kIndexRange);
    CHECK(bench.lone.message() ==
          "kernel: [index-range] a copy (line 9) on core 0 takes 2 elements from 3 on of dimension "
          "0 of x, which has 4");
    Bench negative(options);
    negative.Start(negative.OfX({CutPoint(0, kRows), CutRange(0, 6, kCols)}),
                   negative.OfTile({CutPoint(-1, kRows), CutRange(0, 6, kCols)}));
    CHECK(negative.lone.core.status().code == kIndexRange);
    for (const int64_t slot : {-1, 2}) {
      Bench slots(options);
      CHECK_FALSE(slots.Wait(slot));
      CHECK(slots.lone.message() == "kernel: [index-range] sent[" + std::to_string(slot) +
                                        "] is used (line 9) on core 0, but there are 2 semaphores");
    }
    Bench shapes(options);
    CHECK_FALSE(
        shapes.Start(shapes.OfX(Bench::Part(0, 2, 0, 3)), shapes.OfTile(Bench::Part(0, 3, 0, 2))));
    CHECK(shapes.lone.message() ==
          "kernel: [index-range] the two ends of a copy (line 9) from x to tile differ in size on "
          "core 0");
  }
}

}  // namespace
}  // namespace kiln::dma_test
