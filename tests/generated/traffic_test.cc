// What the emulator's record says of copies: what is skipped causes none, and what stays is copied
// once, as the guide to scalar prefetch promises.
#include <algorithm>
#include <random>
#include <set>

#include "tests/generated/raw_call.h"

namespace kiln::test {
namespace {

using Ints = std::vector<int32_t>;

// ---- dense @ dense under a mask -----------------------------------------------------------------

constexpr int64_t kBlock = 128;
constexpr int64_t kRows = 3, kCols = 4, kDepth = 2;  // in blocks
constexpr int64_t kBlocks = kRows * kCols;
constexpr int64_t kMaskedM = kRows * kBlock - 20, kMaskedN = kCols * kBlock - 9,
                  kMaskedK = kDepth * kBlock - 6;

/// What is to be computed of each block: nothing, the part below the diagonal, or all.
enum Kind { kNone, kHalf, kAll };
using Mask = std::vector<Kind>;

bool IsSet(Kind kind, int64_t r, int64_t c) { return kind == kAll || (kind == kHalf && c <= r); }

/// The block itself if something of it is set, or the next one of which that is true, or the last.
size_t NeededAt(const Mask& mask, size_t block) {
  while (block + 1 < mask.size() && mask[block] == kNone) ++block;
  return block;
}

RawCall MaskedMatmul(const Mask& mask) {
  Ints live, kind, row, col;
  for (size_t b = 0; b < mask.size(); ++b) {
    const size_t next = NeededAt(mask, b);
    live.push_back(mask[b] != kNone);
    kind.push_back(mask[next] == kHalf);
    row.push_back(static_cast<int32_t>(next / kCols));
    col.push_back(mask[next] == kNone ? kCols - 1 : static_cast<int32_t>(next % kCols));
  }
  Ints kinds;
  for (const Kind of : {kAll, kHalf}) {
    for (int64_t r = 0; r < kBlock; ++r) {
      for (int64_t c = 0; c < kBlock; ++c) kinds.push_back(IsSet(of, r, c));
    }
  }
  RawCall call("masked_matmul_f32");
  for (const Ints& map : {live, kind, row, col}) call.Pass(map, {kRows, kCols});
  call.Pass(Ones(kMaskedM * kMaskedK), {kMaskedM, kMaskedK})
      .Pass(Ones(kMaskedK * kMaskedN), {kMaskedK, kMaskedN});
  call.Pass(kinds, {2, kBlock, kBlock});
  call.Pass(std::vector<float>(kMaskedM * kMaskedN, 5.0f), {kMaskedM, kMaskedN});
  return call;
}

void CheckMasked(const Mask& mask) {
  RawCall call = MaskedMatmul(mask);
  RawResult result = call.Run(kEmulatedCore);
  INFO(result.message);
  REQUIRE(result.code == "ok");

  const int64_t live = std::count_if(mask.begin(), mask.end(), [](Kind k) { return k != kNone; });
  // After the last block that is needed the maps name one that has to be brought, once.
  const int64_t after = mask.back() == kNone ? 1 : 0;
  CHECK(result.traffic["x"].copies == live * kDepth + after);
  CHECK(result.traffic["y"].copies == live * kDepth + after);
  CHECK(result.traffic["mask"].copies <= live + after);
  CHECK(result.traffic["o"].copies == kBlocks);
  CHECK(result.traffic["x"].skipped == kBlocks * kDepth - (live * kDepth + after));

  int64_t wrong = 0;
  const auto o = call[7].Values<float>();
  for (int64_t r = 0; r < kMaskedM; ++r) {
    for (int64_t c = 0; c < kMaskedN; ++c) {
      const Kind kind = mask[static_cast<size_t>(r / kBlock * kCols + c / kBlock)];
      const float want = IsSet(kind, r % kBlock, c % kBlock) ? float{kMaskedK} : 0.0f;
      wrong += o[static_cast<size_t>(r * kMaskedN + c)] != want;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("blocks that a mask skips cause no copies") {
  CheckMasked(Mask(kBlocks, kNone));
  CheckMasked(Mask(kBlocks, kAll));
  Mask triangle(kBlocks, kNone);
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j <= i; ++j)
      triangle[static_cast<size_t>(i * kCols + j)] = i == j ? kHalf : kAll;
  }
  CheckMasked(triangle);
  std::mt19937 random(1);
  for (int round = 0; round < 6; ++round) {
    Mask mask;
    for (int64_t b = 0; b < kBlocks; ++b) mask.push_back(static_cast<Kind>(random() % 3));
    CheckMasked(mask);
  }
}

TEST_CASE("a mask of one half block copies what that one needs, and its pattern") {
  Mask mask(kBlocks, kNone);
  mask.back() = kHalf;
  RawCall call = MaskedMatmul(mask);
  RawResult result = call.Run(kEmulatedCore);
  CHECK(result.traffic["x"].copies == kDepth);
  CHECK(result.traffic["mask"].copies == 1);
  CHECK(result.traffic["mask"].bytes == kBlock * kBlock * 4);
}

// ---- sparse @ dense -----------------------------------------------------------------------------

TEST_CASE("a row of sparse blocks writes its output block once") {
  const Ints rows = {0, 0, 0, 2, 2, 5, 9, 9}, cols = {0, 1, 3, 1, 2, 2, 2, 0};
  constexpr int64_t kUsed = 6;  // the rest of the list is not in use
  constexpr int64_t kOuts = 3, kColumns = 2;
  const int64_t capacity = static_cast<int64_t>(rows.size());
  const int64_t m = 6 * kBlock, k = 4 * kBlock, n = kColumns * kBlock;
  RawCall call("sparse_dense_f32");
  call.Pass(rows, {capacity}).Pass(cols, {capacity}).Pass(int32_t{kUsed});
  call.Pass(Ones(capacity * kBlock * kBlock), {capacity, kBlock, kBlock});
  call.Pass(Ones(k * n), {k, n}).Pass(std::vector<float>(static_cast<size_t>(m * n)), {m, n});
  call.Pass(Ones(m * n), {m, n});
  RawResult result = call.Run(kEmulatedCore);
  INFO(result.message);
  REQUIRE(result.code == "ok");
  CHECK(result.traffic["x"].copies == kUsed * kColumns);
  CHECK(result.traffic["y"].copies == (kUsed - 1) * kColumns);  // two blocks in a row need one of y
  CHECK(result.traffic["o"].copies == kOuts * kColumns);
  CHECK(result.traffic["o"].bytes == kOuts * kColumns * kBlock * kBlock * 4);
  CHECK(result.traffic["o"].skipped == (kUsed - kOuts) * kColumns);
  CHECK(result.traffic.count("zeros") == 0);  // lends its memory, and is never copied in

  const auto o = call[6].Values<float>();
  const auto at_row = [&](int64_t block) { return o[static_cast<size_t>(block * kBlock * n)]; };
  CHECK(at_row(0) == 3 * kBlock);
  CHECK(at_row(1) == 0);
  CHECK(at_row(2) == 2 * kBlock);
  CHECK(at_row(5) == 1 * kBlock);
}

// ---- grouped matmul -----------------------------------------------------------------------------

TEST_CASE("a tile that groups share is fetched and written once") {
  constexpr int64_t kTiles = 3, kWidth = 40;
  const int64_t m = kTiles * kBlock;
  // Groups 1 to 3 share the first tile, 3 and 5 the second; 4 is empty and 6, which alone has rows
  // in the third tile, belongs to another shard.
  const Ints sizes = {100, 10, 100, 0, 20, 154};
  RawCall call("gmm_bf16_existing");
  call.Pass(sizes, {6}).Pass(0);
  call.Pass(std::vector<uint16_t>(static_cast<size_t>(m * kWidth)), {m, kWidth});
  call.Pass(std::vector<uint16_t>(5 * kWidth * kWidth), {5, kWidth, kWidth});
  call.Pass(Ones(m * kWidth), {m, kWidth}).Pass(Ones(m * kWidth), {m, kWidth});
  RawResult result = call.Run(kEmulatedCore);
  INFO(result.message);
  REQUIRE(result.code == "ok");
  constexpr int64_t kVisits = 5;             // tile 0 by three groups, tile 1 by two
  CHECK(result.traffic["rhs"].copies == 4);  // groups with rows
  CHECK(result.traffic["rhs"].skipped == kVisits - 4);
  CHECK(result.traffic["lhs"].copies == 2);
  CHECK(result.traffic["existing"].copies == 2);
  CHECK(result.traffic["out"].copies == 2);
}

// ---- gathers ------------------------------------------------------------------------------------

TEST_CASE("equal ids that follow each other fetch a row once") {
  const Ints ids = {3, 3, 3, 0, 0, 5, -1, 3};
  const auto tokens = static_cast<int64_t>(ids.size());
  RawCall call("embedding_gather_f32");
  call.Pass(ids, {tokens}).Pass(Ones(6 * 40), {6, 40}).Pass(Ones(tokens * 40), {tokens, 40});
  call.Pass(Ones(tokens * 40), {tokens, 40});
  RawResult result = call.Run(kEmulatedCore);
  INFO(result.message);
  REQUIRE(result.code == "ok");
  CHECK(result.traffic["table"].copies == 5);  // 3, 0, 5, 0 in place of -1, 3
  CHECK(result.traffic["table"].bytes == 5 * 40 * 4);
  CHECK(result.traffic["o"].copies == tokens);
}

TEST_CASE("pages past a sequence's end are not fetched") {
  const Ints table = {7, 2, 5, 0, 4, 4, 4, 4, 8, 1, 3, 6};
  RawCall call("paged_gather_f32");
  call.Pass(table, {3, 4}).Pass(Ints{20, 0, 32}, {3});
  call.Pass(Ones(9 * 8 * 10), {9, 8, 10}).Pass(Ones(3 * 32 * 10), {3, 32, 10});
  RawResult result = call.Run(kEmulatedCore);
  INFO(result.message);
  REQUIRE(result.code == "ok");
  CHECK(result.traffic["pool"].copies == 3 + 1 + 4);
  CHECK(result.traffic["o"].copies == 3 * 4);
  // Rows of ones up to each length, and then zeros.
  const auto o = call[3].Values<float>();
  CHECK(std::count(o.begin(), o.end(), 1.0f) == (20 + 32) * 10);
  CHECK(std::count(o.begin(), o.end(), 0.0f) == (12 + 32) * 10);
}

}  // namespace
}  // namespace kiln::test
