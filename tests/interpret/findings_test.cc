// What the interpreter finds, with the whole message. CheckGrid, which finds much of it earlier,
// is not asked.

#include "tests/catch.h"
#include "tests/interpret/testing.h"

namespace kiln::testing {
namespace {

/// The findings of a run, rendered.
std::string Find(const std::string& text, const Inputs& inputs = {}) {
  return RunSpec(text, inputs).findings;
}

const Inputs kSix{{{"x", Counting(DType::kF32, {6})}}, {}};

TEST_CASE("undefined: an output that is added to before it is set") {
  CHECK(
      Find(R"spec(
kernel: k
prefetch: {set: "i32[2]"}
grid: {i: 2, l: 3}
outputs:
  o: {array: "i32[2]", block: "1", index: i}
body: |
  when first(l) and set[i] == 1:
    o = 0
  o += l
)spec",
           {{{"set", Ints({2}, {1, 0})}}, {}}) ==
      R"out(k.yaml:10:3: error[undefined]: `o` ends with 1 of its 2 elements undefined; the first is `o[1]`, stored here at grid point (i=1, l=2); it comes from output block `o` at the start of its stay (grid point i=1, l=0)
  10 |   o += l
     |   ^~~~~~
  hint: set it at the first step of its stay: when first(o): o = 0
k.yaml:6:3: note: `o` is declared here
   6 |   o: {array: "i32[2]", block: "1", index: i}
     |   ^
)out");
}

TEST_CASE("undefined: scratch is forgotten when the parallel coordinates change") {
  CHECK(
      Find(R"spec(
kernel: k
grid: {i: 2}
dimension_semantics: parallel
outputs:
  o: {array: "f32[2]", block: "1", index: i}
scratch:
  s: f32[1]
body: |
  when i == 0:
    s = 1
  o = s
)spec") ==
      R"out(k.yaml:12:3: error[undefined]: `o` ends with 1 of its 2 elements undefined; the first is `o[1]`, stored here at grid point (i=1); it comes from scratch `s`, not written since the parallel coordinates changed (grid point i=1)
  12 |   o = s
     |   ^~~~~
  hint: set it in the first step that uses it: when first(…): s = 0
k.yaml:8:3: note: `s` is declared here
   8 |   s: f32[1]
     |   ^
)out");
}

TEST_CASE("undefined: elements past the edge that reach an output") {
  CHECK(
      Find(R"spec(
kernel: k
grid: {i: "cdiv(n, 4)"}
inputs:
  x: {array: "f32[n]", block: "4", index: i}
outputs:
  o: {array: "f32[4]", init: 0}
body: |
  o += x
)spec",
           kSix) ==
      R"out(k.yaml:9:3: error[undefined]: `o` ends with 2 of its 4 elements undefined; the first is `o[2]`, stored here at grid point (i=1); it comes from elements of `x` past the array's edge in dimension 0
   9 |   o += x
     |   ^~~~~~
  hint: give `x` a pad, or discard them: where(inside(x), …, 0)
k.yaml:5:3: note: `x` is declared here
   5 |   x: {array: "f32[n]", block: "4", index: i}
     |   ^
)out");
}

TEST_CASE("undefined: before the first element") {
  CHECK(
      Find(R"spec(
kernel: k
inputs:
  x: {array: "f32[n]", block: "element(4, halo=(1, 0))", index: "0"}
outputs:
  o: f32[4]
body: |
  o = x
)spec",
           kSix) ==
      R"out(k.yaml:8:3: error[undefined]: `o` ends with 1 of its 4 elements undefined; the first is `o[0]`, stored here; it comes from elements of `x` before the array's first one in dimension 0
   8 |   o = x
     |   ^~~~~
  hint: give `x` a pad, or discard them: where(inside(x), …, 0)
k.yaml:4:3: note: `x` is declared here
   4 |   x: {array: "f32[n]", block: "element(4, halo=(1, 0))", index: "0"}
     |   ^
)out");
}

