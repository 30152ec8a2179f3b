// What specs compute: blocks, stays, scratch, loops, copies.

#include "generator/interpret/interpret.h"

#include <cmath>

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

TEST_CASE("pad is read past the edge, inside and at tell where the array ends") {
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
  CHECK(outcome.findings == "");
  CHECK(outcome.steps == 0);
  CHECK(Values(outcome.outputs.at("o")) == Doubles{5, 5});
}

TEST_CASE("lets are snapshots, vars change, loops carry") {
  CHECK(Run(R"spec(
kernel: k
inputs:
  x: i32[4]
outputs:
  o: i32[4]
scratch:
  s: i32[4]
body: |
  s = x
  let before = s
  let part = s[1:3]
  s += 10
  s[0] = 99
  var v = before
  var n = 0
  for r in range(0, 4):
    v[r] = v[r] + s[r]
    n += r
    when r == 2:
      v[1:3] = part * 1000
  o = v + n
)spec",
            {{{"x", Ints({4}, {1, 2, 3, 4})}}, {}}) == Doubles{106, 2006, 3006, 24});
}

TEST_CASE("stores to windows, with overlap and masks") {
  CHECK(Run(R"spec(
kernel: k
inputs:
  x: i32[2, 4]
outputs:
  o: i32[2, 4]
scratch:
  s: i32[2, 4]
body: |
  s = x
  s[:, 1:4] = s[:, 0:3]
  s[1, ds(2, 2)] = 50
  s[0] = s[0] + 100
  s[s > 101] = -s
  o[...] = s
)spec",
            {{{"x", Counting(DType::kI32, {2, 4})}}, {}}) ==
        Doubles{100, 100, 101, -102, 4, 4, 50, 50});
}

TEST_CASE("shape functions") {
  const Inputs inputs{{{"x", Counting(DType::kI32, {2, 3})}}, {}};
  const auto run = [&](const std::string& type, const std::string& value) {
    return Run("kernel: k\ninputs: {x: \"i32[2, 3]\"}\noutputs: {o: \"" + type +
                   "\"}\nbody: |\n  o = " + value + "\n",
               inputs);
  };
  CHECK(run("i32[3, 2]", "x.T") == Doubles{0, 3, 1, 4, 2, 5});
  CHECK(run("i32[3, 2]", "reshape(x.T, [3, 2]) * 1") == Doubles{0, 3, 1, 4, 2, 5});
  CHECK(run("i32[6]", "reshape(x.T, [6])") == Doubles{0, 3, 1, 4, 2, 5});
  CHECK(run("i32[2, 3]", "roll(x, 1, axis=1)") == Doubles{2, 0, 1, 5, 3, 4});
  CHECK(run("i32[2, 3]", "roll(x, -1, axis=1)") == Doubles{1, 2, 0, 4, 5, 3});
  CHECK(run("i32[2, 3]", "roll(x, 7, axis=0)") == Doubles{3, 4, 5, 0, 1, 2});
  CHECK(run("i32[2, 4]", "concat([x, x[:, 0:1] * 10], axis=1)") ==
        Doubles{0, 1, 2, 0, 3, 4, 5, 30});
  CHECK(run("i32[2, 3]", "iota([2, 3], 1) + 10 * iota([2, 1], 0)") == Doubles{0, 1, 2, 10, 11, 12});
  CHECK(run("i32[2, 3]", "broadcast(x[1, 1:2], [2, 3])") == Doubles{4, 4, 4, 4, 4, 4});
  CHECK(run("i32[3]", "x[1]") == Doubles{3, 4, 5});
  CHECK(run("i32[3]", "cumsum(x, axis=1)[1]") == Doubles{3, 7, 12});
  CHECK(run("i32[2, 3]", "x if x[0, 0] == 0 else x * 5") == Doubles{0, 1, 2, 3, 4, 5});
  CHECK(run("i32[1]", "x[argmax(x[:, 0], axis=0), 2]") == Doubles{5});
  CHECK(run("i32[2, 3]", "transpose(transpose(expand(x, 0), [2, 0, 1])[:, 0], [1, 0])") ==
        Doubles{0, 1, 2, 3, 4, 5});
}

TEST_CASE("conditions evaluate only what they need") {
  CHECK(Run(R"spec(
kernel: k
inputs:
  x: i32[4]
scratch:
  s: i32[1]
outputs:
  o: i32[1]
body: |
  var n = 0
  for r in range(0, 6):
    when r < 4 and x[r] > 1:
      n += 1
    when r >= 4 or x[r] > 2:
      n += 10
    n += x[r] if r < 4 else 0
  o = n
)spec",
            {{{"x", Ints({4}, {1, 2, 3, 4})}}, {}}) == Doubles{3 + 40 + 10});
}

