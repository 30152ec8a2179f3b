// Copies that Direct leaves where they are, as only few rows of dots read what they bring.
#include "kiln/core/pages.h"

#include <cstring>

#include "tests/runtime/emulate/dma_testing.h"

namespace kiln::dma_test {
namespace {

/// Scratch that nothing else reads, and is full of `kOld`.
struct Left : Bench {
  static constexpr float kOld = -7;
  Tile<float, 2> scratch;

  explicit Left(const Options& options = Options()) : Bench(options) {
    const auto count = static_cast<size_t>(kRows * kCols);
    auto* const memory = static_cast<float*>(lone.core.Allocate(count * sizeof(float)));
    std::fill_n(memory, count, kOld);
    scratch = {memory, {kCols, 1}};
    copies.MayLeave(memory, count * sizeof(float));
  }

  CopyEnd OfScratch(const Cuts& cuts) { return PartOf("scratch", scratch, cuts); }
  bool StartRows(int64_t from, int64_t to, int64_t rows) {
    return Start(OfX(Part(from, rows, 0, kCols)), OfScratch(Part(to, rows, 0, kCols)));
  }
  Pages& pages() { return copies.PagesOf(scratch.data); }
  /// What a dot finds.
  float At(int64_t row, int64_t col) {
    float value;
    std::memcpy(&value, pages().At(scratch.At(row, col)), sizeof(value));
    return value;
  }
  float AtHome(int64_t row, int64_t col) { return *scratch.At(row, col); }
  float OfArray(int64_t row, int64_t col) { return *x.tensor.At<2>({row, col}); }
};

TEST_CASE("On this machine whole pages stay in the array, and are counted as copies") {
  Left bench;
  REQUIRE(bench.StartRows(0, 2, 2));
  REQUIRE(bench.Wait());
  CHECK(bench.At(3, 5) == bench.OfArray(1, 5));
  CHECK(bench.AtHome(3, 5) == Left::kOld);
  CHECK(bench.At(1, 0) == Left::kOld);
  CHECK(bench.RecordOf(kX).copies == 1);
  CHECK(bench.RecordOf(kX).bytes == 2 * kCols * 4);
  REQUIRE(bench.StartRows(0, 0, 4));
  CHECK(bench.At(3, 1) == bench.OfArray(3, 1));
  CHECK(bench.At(0, 1) == bench.OfArray(0, 1));
  bench.copies.End();
  CHECK(bench.lone.core.ok());
}

TEST_CASE("A part of a page moves, and with it what is left of the page") {
  Left bench;
  REQUIRE(bench.StartRows(0, 0, 4));
  REQUIRE(
      bench.Start(bench.OfX(Bench::Part(2, 1, 1, 3)), bench.OfScratch(Bench::Part(1, 1, 0, 3))));
  REQUIRE(bench.Wait());
  CHECK(bench.AtHome(1, 2) == bench.OfArray(2, 3));
  CHECK(bench.AtHome(1, 3) == bench.OfArray(1, 3));
  CHECK(bench.At(1, 2) == bench.OfArray(2, 3));
  CHECK(bench.At(0, 2) == bench.OfArray(0, 2));
  // A whole one takes its place again.
  REQUIRE(bench.StartRows(0, 0, 4));
  CHECK(bench.At(1, 2) == bench.OfArray(1, 2));
}

TEST_CASE("Columns that are no runs of bytes move, and what nobody left comes home at once") {
  Left bench;
  REQUIRE(bench.StartRows(1, 1, 1));
  REQUIRE(
      bench.Start(bench.OfX(Bench::Part(0, 4, 2, 2)), bench.OfScratch(Bench::Part(0, 4, 2, 2))));
  REQUIRE(bench.Wait());
  for (int64_t row = 0; row < kRows; ++row) {
    CHECK(bench.At(row, 2) == bench.OfArray(row, 2));
    CHECK(bench.At(row, 4) == (row == 1 ? bench.OfArray(1, 4) : Left::kOld));
  }
}

TEST_CASE("Once a dot needs it at home, all comes home and moves from then on") {
  Left bench;
  REQUIRE(bench.StartRows(0, 0, 2));
  REQUIRE(bench.Wait());
  bench.pages().Close();
  CHECK(bench.AtHome(1, 5) == bench.OfArray(1, 5));
  REQUIRE(bench.StartRows(3, 1, 1));
  REQUIRE(bench.Wait());
  CHECK(bench.AtHome(1, 5) == bench.OfArray(3, 5));
  CHECK(bench.At(1, 5) == bench.OfArray(3, 5));
}

TEST_CASE("The emulator moves what this machine leaves") {
  Left bench(EmulatedOptions());
  REQUIRE(bench.StartRows(0, 2, 2));
  REQUIRE(bench.Wait());
  CHECK(bench.AtHome(3, 5) == bench.OfArray(1, 5));
  CHECK(bench.At(3, 5) == bench.OfArray(1, 5));
}

TEST_CASE("What is asked for keeps its order, and room however long it takes") {
  static constexpr char kBytes[192] = {};
  Requests requests;
  CHECK(requests.HasAskedForAll());
  requests.Ask(3);
  for (int64_t step = 0; step < 20000; ++step) {  // each asks for some of what the next one reads
    requests.Add(kBytes, sizeof(kBytes), step % 2);
    requests.AskUntil((step + 1) % 2);
    CHECK_FALSE(requests.HasAskedForAll());
    requests.Ask(2);
    CHECK_FALSE(requests.HasAskedForAll());
  }
  requests.Ask(1);
  CHECK(requests.HasAskedForAll());
  requests.Add(kBytes, 1, 0);
  requests.AskUntil(1);  // nobody waits for it
  CHECK_FALSE(requests.HasAskedForAll());
  requests.AskUntil(0);
  CHECK(requests.HasAskedForAll());
}

TEST_CASE("Lines are looked for in pages that have whole ones, and as many as are read at once") {
  alignas(64) char home[384] = {};
  Requests requests;
  Pages pages(home, sizeof(home), &requests);
  CHECK(pages.HasLines(home, 16, 24, 5));  // nothing is away
  REQUIRE(pages.AreWhole(home, 96));
  static constexpr char kElsewhere[96] = {};
  pages.Leave(kElsewhere, home, sizeof(kElsewhere));
  CHECK(pages.At(home + 95) == kElsewhere + 95);
  CHECK(pages.At(home + 96) == home + 96);
  CHECK(pages.HasLines(home, 24, 24, 4));
  CHECK(pages.HasLines(home + 48, 24, 24, 2));
  CHECK_FALSE(pages.HasLines(home + 24, 24, 24, 2));  // from the second of two on
  CHECK_FALSE(pages.HasLines(home, 24, 24, 8));
  CHECK_FALSE(pages.HasLines(home, 40, 40, 1));
  CHECK(pages.HasLines(home + 8, 16, 24, 1));
  CHECK_FALSE(pages.HasLines(home + 12, 16, 24, 1));  // it goes on in the next page
  CHECK_FALSE(pages.HasLines(home, 24, -24, 1));
}

}  // namespace
}  // namespace kiln::dma_test
