// What specs compute: blocks, stays, scratch, views, prefetch.

#include "tests/catch.h"
#include "tests/interpret/testing.h"

namespace kiln::testing {
namespace {

using Doubles = std::vector<double>;

TEST_CASE("ragged blocks are cut at the array's edge") {
  const std::string spec = R"spec(
kernel: k
grid: {i: "cdiv(n, 4)"}
inputs:
  x: {array: "i32[n]", block: "4", index: i}
outputs:
  o: {array: "i32[n]", block: "4", index: i}
body: |
  o = x * 10 + i
)spec";
  CHECK(Run(spec, {{{"x", Counting(DType::kI32, {6})}}, {}}) == Doubles{0, 10, 20, 30, 41, 51});
  CHECK(Run(spec, {{{"x", Counting(DType::kI32, {0})}}, {}}) == Doubles{});
}

TEST_CASE("pad is read past the edge, inside and at show where the array ends") {
  const Inputs inputs{{{"x", Counting(DType::kI32, {6})}}, {}};
  const std::string head = R"spec(
kernel: k
grid: {i: "cdiv(n, 4)"}
inputs:
  x: {array: "i32[n]", block: "4", index: i, pad: 100}
outputs:
  o: {array: "i32[4]", init: 0}
body: |
)spec";
  CHECK(Run(head + "  o += x\n", inputs) == Doubles{4, 6, 102, 103});
  CHECK(Run(head + "  o += where(inside(x), x, 0)\n", inputs) == Doubles{4, 6, 2, 3});
  CHECK(Run(head + "  o += at(x, 0)\n", inputs) == Doubles{4, 6, 8, 10});
}

TEST_CASE("squeezed dimensions and `all`") {
  CHECK(Run(R"spec(
kernel: k
grid: {i: "n"}
inputs:
  x: {array: "i32[m, n, p]", block: "all, null, all", index: "0, i, 0"}
outputs:
  o: {array: "i32[n, m, p]", block: "null, all, all", index: "i, 0, 0"}
body: |
  o = x
)spec",
            {{{"x", Counting(DType::kI32, {2, 3, 2})}}, {}}) ==
        Doubles{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11});
  // The last dimension squeezed: rows are not contiguous in the array.
  CHECK(Run(R"spec(
kernel: k
grid: {i: "n"}
inputs:
  x: {array: "i32[m, n]", block: "all, null", index: "0, i"}
outputs:
  o: {array: "i32[n, m]", block: "null, all", index: "i, 0"}
body: |
  o = x
)spec",
            {{{"x", Counting(DType::kI32, {2, 3})}}, {}}) == Doubles{0, 3, 1, 4, 2, 5});
}

TEST_CASE("element blocks count from the first element of the halo") {
  CHECK(Run(R"spec(
kernel: k
grid: {i: "cdiv(n, 2)"}
inputs:
  x: {array: "i32[n]", block: "element(4, halo=(1, 1))", index: "i * 2", pad: 0}
outputs:
  o: {array: "i32[n]", block: "2", index: i}
body: |
  o = x[0:2] + 10 * x[1:3] + 100 * x[2:4]
)spec",
            {{{"x", Ints({5}, {1, 2, 3, 4, 5})}}, {}}) == Doubles{210, 321, 432, 543, 54});
}

TEST_CASE("bounded blocks hold as many elements as their index says") {
  CHECK(Run(R"spec(
kernel: k
prefetch: {start: "i32[g]", count: "i32[g]"}
grid: {i: g}
inputs:
  x: {array: "i32[n]", block: "bounded(4)", index: "ds(start[i], count[i])", pad: 0}
outputs:
  o: {array: "i32[g]", block: null, index: i}
body: |
  o = sum(x) * 10 + sum(i32(inside(x)))
)spec",
            {{{"x", Ints({7}, {1, 2, 3, 4, 5, 6, 7})},
              {"start", Ints({3}, {0, 3, 7})},
              {"count", Ints({3}, {3, 4, 0})}},
             {}}) == Doubles{63, 224, 0});
  // On output only those elements are copied out, so ranges may share a block.
  CHECK(Run(R"spec(
kernel: k
prefetch: {start: "i32[g]", count: "i32[g]"}
grid: {i: g}
outputs:
  o: {array: "i32[n]", block: "bounded(4)", index: "ds(start[i], count[i])"}
body: |
  o = i + 1
)spec",
            {{{"start", Ints({3}, {0, 3, 4})}, {"count", Ints({3}, {3, 1, 2})}}, {{"n", 6}}}) ==
        Doubles{1, 1, 1, 2, 3, 3});
}