TEST_CASE("tail: an edge that a contraction spreads") {
  CHECK(
      Find(R"spec(
kernel: k
grid: {l: "cdiv(n, 4)"}
inputs:
  x: {array: "f32[m, n]", block: "all, 4", index: "0, l"}
  y: {array: "f32[n, p]", block: "4, all", index: "l, 0", pad: 0}
outputs:
  o: f32[m, p]
body: |
  when first(l):
    o = 0
  when l < 10:
    o += dot(x, y)
)spec",
           {{{"x", Counting(DType::kF32, {2, 6})}, {"y", Counting(DType::kF32, {6, 2})}}, {}}) ==
      R"out(k.yaml:13:5: error[tail]: `o` ends with 4 of its 4 elements undefined; the first is `o[0, 0]`, stored here at grid point (l=1); it comes from elements of `x` past the array's edge in dimension 1
  13 |     o += dot(x, y)
     |     ^~~~~~~~~~~~~~
  hint: give `x` a pad, or discard them: where(inside(x), …, 0)
k.yaml:5:3: note: `x` is declared here
   5 |   x: {array: "f32[m, n]", block: "all, 4", index: "0, l"}
     |   ^
k.yaml:13:10: note: it spreads here, where many elements become one
  13 |     o += dot(x, y)
     |          ^~~~~~~~~
)out");
}

TEST_CASE("undefined: a condition, an index, a loop bound, a copy") {
  const std::string head = R"spec(
kernel: k
inputs:
  x: {array: "f32[n]", memory: any}
outputs:
  o: {array: "f32[8]", init: 0}
  p: {array: "f32[8]", memory: any, init: 0}
scratch:
  s: {array: "i32[1]", memory: smem}
  v: f32[8]
  sem: {semaphore: dma}
body: |
)spec";
  CHECK(
      Find(head + "  when s[0] == 0:\n    o = 1\n", kSix) ==
      R"out(k.yaml:13:8: error[undefined]: the condition of `when` is undefined; it comes from scratch `s`, which nothing has written
  13 |   when s[0] == 0:
     |        ^~~~~~~~~
  hint: set it in the first step that uses it: when first(…): s = 0
k.yaml:9:3: note: `s` is declared here
   9 |   s: {array: "i32[1]", memory: smem}
     |   ^
)out");
  CHECK(
      Find(head + "  o[s[0]] = 1\n", kSix) ==
      R"out(k.yaml:13:5: error[undefined]: a subscript is undefined; it comes from scratch `s`, which nothing has written
  13 |   o[s[0]] = 1
     |     ^~~~
  hint: set it in the first step that uses it: when first(…): s = 0
k.yaml:9:3: note: `s` is declared here
   9 |   s: {array: "i32[1]", memory: smem}
     |   ^
)out");
  CHECK(
      Find(head + "  for r in range(0, s[0]):\n    o = 1\n", kSix) ==
      R"out(k.yaml:13:21: error[undefined]: a loop bound is undefined; it comes from scratch `s`, which nothing has written
  13 |   for r in range(0, s[0]):
     |                     ^~~~
  hint: set it in the first step that uses it: when first(…): s = 0
k.yaml:9:3: note: `s` is declared here
   9 |   s: {array: "i32[1]", memory: smem}
     |   ^
)out");
  CHECK(
      Find(head + "  assert s[0] < 4, \"small\"\n", kSix) ==
      R"out(k.yaml:13:10: error[undefined]: the condition of `assert` is undefined; it comes from scratch `s`, which nothing has written
  13 |   assert s[0] < 4, "small"
     |          ^~~~~~~~
  hint: set it in the first step that uses it: when first(…): s = 0
k.yaml:9:3: note: `s` is declared here
   9 |   s: {array: "i32[1]", memory: smem}
     |   ^
)out");
  CHECK(
      Find(head + "  v[0:4] = 1\n  copy v -> p, sem\n  wait sem\n", kSix) ==
      R"out(k.yaml:14:8: error[undefined]: an element of `v` that is copied is undefined; it comes from scratch `v`, which nothing has written
  14 |   copy v -> p, sem
     |        ^
  hint: set it in the first step that uses it: when first(…): v = 0
k.yaml:10:3: note: `v` is declared here
  10 |   v: f32[8]
     |   ^
)out");
  CHECK(
      Find(head + "  let t = 5 // (i32(o[0]))\n  when t > 0:\n    o = 1\n", kSix) ==
      R"out(k.yaml:14:8: error[undefined]: the condition of `when` is undefined; it comes from a division by zero in line 13
  14 |   when t > 0:
     |        ^~~~~
  hint: guard the divisor: where(d == 0, 1, d)
k.yaml:13:11: note: it is made here
  13 |   let t = 5 // (i32(o[0]))
     |           ^~~~~~~~~~~~~~~~
)out");
  CHECK(
      Find(head + "  let t = 2 ** (i32(o[0]) - 1)\n  o[t] = 1\n", kSix) ==
      R"out(k.yaml:14:5: error[undefined]: a subscript is undefined; it comes from a negative power of an integer in line 13
  14 |   o[t] = 1
     |     ^
k.yaml:13:11: note: it is made here
  13 |   let t = 2 ** (i32(o[0]) - 1)
     |           ^~~~~~~~~~~~~~~~~~~~
)out");
}

