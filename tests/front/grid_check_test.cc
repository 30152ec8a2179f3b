// Whole messages of the grid check, for specs with sizes.
#include "generator/front/grid_check.h"

#include "tests/catch.h"
#include "tests/front/grid_builder.h"

namespace kiln {
namespace {

using build::Findings;
using build::Ints;
using Found = std::vector<std::string>;

/// A spec that is right by itself, and sizes that it is checked with.
struct Case {
  std::unique_ptr<Kernel> kernel;
  Inputs inputs;
  GridCheckOptions options;

  explicit Case(const std::string& text) {
    const auto source = std::make_shared<const Source>("-", "kernel: k\n" + text);
    Diagnostics diagnostics;
    const auto spec = ParseSpec(source, diagnostics);
    if (spec) kernel = CheckSpec(*spec, {}, diagnostics);
    INFO(Render(diagnostics, *source));
    REQUIRE(kernel);
  }
  Case& Dim(const std::string& name, int64_t value) {
    inputs.dims[name] = value;
    return *this;
  }
  Case& Host(const std::string& name, const std::vector<int64_t>& values) {
    const Ref& ref = kernel->refs[static_cast<size_t>(kernel->FindRef(name))];
    std::vector<int64_t> shape;
    if (ref.role != Role::kScalar) shape = {static_cast<int64_t>(values.size())};
    inputs.arrays[name] = Ints(shape, values, ref.dtype);
    return *this;
  }
  Found Check() const {
    Diagnostics diagnostics;
    const auto binding = Bind(*kernel, inputs, /*partial=*/true, diagnostics);
    INFO(Render(diagnostics, *kernel->source));
    REQUIRE(binding);
    REQUIRE(diagnostics.empty());
    CheckGrid(*binding, options, diagnostics);
    return Findings(diagnostics);
  }
};

constexpr const char* kGather = R"yaml(
prefetch: {ids: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[m, n]", block: "128, all", index: "ids[t], 0"}
outputs:
  o: {array: "f32[count]", block: "null", index: t, init: 0}
body: |
  o = sum(x)
)yaml";

TEST_CASE("index-range: a block index") {
  Case gather(kGather);
  gather.Dim("m", 512).Dim("n", 4);
  CHECK(gather.Host("ids", {0, 1, 3, 3}).Check() == Found{});
  CHECK(gather.Host("ids", {0, 1, 2, 4, 5, 9}).Check() ==
        Found{"index-range: block index (4, 0) of `x` at grid point (t=3) is out of range: "
              "dimension 0 has 4 "
              "blocks of 128 (512 rows); `ids[3]` is 4 (and 2 more grid points)"});
  CHECK(gather.Host("ids", {-1}).Check() == Found{"index-range: block index (-1, 0) of `x` at grid "
                                                  "point (t=0) is out of range: dimension 0 has 4 "
                                                  "blocks of 128 (512 rows); `ids[0]` is -1"});
}

TEST_CASE("index-range: element offsets where block indices belong") {
  Case gather(kGather);
  CHECK(gather.Dim("m", 512).Dim("n", 4).Host("ids", {0, 128, 256}).Check() ==
        Found{"index-range: block index (128, 0) of `x` at grid point (t=1) is out of range: "
              "dimension 0 has 4 "
              "blocks of 128 (512 rows); `ids[1]` is 128 (and 1 more grid point) | an index map "
              "gives a "
              "block index, not an element offset: divide it by the block's 128"});
}

TEST_CASE("index-range: several findings when asked for") {
  Case gather(kGather);
  gather.options.findings_per_rule = 2;
  const Found found = gather.Dim("m", 512).Dim("n", 4).Host("ids", {4, 5, 6}).Check();
  REQUIRE(found.size() == 2);
  CHECK(found[0].find("(t=0)") != std::string::npos);
  CHECK(found[0].find("more") == std::string::npos);
  CHECK(found[1].find("(t=1)") != std::string::npos);
  CHECK(found[1].find("(and 1 more grid point)") != std::string::npos);
}

TEST_CASE("index-range: a prefetch element in an index map") {
  Case next(R"yaml(
prefetch: {ids: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[m]", block: "4", index: "where(ids[t] == ids[t + 1], 0, 1)"}
outputs:
  o: {array: "f32[count]", block: "null", index: t, init: 0}
body: |
  o = sum(x)
)yaml");
  CHECK(next.Dim("m", 8).Host("ids", {0, 1, 2}).Check() ==
        Found{"index-range: subscript 3 of prefetch array `ids` in the index of `x` at grid point "
              "(t=2) is out of "
              "range: `ids` has 3 elements"});
}

TEST_CASE("index-range: overflow and division by zero of an index expression") {
  Case big(R"yaml(
prefetch: {ids: "i64[count]"}
scalars: {d: i32}
grid: {t: count}
inputs:
  x: {array: "f32[m]", block: "4", index: "ids[t] * 4 // 4"}
  y: {array: "f32[m]", block: "4", index: "ids[t] // d - ids[t] // d"}
outputs:
  o: {array: "f32[count]", block: "null", index: t, init: 0}
body: |
  o = sum(x) + sum(y)
)yaml");
  big.Dim("m", 4).Host("ids", {0, int64_t{1} << 62}).Host("d", {0});
  CHECK(big.Check() ==
        Found{"index-range: the index of `x` overflows 64 bits at grid point (t=1)",
              "index-range: the index of `y` divides by zero at grid point (t=0) (and 1 "
              "more grid point)"});
}

TEST_CASE("index-range: element and bounded windows") {
  Case element(R"yaml(
prefetch: {at: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[n]", block: "element(4, halo=(1, 1))", index: "at[t]", pad: 0}
outputs:
  o: {array: "f32[count]", block: "null", index: t, init: 0}
body: |
  o = sum(x)
)yaml");
  element.Dim("n", 16);
  CHECK(element.Host("at", {0, 3, 17}).Check() == Found{});
  CHECK(element.Host("at", {0, 3, 18}).Check() ==
        Found{"index-range: element offset 18 of `x` at grid point (t=2) is out of range: the "
              "array takes offsets "
              "0 to 17 (16 elements and a halo of 1 + 1); `at[2]` is 18"});
  Case bounded(R"yaml(
prefetch: {at: "i32[count]", length: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[n]", block: "bounded(8)", index: "ds(at[t], length[t])", pad: 0}
outputs:
  o: {array: "f32[count]", block: "null", index: t, init: 0}
body: |
  o = sum(x)
)yaml");
  bounded.Dim("n", 16);
  CHECK(bounded.Host("at", {0, 8, 16}).Host("length", {8, 8, 0}).Check() == Found{});
  CHECK(
      bounded.Host("at", {0, 3, 10}).Host("length", {8, 9, 8}).Check() ==
      Found{"index-range: window ds(3, 9) of `x` at grid point (t=1) is out of range: the array "
            "takes at most 8 "
            "elements within 16 elements; `at[1]` is 3, `length[1]` is 9 (and 1 more grid point)"});
}

TEST_CASE("index-range: subscripts of the body, under conditions and in loops") {
  Case body(R"yaml(
prefetch: {at: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[8, 16]"}
outputs:
  o: {array: "f32[count, 16]", block: "null, all", index: "t, 0"}
body: |
  o = x[at[t]]
  for r in range(0, at[t]):
    o[r * 4] = 1
  when at[t] < 3:
    o[ds(at[t] * 6, 8)] = 0
  when sum(x) > 0:
    o[at[t] * 100] = 0
)yaml");
  CHECK(body.Host("at", {0, 1, 1}).Check() == Found{});
  CHECK(body.Host("at", {0, 8, 2}).Check() ==
        Found{"index-range: subscript 8 of dimension 0 of `x` at grid point (t=1) is out of range: "
              "it has 8 "
              "elements; `at[1]` is 8",
              "index-range: subscript 28 of `o` at grid point (t=1), r=7 is out of range: it has "
              "16 elements"});
  CHECK(body.Host("at", {0, 2, 0}).Check() ==
        Found{"index-range: slice [12:20] of `o` at grid point (t=1) is out of range: it has 16 "
              "elements; `at[1]` "
              "is 2"});
}

TEST_CASE("index-range: a prefetch element in the body, read only where the condition allows it") {
  const std::string head = R"yaml(
prefetch: {next: "i32[count]"}
grid: {t: count}
outputs:
  o: {array: "i32[count]", block: "null", index: t, init: 0}
body: |
)yaml";
  Case guarded(head + "  when t + 1 < count and next[t + 1] > 0:\n    o = next[t + 1]\n");
  CHECK(guarded.Host("next", {1, 2, 3}).Check() == Found{});
  Case open(head + "  when next[t + 1] > 0 and t + 1 < count:\n    o = 1\n");
  CHECK(open.Host("next", {1, 2, 3}).Check() ==
        Found{"index-range: subscript 3 of prefetch array `next` at grid point (t=2) is out of "
              "range: it has 3 "
              "elements"});
}

TEST_CASE("assert: over host values") {
  Case asserting(R"yaml(
prefetch: {starts: "i32[count]"}
grid: {t: count}
outputs:
  o: {array: "i32[count]", block: "null", index: t}
body: |
  let s = starts[t]
  assert s % 8 == 0, "starts must be multiples of 8"
  o = s // 8
)yaml");
  CHECK(asserting.Host("starts", {8, 16}).Check() == Found{});
  CHECK(asserting.Host("starts", {8, 12, 13}).Check() ==
        Found{"assert: the assertion fails at grid point (t=1): starts must be multiples of 8 (and "
              "1 more grid "
              "point)"});
}

TEST_CASE("coverage: blocks that no step visits") {
  const std::string text = R"yaml(
grid: {i: "m // 8"}
inputs:
  x: {array: "f32[m, n]", block: "8, all", index: "i, 0"}
outputs:
  o: {array: "f32[m, n]", block: "8, all", index: "i, 0"}
body: |
  o = x * 2
)yaml";
  Case floor(text);
  CHECK(floor.Dim("m", 16).Dim("n", 4).Check() == Found{});
  CHECK(floor.Dim("m", 20).Check() == Found{"coverage: no step visits block (2, 0) of `o` (rows "
                                            "16..19, columns 0..3) | `m // 8` drops the "
                                            "ragged rest: use cdiv(m, 8)"});
  CHECK(floor.Dim("m", 0).Check() == Found{});
  CHECK(floor.Dim("m", 4).Check() ==
        Found{"coverage: the grid has no steps, so no block of `o` is ever written"});
}

TEST_CASE("coverage: stays in which no store runs") {
  Case stores(R"yaml(
prefetch: {rows: "i32[count]", live: "i32[count]"}
grid: {t: count, l: 2}
dimension_semantics: parallel, arbitrary
inputs:
  x: {array: "f32[8, 16]"}
outputs:
  o: {array: "f32[n, 16]", block: "null, all", index: "rows[t], 0"}
body: |
  when live[t] != 0 and last(l):
    o = sum(x, axis=0)
)yaml");
  stores.Dim("n", 3).Host("rows", {0, 1, 2});
  CHECK(stores.Host("live", {1, 1, 1}).Check() == Found{});
  CHECK(stores.Host("live", {1, 0, 0}).Check() ==
        Found{"coverage: block (1, 0) of `o` is visited at grid point (t=1, l=0), but no store "
              "into it runs in "
              "that stay (and 1 more block) | store into every block that is visited, or give the "
              "output "
              "an `init`"});
  CHECK(stores.Dim("n", 5).Host("live", {1, 1, 1}).Check() ==
        Found{"coverage: no step visits 2 of the 5 blocks of `o`; the first is (3, 0) (row 3, "
              "columns 0..15) | "
              "let some step visit every block, or give the output an `init` for those that none "
              "does"});
}

TEST_CASE("coverage: a condition on the data may hold") {
  Case data(R"yaml(
prefetch: {live: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[count]", block: "null", index: t}
outputs:
  o: {array: "f32[count]", block: "null", index: t}
body: |
  when live[t] != 0 and x > 0:
    o = x
)yaml");
  CHECK(data.Host("live", {1, 1}).Check() == Found{});
  CHECK(data.Host("live", {1, 0}).Check().size() == 1);  // whatever x is
}

constexpr const char* kScatter = R"yaml(
prefetch: {rows: "i32[count]"}
grid: {t: count, l: 2}
dimension_semantics: SEMANTICS, arbitrary
inputs:
  x: {array: "f32[count, 8]", block: "null, all", index: "t, 0"}
outputs:
  o: {array: "f32[n, 8]", block: "null, all", index: "rows[t], 0", init: 0}
body: |
  o = x
)yaml";

std::string Scatter(const std::string& semantics) {
  std::string text = kScatter;
  text.replace(text.find("SEMANTICS"), 9, semantics);
  return text;
}

TEST_CASE("revisit: one core comes back to a block") {
  Case scatter(Scatter("arbitrary"));
  scatter.Dim("n", 4);
  CHECK(scatter.Host("rows", {2, 2, 0, 3}).Check() == Found{});
  CHECK(scatter.Host("rows", {2, 0, 2, 0}).Check() ==
        Found{"revisit: block (2, 0) of `o` is left and come back to: visited at (t=0, l=0) and "
              "again at (t=2, "
              "l=0); what the first visit wrote is lost (and 1 more block) | sort `rows` so that "
              "the steps that "
              "visit one block follow each other"});
}

TEST_CASE("revisit: the axis to make minor") {
  Case major(R"yaml(
prefetch: {rows: "i32[count]"}
grid: {t: count, j: "cdiv(n, 8)"}
inputs:
  x: {array: "f32[count, n]", block: "null, 8", index: "t, j"}
outputs:
  o: {array: "f32[m, n]", block: "null, 8", index: "rows[t], j", init: 0}
body: |
  o += x
)yaml");
  major.Dim("m", 3).Dim("n", 16);
  CHECK(major.Host("rows", {0, 0, 2}).Check() ==
        Found{"revisit: block (0, 0) of `o` is left and come back to: visited at (t=0, j=0) and "
              "again at (t=1, "
              "j=0); what the first visit wrote is lost (and 1 more block) | make `t` the "
              "minormost axis of the "
              "grid, in the order j, t, so that all visits of a block follow each other"});
  CHECK(major.Host("rows", {0, 1, 2}).Check() == Found{});
}

TEST_CASE("revisit: blocks that overlap without being the same") {
  Case overlap(R"yaml(
prefetch: {at: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[4, 16]"}
outputs:
  o: {array: "f32[n, 16]", block: "element(4), all", index: "at[t], 0", init: 0}
body: |
  o = x
)yaml");
  overlap.Dim("n", 8);
  CHECK(overlap.Host("at", {0, 4}).Check() == Found{});
  CHECK(overlap.Host("at", {0, 2, 4}).Check() ==
        Found{"revisit: block (2, 0) of `o` at (t=1) overlaps block (0, 0) of `o` at (t=0) in rows "
              "2..3, columns "
              "0..15; the later copy-out overwrites the earlier one (and 1 more overlapping block) "
              "| let the "
              "blocks of outputs be disjoint"});
}

TEST_CASE("race: two parallel steps write one block") {
  Case scatter(Scatter("parallel"));
  scatter.Dim("n", 4);
  CHECK(scatter.Host("rows", {2, 1, 0}).Check() == Found{});
  CHECK(scatter.Host("rows", {2, 1, 2, 2}).Check() ==
        Found{"race: grid points (t=0, l=0) and (t=2, l=0) differ along the parallel axis `t` and "
              "both write "
              "block (2, 0) of `o` | make `t` `arbitrary` in dimension_semantics, or let different "
              "steps along "
              "it write different blocks"});
}

constexpr const char* kInPlace = R"yaml(
prefetch: {from: "i32[count]"}
grid: {t: count}
dimension_semantics: SEMANTICS
inputs:
  x: {array: "f32[n, 16]", block: "null, all", index: "from[t], 0"}
outputs:
  o: {array: "f32[n, 16]", block: "null, all", index: "t, 0", alias: x}
body: |
  o = x
)yaml";

TEST_CASE("alias and race: reading what an output took over") {
  std::string text = kInPlace;
  text.replace(text.find("SEMANTICS"), 9, "arbitrary");
  Case serial(text);
  serial.Dim("n", 5);
  CHECK(serial.Host("from", {0, 1, 3, 4}).Check() == Found{});  // reads run ahead of writes
  CHECK(serial.Host("from", {0, 1, 0, 2}).Check() ==
        Found{"alias: block (0, 0) of `x` is copied in at (t=2), after (t=0) has visited block (0, "
              "0) of `o`, "
              "which shares its memory: whether it holds old or new values depends on the pipeline "
              "(and 1 more "
              "block) | read the block no later than the first step that visits it, or drop the "
              "alias"});
  text = kInPlace;
  text.replace(text.find("SEMANTICS"), 9, "parallel");
  Case parallel(text);
  parallel.Dim("n", 5);
  CHECK(parallel.Host("from", {0, 1, 2, 4}).Check() == Found{});
  CHECK(parallel.Host("from", {0, 3, 2, 3}).Check() ==
        Found{"race: grid point (t=1) reads block (3, 0) of `x`, whose memory (t=3) writes as "
              "block (3, 0) of "
              "`o`; they differ along the parallel axis `t` | make `t` `arbitrary` in "
              "dimension_semantics, or "
              "drop the alias"});
}

TEST_CASE("key: the epilogue's outputs must have the same stays") {
  Case epilogue(R"yaml(
prefetch: {g: "i32[count]"}
grid: {t: count}
outputs:
  o: {array: "f32[groups]", block: "null", index: "g[t]", init: 0}
  p: {array: "f32[groups]", block: "null", index: "g[t] // 2", init: 0}
body: |
  let unused = t
epilogue: |
  o = 1
  p = 2
)yaml");
  epilogue.Dim("groups", 6);
  CHECK(epilogue.Host("g", {0, 0, 2, 4}).Check() == Found{});
  CHECK(epilogue.Host("g", {0, 1, 2}).Check() ==
        Found{"key: the outputs of the epilogue must change blocks at the same steps, but at grid "
              "point (t=1) `o` "
              "begins another block and `p` does not | store the one that changes less often in "
              "the body, when "
              "last(o) holds for it"});
}

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

TEST_CASE("what is not bound is not checked") {
  Case gather(kGather);
  gather.Dim("m", 512).Dim("n", 4);
  CHECK(gather.Check() == Found{});  // neither ids nor count
  gather.Dim("count", 3);
  CHECK(gather.Check() == Found{});
}

TEST_CASE("a grid of 10^12 steps is checked by what its maps can tell apart") {
  build::GridBuilder grid;
  using namespace build;
  for (const char* name : {"i", "j", "k", "l"}) grid.AddGrid(name, 1000);
  grid.AddOperand("x", Role::kInput, {4000, 4000}, {4, 4}, {Axis_(0), Axis_(3)});
  const int z = grid.AddOperand("z", Role::kOutput, {4000, 3996}, {4, 4}, {Axis_(0), Axis_(1)});
  grid.AddStore(z, Node_(Op::kLastVisit, DType::kBool, {}, z));
  CHECK(Findings(grid.Check()) == Found{"index-range: block index (0, 999) of `z` at grid point "
                                        "(i=0, j=999, k=0, l=0) is out of range: "
                                        "dimension 1 has 999 blocks of 4 (3996 columns) (and "
                                        "999999999 more grid points) | axis `j` has "
                                        "1000 steps; 999 would do"});
  grid.binding.arrays[1][1] = 4000;
  CHECK(Findings(grid.Check()) == Found{});
}

}  // namespace
}  // namespace kiln
