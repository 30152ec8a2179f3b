#include "kiln/core/blocks.h"

#include "tests/catch.h"

namespace kiln {
namespace {

TEST_CASE("blocks of K have one size, cover it, and end between k-groups") {
  for (const int64_t depth : {1, 7, 8, 333, 512, 513, 4096, 8192, 8193, 100000}) {
    for (const int64_t bytes : {1, 2, 4, 8}) {
      for (const int64_t rows : {1, 32, 33, 4096}) {
        for (const int64_t most : {1024, 6144}) {
          const int64_t block = ChooseKC(depth, bytes, most, /*single_bytes=*/most, rows);
          INFO(depth << " of " << bytes << " bytes, " << rows << " rows: " << block);
          CHECK(block % 8 == 0);
          CHECK(block * DivUp(depth, block) - depth < 8 * DivUp(depth, block));
          CHECK(block <= RoundUp((rows <= 32 ? 512 : most) / bytes, 8));
        }
      }
    }
  }
}

TEST_CASE("a single block of K may be deeper than one of several") {
  CHECK(ChooseKC(512, 4, 1536, 2048, 33) == 512);
  CHECK(ChooseKC(513, 4, 1536, 2048, 33) == 264);
  CHECK(ChooseKC(1000, 4, 1536, 2048, 33) == 336);
  CHECK(ChooseKC(512, 4, 1536, 2048, 32) == 128);
}

TEST_CASE("panels for few rows or columns are packed in small blocks") {
  CHECK(ChooseKC(4096, 1, 6144, 6144, 33) == 4096);
  CHECK(ChooseKC(4096, 1, 6144, 6144, 32) == 512);
  CHECK(ChooseKC(4096, 4, 6144, 6144, 32) == 128);
  CHECK(ChooseMC(kTypicalCpu, 4096, 1) == 512);
  CHECK(ChooseMC(kTypicalCpu, 4096, 1, 129, 1000) == 512);
  CHECK(ChooseMC(kTypicalCpu, 4096, 1, 128, 1000) == 72);
  CHECK(ChooseMC(kTypicalCpu, 4096, 1, 128, 100000) == 64);
  CHECK(ChooseMC(kTypicalCpu, 4096, 1, 8, 16) == 512);      // a step has something to do
  CHECK(ChooseMC(kTypicalCpu, 4096, 1, 8, 100000) == 512);  // which is not packed
  CHECK(ChooseMC(kTypicalCpu, 5, 1, 8, 16) == 8);
  CHECK(ChooseMC(kTypicalCpu, 0, 1, 8, 0) == 8);
}

TEST_CASE("the fewer rows stream a B the longer are the pieces of its rows") {
  CHECK(ChooseNC(10000, 1, 1) == 4096);
  CHECK(ChooseNC(10000, 1, 4) == 4096);
  CHECK(ChooseNC(1000, 2, 1) == 512);
  CHECK(ChooseNC(10000, 1, 5) == 2048);
  CHECK(ChooseNC(10000, 1) == 2048);
  CHECK(ChooseNC(100000, 1, 1, StoredCols) == 16384);
  CHECK(ChooseNC(100000, 1, 3, StoredCols) == 4096);
  CHECK(ChooseNC(100000, 1, 300, StoredCols) == 2048);
  CHECK(StreamedCols(5) == 2048);
  CHECK(StreamedCols(16) == 1024);
  CHECK(StreamedCols(17) == 512);
  CHECK(NarrowCols(2) == 2048);
  CHECK(NarrowCols(3) == 1344);  // whole panels
  CHECK(NarrowCols(8) == 512);
}

TEST_CASE("a B that stays is packed for the rows of all steps, unless each has very few") {
  CHECK(RowsOfStay(64, 128) == 64 * 128);
  CHECK(RowsOfStay(4, 100) == 400);
  CHECK(RowsOfStay(3, 100) == 3);
  CHECK(RowsOfStay(1, 1 << 20) == 1);
}

TEST_CASE("B is packed for many rows of A, and read unpacked for few") {
  const auto way = [](int64_t rows, int64_t depth, int64_t row_bytes) {
    return ChooseBAccess(kTypicalCpu, {rows, depth, row_bytes}, /*few_rows=*/64,
                         /*can_read_unpacked=*/true,
                         /*tiles_of_8_rows=*/true);
  };
  for (const int64_t rows : {4, 16, 768, 769, 1536, 1537}) {  // the L2 keeps it
    CHECK(way(rows, 512, 2048) == (rows > 1536 ? BAccess::kPacked : BAccess::kUnpackedTiles));
    CHECK(way(rows, 500, 2000) == (rows > 768 ? BAccess::kPacked : BAccess::kUnpackedTiles));
  }
  CHECK(way(1, 16, 64) == BAccess::kUnpackedRows);
  CHECK(way(3, 512, 2048) == BAccess::kUnpackedRows);
  CHECK(way(16, 1000, 4000) == BAccess::kUnpackedRows);
  CHECK(way(17, 1000, 4000) == BAccess::kUnpackedTiles);
  CHECK(way(768, 1000, 4000) == BAccess::kUnpackedTiles);
  CHECK(way(769, 1000, 4000) == BAccess::kPacked);
  for (const int64_t rows : {320, 321})  // rows that share few sets
    CHECK(way(rows, 1024, 4096) == (rows > 320 ? BAccess::kPacked : BAccess::kUnpackedTiles));
  CHECK(way(47, 4096, 16384) == BAccess::kUnpackedRows);  // from memory
  CHECK(way(48, 4096, 16384) == BAccess::kUnpackedTiles);
  CHECK(way(320, 4096, 16384) == BAccess::kUnpackedTiles);
  CHECK(way(321, 4096, 16384) == BAccess::kPacked);
  CHECK(way(63, 4096, 16388) == BAccess::kUnpackedRows);  // begin within lines
  CHECK(way(64, 4096, 16388) == BAccess::kUnpackedTiles);
  CHECK(ChooseBAccess(kTypicalCpu, {17, 500, 2000, 1 << 26}, 64, true, true) ==
        BAccess::kUnpackedRows);  // a part of what is in memory
  CHECK(way(kUnknownRows, 16, 64) == BAccess::kPacked);
  CHECK(way(17, 1000, 0) == BAccess::kUnpackedRows);  // one row, again and again
  CHECK(way(65, 1000, -4000) == BAccess::kPacked);
  CHECK(ChooseBAccess(kTypicalCpu, {17, 1000, 4000}, 64, false, true) == BAccess::kUnpackedRows);
  CHECK(ChooseBAccess(kTypicalCpu, {17, 1000, 4000}, 8, false, true) == BAccess::kPacked);
}

TEST_CASE("tiles of four rows read B unpacked for fewer rows of A, and closer to the core") {
  const auto way = [](int64_t rows, int64_t depth, int64_t row_bytes) {
    return ChooseBAccess(kTypicalCpu, {rows, depth, row_bytes}, /*few_rows=*/32,
                         /*can_read_unpacked=*/true,
                         /*tiles_of_8_rows=*/false);
  };
  CHECK(way(3, 1000, 4000) == BAccess::kUnpackedRows);
  for (const int64_t rows : {4, 64, 65})
    CHECK(way(rows, 1000, 4000) == (rows > 64 ? BAccess::kPacked : BAccess::kUnpackedTiles));
  CHECK(way(12, 2000, 8000) == BAccess::kUnpackedRows);  // 16 MB
  CHECK(way(13, 2000, 8000) == BAccess::kUnpackedTiles);
  CHECK(way(13, 4000, 16000) == BAccess::kUnpackedRows);  // 64 MB
  CHECK(way(33, 4000, 16000) == BAccess::kPacked);
  CHECK(way(32, 512, 2048) == BAccess::kUnpackedTiles);  // rows a power of two apart, in an L2
  CHECK(way(33, 512, 2048) == BAccess::kPacked);
  CHECK(way(32, 1024, 4096) == BAccess::kUnpackedRows);
  CHECK(way(33, 1024, 4096) == BAccess::kPacked);
  CHECK(way(kUnknownRows, 16, 64) == BAccess::kPacked);
  CHECK(ChooseBAccess(kTypicalCpu, {33, 1000, 4000}, 32, false, false) == BAccess::kPacked);
}

TEST_CASE("columns of an unpacked B are short where its rows share cache sets") {
  CHECK(UnpackedKCBytes(kTypicalCpu, 512, 2048, 6144) == 6144);
  CHECK(UnpackedKCBytes(kTypicalCpu, 1000, 4000, 6144) == 4096);
  CHECK(UnpackedKCBytes(kTypicalCpu, 1024, 4096, 6144) == 1024);
  CHECK(UnpackedKCBytes(kTypicalCpu, 1000, 6144, 6144) == 1024);
  CHECK(UnpackedKCBytes(kTypicalCpu, 1000, 4000, 1024) == 1024);
}

TEST_CASE("blocks and thresholds follow the sizes of the caches") {
  const Cpu small{32 << 10, 256 << 10, 4 << 20}, large{48 << 10, 2 << 20, 32 << 20};
  CHECK(PassSize(small, 1 << 20) == 16 << 10);
  CHECK(PassSize(large, 1 << 20) == 128 << 10);
  CHECK(StripSize(large, 1 << 20) == 12 << 10);
  const auto kc_bytes = [](const Cpu& cpu, bool long_rows) {
    return KCBytesFor(cpu, /*tiles_of_8_rows=*/false, long_rows);
  };
  CHECK(KCBytesFor(kTypicalCpu, /*tiles_of_8_rows=*/true, /*long_rows=*/false).most == 6144);
  CHECK(kc_bytes(kTypicalCpu, false).most == 1536);
  CHECK(kc_bytes(kTypicalCpu, false).single == 2048);
  CHECK(kc_bytes(large, false).most == 1536);
  CHECK(kc_bytes(large, false).single == 1536);
  CHECK(kc_bytes(large, true).single == 3072);
  const UnpackedB b{400, 512, 2048};  // 1 MiB
  CHECK(UnpackedPaysFor8Rows(kTypicalCpu, b));
  CHECK_FALSE(UnpackedPaysFor8Rows(small, b));
  CHECK(UnpackedPaysFor8Rows(large, {400, 1024, 2048}));
  CHECK(UnpackedPaysFor8Rows(large, {192, 1000, 4000}));  // an L2 of 2 MiB
  CHECK_FALSE(UnpackedPaysFor8Rows(large, {193, 1000, 4000}));
  CHECK_FALSE(UnpackedPaysFor8Rows(large, {128, 4096, 16384}));
}

TEST_CASE("what is given of a CPU goes before what is detected, which is always something") {
  const Cpu detected = CompletedCpu({});
  CHECK(detected.l1_bytes >= 8 << 10);
  CHECK(detected.l2_bytes >= 128 << 10);
  CHECK(detected.last_cache_bytes >= detected.l2_bytes);
  const Cpu some = CompletedCpu({0, 12345, 0});
  CHECK(some.l1_bytes == detected.l1_bytes);
  CHECK(some.l2_bytes == 12345);
  CHECK(some.last_cache_bytes == detected.last_cache_bytes);
  CHECK(PageBytes() >= 4096);
}

}  // namespace
}  // namespace kiln