TEST_CASE("coverage: blocks and elements that nobody stores") {
  CHECK(
      Find(R"spec(
kernel: k
prefetch: {ids: "i32[t]"}
grid: {i: t}
outputs:
  o: {array: "f32[3, 2]", block: "1, 2", index: "ids[i], 0"}
body: |
  o = 0
)spec",
           {{{"ids", Ints({2}, {0, 2})}}, {}}) ==
      R"out(k.yaml:6:3: error[coverage]: no step stores 2 of the 6 elements of `o`; the first is `o[1, 0]`, whose block no step visits
   6 |   o: {array: "f32[3, 2]", block: "1, 2", index: "ids[i], 0"}
     |   ^
  hint: let the grid visit every block, or give `o` an `init` or an `alias`
)out");
  CHECK(
      Find(R"spec(
kernel: k
grid: {i: 2}
outputs:
  o: {array: "f32[2, 3]", block: "1, 3", index: "i, 0"}
body: |
  o[:, 0:2] = 0
)spec") ==
      R"out(k.yaml:5:3: error[coverage]: no step stores 2 of the 6 elements of `o`; the first is `o[0, 2]`, left out in the stay that begins at grid point (i=0)
   5 |   o: {array: "f32[2, 3]", block: "1, 3", index: "i, 0"}
     |   ^
  hint: store every element of the block, or give `o` an `init`
)out");
}

TEST_CASE("coverage: a visited block under alias has lost the input's values") {
  CHECK(
      Find(R"spec(
kernel: k
inputs:
  x: {array: "f32[n]", memory: any}
outputs:
  o: {array: "f32[n]", block: "3", index: "0", alias: x}
body: |
  o[0:1] = 0
)spec",
           kSix) ==
      R"out(k.yaml:6:3: error[coverage]: no step stores 2 of the 6 elements of `o`; the first is `o[1]`
   6 |   o: {array: "f32[n]", block: "3", index: "0", alias: x}
     |   ^
  hint: store every element of the block, or give `o` an `init`
)out");
}

TEST_CASE("revisit: a block is left and come back to") {
  CHECK(
      Find(R"spec(
kernel: k
prefetch: {ids: "i32[t]"}
grid: {l: t, i: 2}
outputs:
  o: {array: "f32[2, 3]", block: "1, 1", index: "i, ids[l]"}
body: |
  o = 1
)spec",
           {{{"ids", Ints({4}, {0, 1, 2, 2})}}, {}}) ==
      R"out(k.yaml:6:3: error[revisit]: the block of `o[0, 2]` is left and come back to: visited at (l=2, i=0) and again at (l=3, i=0); what the first visit wrote is lost
   6 |   o: {array: "f32[2, 3]", block: "1, 1", index: "i, ids[l]"}
     |   ^
  hint: make `l` the minormost axis of the grid, so that all visits of a block follow each other
)out");
}

