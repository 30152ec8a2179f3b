#include "kiln/blocks.h"

#include "tests/catch.h"

namespace kiln {
namespace {

TEST_CASE("blocks of depth are alike, cover it, and cut no word of four bytes") {
  for (const int64_t depth : {1, 7, 8, 333, 512, 513, 4096, 8192, 8193, 100000}) {
    for (const int64_t bytes : {1, 2, 4, 8}) {
      for (const int64_t rows : {1, 32, 33, 4096}) {
        for (const int64_t most : {1024, 6144}) {
          const int64_t block = DepthBlock(depth, bytes, most, /*only_bytes=*/most, rows);
          INFO(depth << " of " << bytes << " bytes, " << rows << " rows: " << block);
          CHECK(block % 8 == 0);
          CHECK(block * DivUp(depth, block) - depth < 8 * DivUp(depth, block));
          CHECK(block <= RoundUp((rows <= 32 ? 512 : most) / bytes, 8));
        }
      }
    }
  }
}

TEST_CASE("a block that is the only one may be deeper than one of several") {
  CHECK(DepthBlock(512, 4, 1536, 2048, 33) == 512);
  CHECK(DepthBlock(513, 4, 1536, 2048, 33) == 264);
  CHECK(DepthBlock(1000, 4, 1536, 2048, 33) == 336);
  CHECK(DepthBlock(512, 4, 1536, 2048, 32) == 128);
}

TEST_CASE("what few rows or columns are multiplied with is packed in small blocks") {
  CHECK(DepthBlock(4096, 1, 6144, 6144, 33) == 4096);
  CHECK(DepthBlock(4096, 1, 6144, 6144, 32) == 512);
  CHECK(DepthBlock(4096, 4, 6144, 6144, 32) == 128);
  CHECK(RowBlock(4096, 1) == 512);
  CHECK(RowBlock(4096, 1, 129, 1000) == 512);
  CHECK(RowBlock(4096, 1, 128, 1000) == 72);
  CHECK(RowBlock(4096, 1, 128, 100000) == 64);
  CHECK(RowBlock(4096, 1, 8, 16) == 512);  // a step has something to do
  CHECK(RowBlock(5, 1, 8, 16) == 8);
  CHECK(RowBlock(0, 1, 8, 0) == 8);
}

TEST_CASE("few rows walk along long pieces of what lies") {
  CHECK(ColumnBlock(10000, 1, 2) == 4096);
  CHECK(ColumnBlock(1000, 2, 1) == 512);
  CHECK(ColumnBlock(10000, 1, 3) == 512);
}

TEST_CASE("y is packed where it meets many rows of x, and read where it lies where it meets few") {
  const auto way = [](int64_t rows, int64_t depth, int64_t row_bytes) {
    return RightWayFor({rows, depth, row_bytes}, /*may_go_along=*/true, /*tiles_may=*/true,
                       /*tall=*/true);
  };
  for (const int64_t rows : {4, 16, 192, 193, 4096}) {  // the L2 keeps it
    CHECK(way(rows, 512, 2048) == RightWay::kTiles);
    CHECK(way(rows, 500, 2000) == (rows > 192 ? RightWay::kPanels : RightWay::kTiles));
  }
  CHECK(way(1, 16, 64) == RightWay::kAlong);
  CHECK(way(3, 512, 2048) == RightWay::kAlong);
  CHECK(way(16, 1000, 4000) == RightWay::kAlong);
  CHECK(way(17, 1000, 4000) == RightWay::kTiles);
  CHECK(way(192, 1000, 4000) == RightWay::kTiles);
  CHECK(way(193, 1000, 4000) == RightWay::kPanels);
  CHECK(way(64, 4096, 16384) == RightWay::kAlong);
  CHECK(way(65, 4096, 16384) == RightWay::kPanels);
  CHECK(way(kUnknownRows, 16, 64) == RightWay::kPanels);
  CHECK(way(17, 1000, 0) == RightWay::kAlong);  // one row, again and again
  CHECK(way(65, 1000, -4000) == RightWay::kPanels);
  CHECK(RightWayFor({17, 1000, 4000}, true, false, true) == RightWay::kAlong);
  CHECK(RightWayFor({17, 1000, 4000}, false, false, true) == RightWay::kPanels);
}

TEST_CASE("tiles of four rows read y where it lies for fewer rows of x, and closer to the core") {
  const auto way = [](int64_t rows, int64_t depth, int64_t row_bytes) {
    return RightWayFor({rows, depth, row_bytes}, /*may_go_along=*/true, /*tiles_may=*/true,
                       /*tall=*/false);
  };
  CHECK(way(3, 1000, 4000) == RightWay::kAlong);
  for (const int64_t rows : {4, 64, 65})
    CHECK(way(rows, 1000, 4000) == (rows > 64 ? RightWay::kPanels : RightWay::kTiles));
  CHECK(way(12, 2000, 8000) == RightWay::kAlong);  // 16 MB
  CHECK(way(13, 2000, 8000) == RightWay::kTiles);
  CHECK(way(13, 4000, 16000) == RightWay::kAlong);  // 64 MB
  CHECK(way(33, 4000, 16000) == RightWay::kPanels);
  CHECK(way(32, 512, 2048) == RightWay::kTiles);  // rows a power of two apart, in an L2
  CHECK(way(33, 512, 2048) == RightWay::kPanels);
  CHECK(way(32, 1024, 4096) == RightWay::kAlong);
  CHECK(way(33, 1024, 4096) == RightWay::kPanels);
  CHECK(way(kUnknownRows, 16, 64) == RightWay::kPanels);
  CHECK(RightWayFor({33, 1000, 4000}, true, false, false) == RightWay::kPanels);
}

TEST_CASE("columns of what lies are short where its rows compete for the caches") {
  CHECK(LyingDepthBytes(512, 2048, 6144) == 6144);
  CHECK(LyingDepthBytes(1000, 4000, 6144) == 4096);
  CHECK(LyingDepthBytes(1024, 4096, 6144) == 1024);
  CHECK(LyingDepthBytes(1000, 6144, 6144) == 1024);
  CHECK(LyingDepthBytes(1000, 4000, 1024) == 1024);
}

}  // namespace
}  // namespace kiln