TEST_CASE("small types compute in i32 and f32, and round where they are stored") {
  CHECK(Run(R"spec(
kernel: k
inputs: {x: "i8[2]"}
outputs: {o: "i8[2]"}
body: |
  o = i8((x * x) // 100)
)spec",
            {{{"x", Ints(DType::kI8, {2}, {100, -100})}}, {}}) == Doubles{100, 100});
  CHECK(Run(R"spec(
kernel: k
inputs: {x: "bf16[2]"}
outputs: {o: "bf16[2]"}
body: |
  o = bf16((x + 1) - x)
)spec",
            {{{"x", Floats(DType::kBF16, {2}, {256, 1})}}, {}}) == Doubles{1, 1});
}

TEST_CASE("wide: nothing rounds until the output") {
  const std::string spec = R"spec(
kernel: k
inputs: {x: "f32[1]"}
outputs: {o: "f32[1]"}
scratch: {s: "bf16[1]"}
body: |
  s = bf16(x + 1.0)
  o = (f32(s) - 1.0) * 1048576.0
)spec";
  const Inputs inputs{{{"x", Floats({1}, {0x1p-20})}}, {}};
  CHECK(Run(spec, inputs) == Doubles{0});
  Options wide;
  wide.interpret.wide = true;
  CHECK(Run(spec, inputs, wide) == Doubles{1});
}

TEST_CASE("parallel axes may be visited in any order, arbitrary ones in theirs") {
  const std::string spec = R"spec(
kernel: k
grid: {i: 5, l: 3}
dimension_semantics: parallel, arbitrary
outputs:
  o: {array: "i32[5]", block: null, index: i}
scratch:
  s: i32[1]
body: |
  when first(l):
    s = i
  s = s * 10 + l
epilogue: |
  o = s[0]
)spec";
  const Doubles want = {12, 1012, 2012, 3012, 4012};
  for (const uint64_t seed : {0, 1, 2, 3}) {
    Options shuffled;
    shuffled.interpret.shuffle = seed;
    CHECK(Run(spec, {}, shuffled) == want);
  }
}

TEST_CASE("manual copies: a double buffer") {
  CHECK(Run(R"spec(
kernel: k
inputs:
  x: {array: "i32[n]", memory: any}
outputs:
  o: {array: "i32[n]", memory: any}
scratch:
  from: i32[2, 4]
  to: i32[4]
  sem: {semaphore: dma, count: 3}
grid: {i: "n // 4"}
require:
  - n % 4 == 0
body: |
  when first(i):
    copy x[0:4] -> from[0], sem[0]
  when not last(i):
    copy x[ds((i + 1) * 4, 4)] -> from[(i + 1) % 2], sem[(i + 1) % 2]
  wait sem[i % 2]
  when not first(i):
    wait sem[2]
  to = from[i % 2] * 10 + i
  copy to -> o[ds(i * 4, 4)], sem[2]
  when last(i):
    wait sem[2]
)spec",
            {{{"x", Counting(DType::kI32, {12})}}, {}}) ==
        Doubles{0, 10, 20, 30, 41, 51, 61, 71, 82, 92, 102, 112});
}

TEST_CASE("wait takes the oldest copy") {
  CHECK(Run(R"spec(
kernel: k
inputs: {x: {array: "i32[2]", memory: any}}
outputs: {o: "i32[2]"}
scratch:
  a: i32[1]
  b: i32[1]
  sem: {semaphore: dma}
body: |
  copy x[0:1] -> a, sem
  copy x[1:2] -> b, sem
  wait sem
  o[0:1] = a
  wait sem
  o[1:2] = b
)spec",
            {{{"x", Ints({2}, {5, 6})}}, {}}) == Doubles{5, 6});
}

TEST_CASE("progress comes at most ten times a second") {
  int calls = 0;
  Options options;
  options.interpret.progress = [&](double) { ++calls; };
  Run("kernel: k\ngrid: {i: 1000}\noutputs: {o: \"i32[1]\"}\nbody: |\n  o = i\n", {}, options);
  CHECK(calls <= 10);
}

TEST_CASE("undefined elements of outputs read as NaN or the largest integer") {
  const Outcome outcome = RunSpec(R"spec(
kernel: k
outputs:
  o: {array: "f32[2]", init: undefined}
  p: {array: "i8[2]", init: undefined}
body: |
  o[0:1] = 1
  p[0:1] = 1
)spec",
                                  {});
  CHECK(outcome.findings == "");
  CHECK(Values(outcome.outputs.at("o"))[0] == 1);
  CHECK(std::isnan(Values(outcome.outputs.at("o"))[1]));
  CHECK(Values(outcome.outputs.at("p")) == Doubles{1, 127});
}

}  // namespace
}  // namespace kiln::testing