TEST_CASE("race: parallel steps that write one block") {
  CHECK(
      Find(R"spec(
kernel: k
prefetch: {ids: "i32[t]"}
grid: {i: t, l: 2}
dimension_semantics: parallel, arbitrary
outputs:
  o: {array: "f32[2]", block: "1", index: "ids[i]", init: 0}
body: |
  o += 1
)spec",
           {{{"ids", Ints({3}, {0, 1, 1})}}, {}}) ==
      R"out(k.yaml:7:3: error[race]: grid points (i=1, l=0) and (i=2, l=0) both write `o[1]`; they differ along the parallel axis `i`
   7 |   o: {array: "f32[2]", block: "1", index: "ids[i]", init: 0}
     |   ^
  hint: make `i` `arbitrary` in dimension_semantics, or let different steps along it touch different elements
)out");
}

/// Steps that read block from[i] of x and write block i of its memory.
std::string InPlace(const std::string& semantics, const std::vector<int64_t>& from) {
  return Find("kernel: k\nprefetch: {from: \"i32[t]\"}\ngrid: {i: t}\ndimension_semantics: " +
                  semantics + R"spec(
inputs:
  x: {array: "f32[n]", block: "2", index: "from[i]"}
outputs:
  o: {array: "f32[n]", block: "2", index: i, alias: x}
body: |
  o = x
)spec",
              {{{"x", Counting(DType::kF32, {6})}, {"from", Ints({3}, from)}}, {}});
}

TEST_CASE("race: an input that shares memory with an output of another step") {
  CHECK(InPlace("parallel", {0, 1, 2}) == "");
  CHECK(
      InPlace("parallel", {0, 0, 2}) ==
      R"out(k.yaml:6:3: error[race]: grid point (i=1) reads `x[0]`, whose memory (i=0) writes as `o[0]`; they differ along the parallel axis `i`
   6 |   x: {array: "f32[n]", block: "2", index: "from[i]"}
     |   ^
  hint: make `i` `arbitrary` in dimension_semantics, or drop the alias
)out");
  CHECK(
      InPlace("parallel", {1, 1, 2}) ==
      R"out(k.yaml:8:3: error[race]: grid point (i=0) reads `x[2]`, whose memory (i=1) writes as `o[2]`; they differ along the parallel axis `i`
   8 |   o: {array: "f32[n]", block: "2", index: i, alias: x}
     |   ^
  hint: make `i` `arbitrary` in dimension_semantics, or drop the alias
)out");
  CHECK(
      InPlace("parallel", {2, 1, 2}) ==
      R"out(k.yaml:8:3: error[race]: grid point (i=0) reads `x[4]`, whose memory (i=2) writes as `o[4]`; they differ along the parallel axis `i`
   8 |   o: {array: "f32[n]", block: "2", index: i, alias: x}
     |   ^
  hint: make `i` `arbitrary` in dimension_semantics, or drop the alias
)out");
}

TEST_CASE("outputs in HBM: written and read by copies") {
  const auto with = [](const std::string& semantics, const std::string& body) {
    return Find("kernel: k\nprefetch: {at: \"i32[t]\"}\ngrid: {i: t}\ndimension_semantics: " +
                    semantics + R"spec(
outputs:
  o: {array: "f32[4]", memory: any}
scratch:
  s: f32[2]
  sem: {semaphore: dma}
body: |
)spec" + body,
                {{{"at", Ints({3}, {0, 2, 0})}}, {}});
  };
  const std::string write = "  s = f32(i)\n  copy s -> o[ds(at[i], 2)], sem\n  wait sem\n";
  const std::string read = "  copy o[ds(at[i], 2)] -> s, sem\n  wait sem\n";
  CHECK(with("arbitrary", write) == "");
  CHECK(with("arbitrary", write + read) == "");
  CHECK(
      with("parallel", write) ==
      R"out(k.yaml:6:3: error[race]: grid points (i=0) and (i=2) both write `o[0]`; they differ along the parallel axis `i`
   6 |   o: {array: "f32[4]", memory: any}
     |   ^
  hint: make `i` `arbitrary` in dimension_semantics, or let different steps along it touch different elements
)out");
  CHECK(
      with("arbitrary", read) ==
      R"out(k.yaml:11:8: error[undefined]: an element of `o` that is copied is undefined at grid point (i=0); it comes from elements of `o` that no copy has written
  11 |   copy o[ds(at[i], 2)] -> s, sem
     |        ^~~~~~~~~~~~~~~
  hint: copy something into it before it is read
k.yaml:6:3: note: `o` is declared here
   6 |   o: {array: "f32[4]", memory: any}
     |   ^
)out");
  CHECK(
      with("parallel",
           "  when i < 2:\n    s = f32(i)\n    copy s -> o[ds(at[i], 2)], sem\n    wait sem\n"
           "  when i == 2:\n    copy o[ds(at[i], 2)] -> s, sem\n    wait sem\n") ==
      R"out(k.yaml:6:3: error[race]: grid point (i=2) reads `o[0]`, which (i=0) writes; they differ along the parallel axis `i`
   6 |   o: {array: "f32[4]", memory: any}
     |   ^
  hint: make `i` `arbitrary` in dimension_semantics, or let different steps along it touch different elements
)out");
  CHECK(
      with("arbitrary", "  s = f32(i)\n  copy s -> o[1:3], sem\n  wait sem\n") ==
      R"out(k.yaml:6:3: error[coverage]: no step stores 2 of the 4 elements of `o`; the first is `o[0]`, which no copy writes
   6 |   o: {array: "f32[4]", memory: any}
     |   ^
  hint: copy something into every element, or give `o` an `init` or an `alias`
)out");
}