TEST_CASE("an output block lives as long as its stay") {
  CHECK(Run(R"spec(
kernel: k
grid: {i: 2, l: 3}
outputs:
  o: {array: "i32[2]", block: null, index: i}
body: |
  when first(o):
    o = 100
  o += l
  when last(o):
    o = o * 10
)spec") == Doubles{1030, 1030});
}

TEST_CASE("init is what a block holds when its stay begins") {
  CHECK(Run(R"spec(
kernel: k
grid: {i: 2, l: 3}
outputs:
  o: {array: "i32[4]", block: null, index: i, init: 7}
body: |
  o += l
)spec") == Doubles{10, 10, 7, 7});
}

TEST_CASE("the epilogue runs at the end of each stay") {
  CHECK(Run(R"spec(
kernel: k
grid: {i: 2, l: 3}
outputs:
  o: {array: "f32[2]", block: null, index: i}
scratch:
  acc: f32[1]
body: |
  when first(l):
    acc = 0
  acc += f32(l + i)
epilogue: |
  o = acc[0] * 2
)spec") == Doubles{6, 12});
}

TEST_CASE("scratch lives as long as the grid when no axis is parallel") {
  CHECK(Run(R"spec(
kernel: k
grid: {i: 4}
inputs:
  x: {array: "i32[4]", block: null, index: i}
outputs:
  o: {array: "i32[4]", block: null, index: i}
scratch:
  total: {array: "i32[1]", memory: smem}
body: |
  when first(i):
    total = 0
  total += x
  o = total[0]
)spec",
            {{{"x", Ints({4}, {1, 2, 3, 4})}}, {}}) == Doubles{1, 3, 6, 10});
}

TEST_CASE("views are windows on the same array") {
  CHECK(Run(R"spec(
kernel: k
grid: {i: n}
inputs:
  mid: {array: "i32[n]", block: "1", index: i}
  left: {view: mid, index: "max(i - 1, 0)"}
outputs:
  o: {array: "i32[n]", block: "1", index: i}
body: |
  o = mid - left
)spec",
            {{{"mid", Ints({4}, {1, 4, 9, 16})}}, {}}) == Doubles{0, 3, 5, 7});
}

TEST_CASE("alias: blocks that no step visits keep the input's values") {
  const std::string spec = R"spec(
kernel: k
prefetch: {ids: "i32[t]"}
grid: {i: t}
inputs:
  x: {array: "i32[n]", block: "2", index: "ids[i]"}
outputs:
  o: {array: "i32[n]", block: "2", index: "ids[i]", alias: x}
body: |
  o = x * 10
)spec";
  Inputs inputs{{{"x", Counting(DType::kI32, {6})}, {"ids", Ints({2}, {2, 0})}}, {}};
  CHECK(Run(spec, inputs) == Doubles{0, 10, 2, 3, 40, 50});
  CHECK(Values(inputs.arrays["x"]) == Doubles{0, 1, 2, 3, 4, 5});
}

TEST_CASE("prefetch arrays and scalars decide grid, maps and body") {
  CHECK(Run(R"spec(
kernel: k
scalars: {scale: i32}
prefetch: {ids: "i32[t]", used: "i32[1]"}
grid: {i: "used[0]"}
inputs:
  x: {array: "i32[n]", block: null, index: "ids[i]"}
outputs:
  o: {array: "i32[t]", block: null, index: i, init: -1}
body: |
  o = x * scale + ids[i]
)spec",
            {{{"x", Ints({4}, {10, 20, 30, 40})},
              {"ids", Ints({3}, {3, 0, 99})},
              {"used", Ints({1}, {2})},
              {"scale", Ints({}, {2})}},
             {}}) == Doubles{83, 20, -1});
}

TEST_CASE("a grid of no steps leaves init") {
  const Outcome outcome = RunSpec(R"spec(
kernel: k
scalars: {n: i32}
grid: {i: n}
outputs:
  o: {array: "i32[2]", init: 5}
body: |
  o = i
)spec",
                                  {{{"n", Ints({}, {0})}}, {}});
  CHECK(outcome.diagnostics == "");
  CHECK(outcome.steps == 0);
  CHECK(Values(outcome.outputs.at("o")) == Doubles{5, 5});
}

}  // namespace
}  // namespace kiln::testing
