// What the interpreter finds, with the whole message: values that nobody defined. CheckGrid, which
// finds much of it earlier, is not asked.

#include "tests/catch.h"
#include "tests/interpret/testing.h"

namespace kiln::testing {
namespace {

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
  hint: give `x` a pad that counts for nothing, or discard them: where(inside(x), …, 0)
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
  hint: give `x` a pad that counts for nothing, or discard them: where(inside(x), …, 0)
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
  hint: give `x` a pad that counts for nothing, or discard them: where(inside(x), …, 0)
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

TEST_CASE("undefined: a defined bool that decides alone makes the result defined") {
  const auto body = [](const std::string& mask) {
    return R"spec(
kernel: k
grid: {i: 1}
outputs:
  o: {array: "i32[4]"}
scratch:
  s: bool[4]
body: |
  let no = iota([4], 0) < 0
  let yes = iota([4], 0) >= 0
  o = where()spec" +
           mask + ", 1, 2)\n";
  };
  const std::vector<double> ones(4, 1), twos(4, 2);
  for (const char* mask : {"no & s", "s & no", "min(no, s)", "(no & s)[0]",
                           "all(concat([no, s], axis=0))", "no[0] & s[0]", "~(yes | s)"}) {
    INFO(mask);
    CHECK(Run(body(mask)) == twos);
  }
  for (const char* mask : {"yes | s", "s | yes", "max(yes, s)", "any(concat([s, yes], axis=0))",
                           "s[0] | yes[0]", "~(no & s)"}) {
    INFO(mask);
    CHECK(Run(body(mask)) == ones);
  }
  // What does not decide leaves it undefined, and so does every operation of other types.
  for (const char* mask : {"yes & s", "no | s", "no ^ s", "any(s)", "all(s)", "min(yes, s)"}) {
    INFO(mask);
    CHECK(Find(body(mask)).find("error[undefined]") != std::string::npos);
  }
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

}  // namespace
}  // namespace kiln::testing