TEST_CASE("alias: a block copied in after an output took it over") {
  CHECK(InPlace("arbitrary", {0, 1, 2}) == "");
  CHECK(InPlace("arbitrary", {1, 2, 2}) == "");
  CHECK(InPlace("arbitrary", {0, 0, 2}) == "");  // the buffer still holds it
  CHECK(
      InPlace("arbitrary", {2, 0, 1}) ==
      R"out(k.yaml:6:3: error[alias]: `x[0]` is copied in at (i=1), after (i=0) has visited its memory as `o[0]`: whether it holds old or new values depends on the pipeline
   6 |   x: {array: "f32[n]", block: "2", index: "from[i]"}
     |   ^
  hint: read the block no later than the first step that visits it, or drop the alias
)out");
}

TEST_CASE("index-range: block indices") {
  const auto with = [](const std::string& block, const std::string& index) {
    return Find("kernel: k\ngrid: {i: 3}\ninputs:\n  x: {array: \"f32[n]\", block: \"" + block +
                    "\", index: \"" + index + "\"}\noutputs:\n  o: f32[1]\nbody: |\n  o = f32(i)\n",
                kSix);
  };
  CHECK(with("2", "i") == "");
  CHECK(
      with("2", "i + 1") ==
      R"out(k.yaml:4:44: error[index-range]: block index 3 of `x` (dimension 0) at grid point (i=2) is out of range: it has 3 blocks of 2 (6 elements)
   4 |   x: {array: "f32[n]", block: "2", index: "i + 1"}
     |                                            ^~~~~
)out");
  CHECK(
      with("2", "i - 1") ==
      R"out(k.yaml:4:44: error[index-range]: block index -1 of `x` (dimension 0) at grid point (i=0) is out of range: it has 3 blocks of 2 (6 elements)
   4 |   x: {array: "f32[n]", block: "2", index: "i - 1"}
     |                                            ^~~~~
)out");
  CHECK(
      with("2", "i * 2") ==
      R"out(k.yaml:4:44: error[index-range]: block index 4 of `x` (dimension 0) at grid point (i=2) is out of range: it has 3 blocks of 2 (6 elements)
   4 |   x: {array: "f32[n]", block: "2", index: "i * 2"}
     |                                            ^~~~~
  hint: an index map gives a block index, not an element offset: leave out the factor of 2
)out");
  CHECK(
      with("null", "i * 3") ==
      R"out(k.yaml:4:47: error[index-range]: index 6 of `x` (dimension 0) at grid point (i=2) is out of range: its extent is 6
   4 |   x: {array: "f32[n]", block: "null", index: "i * 3"}
     |                                               ^~~~~
)out");
  CHECK(
      with("element(2, halo=(1, 1))", "i * 4") ==
      R"out(k.yaml:4:66: error[index-range]: element offset 8 of `x` (dimension 0) at grid point (i=2) is out of range: its extent with the halos is 8
   4 |   x: {array: "f32[n]", block: "element(2, halo=(1, 1))", index: "i * 4"}
     |                                                                  ^~~~~
)out");
  CHECK(
      with("bounded(4)", "ds(i * 2, 3)") ==
      R"out(k.yaml:4:53: error[index-range]: range [4:7] of `x` (dimension 0) at grid point (i=2) is out of range: its extent is 6
   4 |   x: {array: "f32[n]", block: "bounded(4)", index: "ds(i * 2, 3)"}
     |                                                     ^~~~~~~~~~~~
)out");
  CHECK(
      with("bounded(4)", "ds(i, i * 5)") ==
      R"out(k.yaml:4:53: error[index-range]: size 5 of `x` (dimension 0) at grid point (i=1) is out of range: the block has 4 elements
   4 |   x: {array: "f32[n]", block: "bounded(4)", index: "ds(i, i * 5)"}
     |                                                     ^~~~~~~~~~~~
)out");
  CHECK(
      with("2", "i * 4611686018427387904 * 2") ==
      R"out(k.yaml:4:44: error[index-range]: `i * 4611686018427387904 * 2` overflows 64 bits at grid point (i=1)
   4 |   x: {array: "f32[n]", block: "2", index: "i * 4611686018427387904 * 2"}
     |                                            ^~~~~~~~~~~~~~~~~~~~~~~~~~~
)out");
  CHECK(
      with("2", "6 // i") ==
      R"out(k.yaml:4:44: error[undefined]: the index of `x` is undefined at grid point (i=0); it comes from a division by zero in line 4
   4 |   x: {array: "f32[n]", block: "2", index: "6 // i"}
     |                                            ^~~~~~
  hint: guard the divisor: where(d == 0, 1, d)
k.yaml:4:44: note: it is made here
   4 |   x: {array: "f32[n]", block: "2", index: "6 // i"}
     |                                            ^~~~~~
)out");
}

