// What Pallas' guides say in words about the times of their kernels, on the machines as shipped:
// nothing here is a measured time, and no kernel has numbers of its own.
#include <cmath>

#include "tests/catch.h"
#include "tests/predict/predicting.h"

namespace kiln::test {
namespace {

std::map<std::string, int64_t> Cube(int64_t size) {
  return {{"m", size}, {"k", size}, {"n", size}};
}

CostSummary Matmul(int64_t size, int64_t bm, int64_t bk, int64_t bn) {
  return Shipped("matmul_scratch", Blocks(bm, bk, bn), Cube(size)).CostOn(MachineOf("v5e"));
}

double Tens(double share) { return std::round(share * 10) * 10; }

TEST_CASE("large blocks reach 80 to 90 % of a v5e on big matmuls, blocks of 128 about 6 %") {
  for (const int64_t size : {4096, 8192}) {
    const double large = Tens(Matmul(size, 512, 1024, 1024).utilization);
    CHECK(large >= 80);
    CHECK(large <= 90);
    CHECK(std::round(Matmul(size, 128, 128, 128).utilization * 100) == 6);
  }
  CHECK(Matmul(4096, 512, 1024, 1024).bound == "MXU");
  CHECK(Matmul(4096, 128, 128, 128).bound == "steps");
  // "the smallest matmul seems pretty hard to get good performance with"
  CHECK(Matmul(1024, 512, 1024, 1024).utilization < 0.1);
}

TEST_CASE("matmuls cross over from HBM to the matmul unit at about 240 flops a byte") {
  const Machine v5e = MachineOf("v5e");
  CHECK(std::round(v5e.Ridge()) == 240);
  // f32 operands of 1024 are below, bf16 above, where each is copied once.
  const Settings whole = Blocks(1024, 1024, 1024);
  const CostSummary bf16 = Shipped("matmul_scratch", whole, Cube(1024)).CostOn(v5e);
  CHECK(std::round(bf16.intensity) == 341);
  Settings f32 = whole;
  f32.emplace_back("T", "f32");
  CHECK(std::round(Shipped("matmul_scratch", f32, Cube(1024)).CostOn(v5e).intensity) == 171);
}

TEST_CASE("a transposed right operand costs nothing, an activation next to nothing") {
  const Machine v5e = MachineOf("v5e");
  const Settings blocks = Blocks(512, 1024, 1024);
  const double plain = Matmul(4096, 512, 1024, 1024).seconds;
  Settings relu = blocks;
  relu.emplace_back("activation", "1");
  const double transposed = Shipped("matmul_transposed", blocks, Cube(4096)).CostOn(v5e).seconds;
  const double activated = Shipped("matmul_activation", relu, Cube(4096)).CostOn(v5e).seconds;
  CHECK(std::abs(transposed / plain - 1) < 0.001);
  CHECK(std::abs(activated / plain - 1) < 0.02);
}

TEST_CASE("int8 runs at twice bf16 where the matmul unit decides") {
  const CostSummary bf16 = Matmul(8192, 512, 1024, 1024);
  const CostSummary int8 =
      Shipped("matmul_int8", Blocks(512, 2048, 1024), Cube(8192)).CostOn(MachineOf("v5e"));
  CHECK(int8.bound == "MXU");
  CHECK(bf16.seconds / int8.seconds > 1.8);
  CHECK(bf16.seconds / int8.seconds < 2.1);
}

TEST_CASE("two cores nearly halve what computes, and not what copies") {
  const Machine v4 = MachineOf("v4");
  const Subject matmul = Shipped("matmul_scratch", Blocks(512, 1024, 512), Cube(8192));
  const double compute = matmul.CostOn(v4, 1).seconds / matmul.CostOn(v4, 2).seconds;
  CHECK(compute > 1.85);
  CHECK(compute <= 2);
  const Subject add = Shipped("add_megacore", {}, {{"m", 65536}, {"n", 1024}});
  CHECK(add.CostOn(v4, 2).bound == "HBM");
  const double copy = add.CostOn(v4, 1).seconds / add.CostOn(v4, 2).seconds;
  CHECK(copy > 0.95);
  CHECK(copy < 1.1);
}

// The guide to scalar prefetch: 16384 x 16384 matrices
// ----------------------------------------------

constexpr int64_t kSize = 16384;

/// The best dense matmul that the guides have.
double Dense() { return Matmul(kSize, 512, 1024, 1024).seconds; }

/// The guide's kernel as it is: blocks of the list outside, columns inside, and an array of zeros
/// that is read only to have its memory.
constexpr const char* kSparseDense = R"(
kernel: sparse_dense_guide
params: {bm: 512, bn: 512, bk: 512}
dims: [m, k, n, capacity]
prefetch:
  idxs_i: i32[capacity]
  idxs_k: i32[capacity]
grid:
  t: capacity
  j: cdiv(n, bn)
inputs:
  x:
    array: bf16[capacity, bm, bk]
    block: [null, all, all]
    index: t, 0, 0
  y:
    array: bf16[k, n]
    block: bk, bn
    index: idxs_k[t], j
  zeros:
    array: bf16[m, n]
    block: bm, bn
    index: idxs_i[t], j
outputs:
  o:
    array: bf16[m, n]
    block: bm, bn
    index: idxs_i[t], j
    alias: zeros
scratch:
  acc: f32[bm, bn]
body: |
  let start = t == 0 or idxs_i[t] != idxs_i[max(t - 1, 0)]
  when start:
    acc = 0
  acc += dot(x, y)
  let end = t == steps(t) - 1 or idxs_i[t] != idxs_i[min(t + 1, steps(t) - 1)]
  when end:
    o = bf16(acc)
)";

TEST_CASE("sparse @ dense at density 0.1 is about 6 times as fast as dense, of a possible 10") {
  // A tenth of the 32 x 32 blocks, spread evenly and ordered by row.
  std::vector<int64_t> rows, columns;
  for (int64_t block = 0; block < 32 * 32; ++block) {
    if (block * 7 % 10 != 0) continue;
    rows.push_back(block / 32);
    columns.push_back(block % 32);
  }
  const auto count = static_cast<int64_t>(rows.size());
  Inputs inputs;
  inputs.arrays["idxs_i"] = Integers({count}, rows);
  inputs.arrays["idxs_k"] = Integers({count}, columns);
  inputs.dims = {{"m", kSize}, {"k", kSize}, {"n", kSize}, {"capacity", count}};
  const CostSummary sparse =
      Subject("sparse_dense_guide", kSparseDense, {}, inputs).CostOn(MachineOf("v5e"));
  CHECK(sparse.bound == "HBM");
  CHECK(std::round(Dense() / sparse.seconds) == 6);
}

TEST_CASE("a lower triangular mask of the output brings about 1.8 times of 2") {
  constexpr int64_t kTiles = kSize / 512;
  std::vector<int64_t> live, kind, next_i, next_j;
  for (int64_t i = 0; i < kTiles; ++i) {
    for (int64_t j = 0; j < kTiles; ++j) {
      // A skipped block names the next that is not: the first of the row below.
      const bool skipped = j > i;
      live.push_back(!skipped);
      kind.push_back(i == j ? 1 : 0);
      next_i.push_back(skipped ? std::min(i + 1, kTiles - 1) : i);
      next_j.push_back(skipped ? 0 : j);
    }
  }
  const std::vector<int64_t> tiles = {kTiles, kTiles};
  const Subject masked = Shipped("masked_matmul", {},
                                 {{"m", kSize},
                                  {"k", kSize},
                                  {"n", kSize},
                                  {"tiles_m", kTiles},
                                  {"tiles_n", kTiles},
                                  {"kinds", 2}},
                                 {{"block_mask", Integers(tiles, live)},
                                  {"next_kind", Integers(tiles, kind)},
                                  {"next_i", Integers(tiles, next_i)},
                                  {"next_j", Integers(tiles, next_j)}});
  const CostSummary cost = masked.CostOn(MachineOf("v5e"));
  CHECK(cost.skipped_steps > 0);
  // Within a tenth of what is claimed.
  CHECK(Dense() / cost.seconds > 1.62);
  CHECK(Dense() / cost.seconds < 1.98);
}

}  // namespace
}  // namespace kiln::test
