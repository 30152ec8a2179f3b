// Whole messages of the grid check: [tier], and what is left out.
#include <numeric>

#include "tests/check/grid/grid_case.h"

namespace kiln::grid_check_test {
namespace {

using build::Messages;

TEST_CASE("tier: who uses what, in native tiles") {
  Case matmul(R"yaml(
params: {bm: 1024, bn: 1024, bk: 2048}
grid:
  i: cdiv(m, bm)
  j: cdiv(n, bn)
  l: cdiv(k, bk)
inputs:
  x: {array: "bf16[m, k]", block: "bm, bk", index: "i, l", pad: 0}
  y: {array: "bf16[k, n]", block: "bk, bn", index: "l, j", pad: 0}
  bias: {array: "f32[n]", like: z}
outputs:
  z: {array: "bf16[m, n]", block: "bm, bn", index: "i, j"}
scratch:
  acc: f32[bm, bn]
body: |
  when first(l):
    acc = 0
  acc += dot(x, y)
epilogue: |
  z = bf16(acc + bias)
)yaml");
  matmul.Dim("m", 8192).Dim("n", 8192).Dim("k", 8192);
  CHECK(matmul.Check() ==
        Found{"tier: the kernel needs 24.0 MiB of VMEM, which has 16.0 MiB:\n"
              "  `x`     bf16[1024, 2048]  2 x 4.0 MiB  8.0 MiB\n"
              "  `y`     bf16[2048, 1024]  2 x 4.0 MiB  8.0 MiB\n"
              "  `z`     bf16[1024, 1024]  2 x 2.0 MiB  4.0 MiB\n"
              "  `acc`   f32[1024, 1024]       4.0 MiB  4.0 MiB\n"
              "  `bias`  f32[1024]         2 x 4.0 KiB  8.0 KiB | the largest that fits with one "
              "extent changed: "
              "896 in place of 2048 (`x` is then bf16[1024, 896]; 15.0 MiB in all)"});
  matmul.options.vmem_bytes = 32 << 20;
  CHECK(matmul.Check() == Found{});
  matmul.options.vmem_bytes = 0;
  CHECK(matmul.Check() == Found{});
}

TEST_CASE("tier: tiles, words, and blocks that never move") {
  Case small(R"yaml(
prefetch: {ids: "i32[count]"}
scalars: {scale: f32}
grid: {t: count}
inputs:
  fixed: {array: "i8[3, 5]"}
  moving: {array: "i8[count, 33, 5]", block: "null, all, all", index: "t, 0, 0"}
  away: {array: "f32[100, 100]", memory: any}
outputs:
  o: {array: "i32[count]", memory: smem, block: "1", index: t}
body: |
  o[0] = sum(i32(fixed)) + sum(i32(moving)) + i32(scale)
)yaml");
  small.options.vmem_bytes = small.options.smem_bytes = 1;
  CHECK(small.Host("ids", {0, 0, 0}).Check() ==
        Found{"tier: the kernel needs 24 B of SMEM, which has 1 B:\n"
              "  `ids`    i32[3]     12 B  12 B\n"
              "  `o`      i32[1]  2 x 4 B   8 B\n"
              "  `scale`  f32[]       4 B   4 B | cut the arrays into smaller blocks, or leave the "
              "largest in HBM "
              "(memory: any) and copy parts of it",
              "tier: the kernel needs 20.0 KiB of VMEM, which has 1 B:\n"
              "  `moving`  i8[33, 5]  2 x 8.0 KiB  16.0 KiB\n"
              "  `fixed`   i8[3, 5]       4.0 KiB   4.0 KiB | cut the arrays into smaller blocks, "
              "or leave the "
              "largest in HBM (memory: any) and copy parts of it"});
}

TEST_CASE("tier: whatever is smaller than a word takes one in SMEM") {
  Case bytes(R"yaml(
prefetch: {flags: "i8[count]"}
grid: {t: count}
outputs:
  o: {array: "i32[count]", block: "null", index: t}
scratch: {s: {array: "bf16[3]", memory: smem}}
body: |
  o = i32(flags[t])
)yaml");
  bytes.options.smem_bytes = 1;
  CHECK(bytes.Host("flags", {0, 1, 0, 1, 0}).Check() ==
        Found{"tier: the kernel needs 32 B of SMEM, which has 1 B:\n"
              "  `flags`  i8[5]    20 B  20 B\n"
              "  `s`      bf16[3]  12 B  12 B | cut the arrays into smaller blocks, or leave the "
              "largest in HBM "
              "(memory: any) and copy parts of it"});
}

TEST_CASE("what is not bound is not checked") {
  Case gather(kGather);
  gather.Dim("m", 512).Dim("n", 4);
  CHECK(gather.Check() == Found{});  // neither ids nor count
  gather.Dim("count", 3);
  CHECK(gather.Check() == Found{});
}

TEST_CASE("a grid of 10^12 steps is checked by what its maps can distinguish") {
  build::GridBuilder grid;
  using namespace build;
  for (const char* name : {"i", "j", "k", "l"}) grid.AddGrid(name, 1000);
  grid.AddOperand("x", Role::kInput, {4000, 4000}, {4, 4}, {Axis_(0), Axis_(3)});
  const int z = grid.AddOperand("z", Role::kOutput, {4000, 3996}, {4, 4}, {Axis_(0), Axis_(1)});
  grid.AddStore(z, Node_(Op::kLastVisit, DType::kBool, {}, z));
  CHECK(Messages(grid.Check()) == Found{"index-range: block index (0, 999) of `z` at grid point "
                                        "(i=0, j=999, k=0, l=0) is out of range: "
                                        "dimension 1 has 999 blocks of 4 (3996 columns) (and "
                                        "999999999 more grid points) | axis `j` has "
                                        "1000 steps; 999 would do"});
  grid.binding.arrays[1][1] = 4000;
  CHECK(Messages(grid.Check()) == Found{});
}

std::string NotChecked(const std::string& what, const std::string& why) {
  return what + " is not checked: " + why +
         " | check it at smaller sizes that are cut into blocks the same way";
}

TEST_CASE("a map that differs at 10^15 points is not walked, which is said") {
  Case huge(R"yaml(
grid: {i: a, j: b, k: c}
dims: {a: 100000, b: 100000, c: 100000}
inputs:
  x: {array: "f32[n]", block: "1", index: "(i * i + j + k) % n"}
outputs:
  o: {array: "f32[n]", block: "1", index: "(i * i + j + k) % n", init: 0}
body: |
  assert (i * i + j + k) % 7 < 9, "never"
  o += x
)yaml");
  huge.Dim("n", 1000);
  const std::string why = "the grid has 1000000000000000 points, too many to try";
  CHECK(huge.Check() ==
        Found{NotChecked("index-range: whether the index of `x` is in range", why),
              NotChecked("index-range: whether the index of `o` is in range", why),
              NotChecked("revisit: whether every block of `o` is visited, and none left and come "
                         "back to",
                         why),
              NotChecked("assert: whether the assertion holds", why)});
}

TEST_CASE("parts that are too large are named, the others are checked") {
  using namespace build;
  GridBuilder grid;
  for (const char* name : {"i", "j", "k", "l"}) grid.AddGrid(name, int64_t{1} << 20);
  const NodePtr spread = Do(Op::kMod, {Do(Op::kAdd, {Axis_(0), Axis_(3)}), Int(7)});
  grid.AddOperand("x", Role::kInput, {8}, {1}, {Axis_(1)});
  const int z = grid.AddOperand("z", Role::kOutput, {1 << 20}, {1}, {Axis_(0)});
  grid.AddStore(z, Do(Op::kEq, {spread, Int(1)}));
  GridCheckOptions options;
  Diagnostics found = grid.Check(options);
  CHECK(Messages(found) ==
        Found{"index-range: block index 8 of `x` at grid point (i=0, j=8, k=0, l=0) is out of "
              "range: the array has 8 blocks of 1 (8 elements) (and 9223372036854775806 more grid "
              "points) | axis `j` has 1048576 steps; 8 would do",
              NotChecked("coverage: whether every block of `z` that is visited is stored",
                         "the grid has more than 2^63 points, too many to try")});
  CHECK_FALSE(CheckGrid(grid.binding, options, found));
}

TEST_CASE("more blocks than can be accounted for") {
  using namespace build;
  GridBuilder grid;
  grid.AddGrid("i", 10);
  const int z =
      grid.AddOperand("z", Role::kOutput, {int64_t{1} << 60, 4}, {1, 4}, {Axis_(0), Int(0)});
  grid.AddStore(z);
  CHECK(Messages(grid.Check()) ==
        Found{NotChecked("revisit: whether every block of `z` is visited, and none left and come "
                         "back to",
                         "it has 1152921504606846976 blocks, too many to account for")});
}

TEST_CASE("blocks of more cells than can be walked") {
  Case stencil(R"yaml(
prefetch: {from: "i32[n]"}
grid: {i: n}
inputs:
  x: {array: "f32[n]", block: "element(64, halo=(32, 32))", index: "from[i]", pad: 0}
outputs:
  o: {array: "f32[n]", block: "1", index: i, alias: x}
body: |
  o = x[0:1]
)yaml");
  std::vector<int64_t> from(2000);
  std::iota(from.begin(), from.end(), 0);
  stencil.Host("from", from);
  REQUIRE(stencil.Check().size() == 1);  // [alias]: what is read has been written
  stencil.options.work = 300000;
  const Found found = stencil.Check();
  REQUIRE(found.size() == 2);  // what had been found, and that there may be more
  CHECK(found[0].find("alias: ") == 0);
  CHECK(found[1] == NotChecked("revisit: whether every block of `o` is visited, and none left and "
                               "come back to",
                               "the grid has 2000 points, too many to try"));
}

TEST_CASE("loops that are too long to try") {
  Case loop(R"yaml(
grid: {i: a}
inputs:
  x: {array: "f32[16]", block: "16", index: "0"}
outputs:
  o: {array: "f32[a]", block: "1", index: i}
body: |
  o = 0
  for r in range(count):
    o[0] += x[(r * r + i) % 16]
scalars: {count: i64}
)yaml");
  loop.Dim("a", 1000).Host("count", {1000000000});
  CHECK(loop.Check() ==
        Found{NotChecked("index-range: whether the subscript of `x` is in range",
                         "the grid and the loops around it have too many steps to try")});
}

}  // namespace
}  // namespace kiln::grid_check_test