TEST_CASE("index-range: subscripts and prefetch elements") {
  const auto with = [](const std::string& body) {
    return Find(
        "kernel: k\nprefetch: {ids: \"i32[t]\"}\ngrid: {i: 3}\ninputs:\n  x: f32[n]\n"
        "outputs:\n  o: f32[1]\nbody: |\n" +
            body,
        {{{"x", Counting(DType::kF32, {6})}, {"ids", Ints({2}, {7, 1})}}, {}});
  };
  CHECK(
      with("  o = x[i + 4]\n") ==
      R"out(k.yaml:9:9: error[index-range]: the subscript 6 of `x` (dimension 0) at grid point (i=2) is out of range: its extent is 6
   9 |   o = x[i + 4]
     |         ^~~~~
)out");
  CHECK(
      with("  o = x[ids[0]]\n") ==
      R"out(k.yaml:9:9: error[index-range]: the subscript 7 of `x` (dimension 0) at grid point (i=0) is out of range: its extent is 6
   9 |   o = x[ids[0]]
     |         ^~~~~~
)out");
  CHECK(
      with("  o = f32(ids[i])\n") ==
      R"out(k.yaml:9:15: error[index-range]: the subscript 2 of `ids` (dimension 0) at grid point (i=2) is out of range: its extent is 2
   9 |   o = f32(ids[i])
     |               ^
)out");
  CHECK(
      with("  o = sum(x[ds(i * 2, 4)])\n") ==
      R"out(k.yaml:9:13: error[index-range]: the slice [4:8] of `x` (dimension 0) at grid point (i=2) is out of range: its extent is 6
   9 |   o = sum(x[ds(i * 2, 4)])
     |             ^~~~~~~~~~~~
)out");
  CHECK(
      with("  o = x[i - 1]\n") ==
      R"out(k.yaml:9:9: error[index-range]: the subscript -1 of `x` (dimension 0) at grid point (i=0) is out of range: its extent is 6
   9 |   o = x[i - 1]
     |         ^~~~~
)out");
  CHECK(
      with("  o[i] = 0\n") ==
      R"out(k.yaml:9:5: error[index-range]: the subscript 1 of `o` (dimension 0) at grid point (i=1) is out of range: its extent is 1
   9 |   o[i] = 0
     |     ^
)out");
  CHECK(
      with("  let y = x * 2\n  o = y[ids[0]]\n") ==
      R"out(k.yaml:10:9: error[index-range]: the subscript 7 of `y` (dimension 0) at grid point (i=0) is out of range: its extent is 6
  10 |   o = y[ids[0]]
     |         ^~~~~~
)out");
  CHECK(
      with("  o = x[ids[1] * 4611686018427387904 * 4]\n") ==
      R"out(k.yaml:9:9: error[index-range]: `ids[1] * 4611686018427387904 * 4` overflows 64 bits at grid point (i=0)
   9 |   o = x[ids[1] * 4611686018427387904 * 4]
     |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
)out");
}

TEST_CASE("assert") {
  CHECK(
      Find(R"spec(
kernel: k
grid: {i: 3}
inputs:
  x: f32[n]
outputs:
  o: f32[1]
body: |
  assert x[i] < 2, "x must be small"
  o = x[i]
)spec",
           kSix) ==
      R"out(k.yaml:9:3: error[assert]: the assertion fails at grid point (i=2): x must be small; `x[i]` is 2
   9 |   assert x[i] < 2, "x must be small"
     |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
)out");
}

TEST_CASE("sync") {
  const auto with = [](const std::string& body) {
    return Find(R"spec(
kernel: k
grid: {i: 2}
inputs:
  x: {array: "f32[n]", memory: any}
outputs:
  o: {array: "f32[6]", init: 0}
scratch:
  a: f32[6]
  b: f32[6]
  sem: {semaphore: dma, count: 2}
body: |
)spec" + body,
                kSix);
  };
  CHECK(
      with("  copy x -> a, sem[0]\n  o = a\n  wait sem[0]\n") ==
      R"out(k.yaml:14:7: error[sync]: `a` is read at grid point (i=0) while a copy into it is in flight
  14 |   o = a
     |       ^
  hint: write `wait sem[0]` before it
k.yaml:13:3: note: the copy starts here
  13 |   copy x -> a, sem[0]
     |   ^~~~~~~~~~~~~~~~~~~
)out");
  CHECK(
      with("  copy x -> a, sem[0]\n  a[2] = 0\n  wait sem[0]\n") ==
      R"out(k.yaml:14:3: error[sync]: `a` is written at grid point (i=0) while a copy into it is in flight
  14 |   a[2] = 0
     |   ^~~~~~~~
  hint: write `wait sem[0]` before it
k.yaml:13:3: note: the copy starts here
  13 |   copy x -> a, sem[0]
     |   ^~~~~~~~~~~~~~~~~~~
)out");
  CHECK(
      with("  b = 0\n  copy b -> a, sem[0]\n  b = 0\n  wait sem[0]\n") ==
      R"out(k.yaml:15:3: error[sync]: `b` is written at grid point (i=0) while a copy from it is in flight
  15 |   b = 0
     |   ^~~~~
  hint: write `wait sem[0]` before it
k.yaml:14:3: note: the copy starts here
  14 |   copy b -> a, sem[0]
     |   ^~~~~~~~~~~~~~~~~~~
)out");
  CHECK(
      with("  copy x -> a, sem[0]\n  copy x -> a, sem[1]\n  wait sem[0]\n  wait sem[1]\n") ==
      R"out(k.yaml:14:13: error[sync]: `a` is written at grid point (i=0) while a copy into it is in flight
  14 |   copy x -> a, sem[1]
     |             ^
  hint: write `wait sem[0]` before it
k.yaml:13:3: note: the copy starts here
  13 |   copy x -> a, sem[0]
     |   ^~~~~~~~~~~~~~~~~~~
)out");
  CHECK(
      with("  wait sem[1]\n") ==
      R"out(k.yaml:13:3: error[sync]: nothing to wait for at grid point (i=0): no copy on `sem[1]` is in flight, so this would wait for ever
  13 |   wait sem[1]
     |   ^~~~~~~~~~~
)out");
  CHECK(
      with("  copy x -> a, sem[1]\n  wait sem[0]\n") ==
      R"out(k.yaml:14:3: error[sync]: nothing to wait for at grid point (i=0): no copy on `sem[0]` is in flight, so this would wait for ever
  14 |   wait sem[0]
     |   ^~~~~~~~~~~
)out");
  CHECK(
      with("  when last(i):\n    copy x -> a, sem[i]\n") ==
      R"out(k.yaml:14:5: error[sync]: the copy into `a` is still in flight at the end: nobody waited for `sem[1]`
  14 |     copy x -> a, sem[i]
     |     ^~~~~~~~~~~~~~~~~~~
  hint: write `wait sem[1]` in the step that needs the data
)out");
  CHECK(
      with("  copy x -> a, sem[i + 1]\n  wait sem[i + 1]\n") ==
      R"out(k.yaml:13:20: error[index-range]: the subscript 2 of `sem` at grid point (i=1) is out of range: there are 2 semaphores
  13 |   copy x -> a, sem[i + 1]
     |                    ^~~~~
)out");
  CHECK(with("  a = 0\n  copy a[0:3] -> a[2:5], sem[0]\n  wait sem[0]\n") ==
        R"out(k.yaml:14:3: error[sync]: the two ends of the copy overlap at grid point (i=0)
  14 |   copy a[0:3] -> a[2:5], sem[0]
     |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
)out");
  // Disjoint parts do not disturb each other.
  CHECK(with("  copy x[0:3] -> a[0:3], sem[0]\n  a[3:6] = 1\n  wait sem[0]\n  o = a\n") == "");
}

TEST_CASE("sync: copies end before the parallel coordinates change and blocks move") {
  const auto with = [](const std::string& semantics, const std::string& body) {
    return Find("kernel: k\ngrid: {i: 2}\ndimension_semantics: " + semantics + R"spec(
inputs:
  x: {array: "f32[n]", memory: any}
outputs:
  o: {array: "f32[6]", block: "3", index: i}
scratch:
  a: f32[3]
  sem: {semaphore: dma}
body: |
)spec" + body,
                kSix);
  };
  CHECK(
      with("parallel", "  o = 0\n  copy x[0:3] -> a, sem\n") ==
      R"out(k.yaml:13:3: error[sync]: the copy into `a` is still in flight when the parallel coordinates change at grid point (i=1): nobody waited for `sem`
  13 |   copy x[0:3] -> a, sem
     |   ^~~~~~~~~~~~~~~~~~~~~
  hint: write `wait sem` in the step that needs the data
)out");
  CHECK(
      with("arbitrary", "  copy x[ds(i * 3, 3)] -> o, sem\n") ==
      R"out(k.yaml:12:3: error[sync]: `o` is copied out at grid point (i=1) while a copy into it is in flight
  12 |   copy x[ds(i * 3, 3)] -> o, sem
     |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
  hint: write `wait sem` before it
)out");
  CHECK(with("arbitrary", "  copy x[ds(i * 3, 3)] -> o, sem\n  wait sem\n") == "");
}

TEST_CASE("sync: the pipeline meets a copy in the array") {
  CHECK(
      Find(R"spec(
kernel: k
grid: {i: 2}
inputs:
  x: {array: "f32[n]", memory: any}
outputs:
  o: {array: "f32[n]", block: "3", index: i, alias: x}
scratch:
  a: f32[6]
  sem: {semaphore: dma}
body: |
  when i == 0:
    copy x -> a, sem
  o = 0
  when i == 1:
    wait sem
)spec",
           kSix) ==
      R"out(k.yaml:13:5: error[sync]: `o` is copied out at grid point (i=1) while a copy from it is in flight
  13 |     copy x -> a, sem
     |     ^~~~~~~~~~~~~~~~
  hint: write `wait sem` before it
)out");
}

TEST_CASE("the run stops at the first fatal finding and keeps the outputs so far") {
  const Outcome outcome = RunSpec(R"spec(
kernel: k
inputs: {x: "f32[n]"}
grid: {i: 4}
outputs:
  o: {array: "f32[4]", block: "1", index: i}
body: |
  assert x[i] < 2, "two steps"
  o = x[i]
)spec",
                                  kSix);
  CHECK(outcome.rules == std::vector<std::string>{"assert"});
  CHECK(outcome.steps == 2);
  CHECK(Values(outcome.outputs.at("o"))[0] == 0);
}

}  // namespace
}  // namespace kiln::testing
