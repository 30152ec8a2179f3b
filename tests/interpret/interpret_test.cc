// What specs compute: statements, types, the order of steps, copies.
#include "generator/interpret/interpret.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/interpret/testing.h"

namespace kiln::testing {
namespace {

using Doubles = std::vector<double>;

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

TEST_CASE("several names of one statement") {
  CHECK(Run(R"spec(
kernel: k
inputs:
  x: i32[2]
outputs:
  o: i32[6]
body: |
  var a, b = x[0], x[1]
  let low, high = (a, b) if a < b else (b, a)
  let sums, k = x + 1, 2
  while b > 0:
    let next, rest = b, a % b
    a = next
    b = rest
  o[0:2] = sums * k
  o[2] = low
  o[3] = high
  o[4] = a
  o[5] = b
)spec",
            {{{"x", Ints({2}, {12, 8})}}, {}}) == Doubles{26, 18, 8, 12, 4, 0});
}

TEST_CASE("`while` asks its condition before each turn") {
  CHECK(Run(R"spec(
kernel: k
inputs:
  x: i32[4]
outputs:
  o: i32[4]
body: |
  o = x
  for r in range(0, 4):
    var n = x[r]
    var turns = 0
    while n > 1, most=20:
      n = n // 2 if n % 2 == 0 else 3 * n + 1
      turns += 1
    o[r] = turns
  while any(o > 9):
    o[o > 9] = o - 9
)spec",
            {{{"x", Ints({4}, {1, 2, 3, 7})}}, {}}) == Doubles{0, 1, 7, 7});
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
  s[1, 0:2][s[1, 0:2] == 4] += 3
  s[:, 0][s[:, 0] > 50] = s[1, 1]
  o[...] = s
)spec",
            {{{"x", Counting(DType::kI32, {2, 4})}}, {}}) ==
        Doubles{7, 100, 101, -102, 7, 7, 50, 50});
}

TEST_CASE("strides, in what is read and in what is stored") {
  CHECK(Run(R"spec(
kernel: k
inputs:
  x: i32[2, 6]
outputs:
  o: i32[2, 6]
body: |
  o = 0
  o[:, ::3] = x[:, 1::3]
  o[1, ds(1, 2, stride=4)] = (x * 10)[0, 0:5:4]
  o[0, 1::2][x[0, ::2] > 1] = 9
)spec",
            {{{"x", Counting(DType::kI32, {2, 6})}}, {}}) ==
        Doubles{1, 0, 0, 9, 0, 9, 7, 0, 0, 10, 0, 40});
}

TEST_CASE("rows packed into wider ones, and back") {
  const Inputs inputs{{{"x", Ints(DType::kU8, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}}, {}};
  const auto run = [&](const std::string& type, const std::string& value) {
    return Run("kernel: k\ninputs: {x: \"u8[4, 2]\"}\noutputs: {o: \"" + type +
                   "\"}\nbody: o = " + value + "\n",
               inputs);
  };
  CHECK(run("i16[2, 2]", "bitcast(i16, x)") == Doubles{0x301, 0x402, 0x705, 0x806});
  CHECK(run("u32[1, 2]", "bitcast(u32, x)") == Doubles{0x07050301, 0x08060402});
  CHECK(run("u8[4, 2]", "bitcast(u8, bitcast(f32, x))") == Doubles{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a wait for bytes takes several copies, or a part of one") {
  CHECK(Run(R"spec(
kernel: k
inputs:
  x: {array: "i32[8]", memory: any}
outputs:
  o: i32[8]
scratch:
  s: i32[8]
  sem: {semaphore: dma, count: "2, 2"}
body: |
  for p in range(2):
    copy x[ds(4 * p, 2)] -> s[ds(4 * p, 2)], sem[1, p]
    copy x[ds(4 * p + 2, 2)] -> s[ds(4 * p + 2, 2)], sem[1, p]
  wait sem[1, 0], s[0:4]
  wait sem[1, 1], s[0:1]
  wait sem[1, 1], s[0:3]
  o = s
)spec",
            {{{"x", Counting(DType::kI32, {8})}}, {}}) == Doubles{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("`take` chooses along an axis") {
  const Inputs inputs{{{"x", Counting(DType::kI32, {2, 3})}, {"ids", Ints({2}, {1, 0})}}, {}};
  const auto run = [&](const std::string& type, const std::string& value) {
    return Run("kernel: k\ninputs: {x: \"i32[2, 3]\", ids: \"i32[2]\"}\noutputs: {o: \"" + type +
                   "\"}\nbody: |\n  o = " + value + "\n",
               inputs);
  };
  CHECK(run("i32[2, 3]", "take(x, ids, axis=0)") == Doubles{3, 4, 5, 0, 1, 2});
  CHECK(run("i32[2, 2]", "take(x, ids + 1, axis=1)") == Doubles{2, 1, 5, 4});
  CHECK(run("i32[2]", "take(x[1], ids * 2)") == Doubles{5, 3});
  CHECK(run("i32[2, 2, 3]", "take(x, reshape(concat([ids, 1 - ids]), [2, 2]), axis=0)") ==
        Doubles{3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5});
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
  CHECK(run("i32[2, 3]", "flip(x, [0, 1])") == Doubles{5, 4, 3, 2, 1, 0});
  CHECK(run("i32[2, 3]", "flip(cumsum(flip(x, 1), axis=1), 1)") == Doubles{3, 3, 2, 12, 9, 5});
  CHECK(run("i32[2, 6]", "repeat(x, 2, axis=1)") == Doubles{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(run("i32[4, 3]", "repeat(x, 2, 0)") == Doubles{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  CHECK(run("i32[2, 3]", "sort(x * x % 5, axis=1)") == Doubles{0, 1, 4, 0, 1, 4});
  CHECK(run("i32[2, 3]", "sort(x, axis=0, descending=true)") == Doubles{3, 4, 5, 0, 1, 2});
  CHECK(run("i32[2, 3]", "argsort(x * x % 5, axis=1)") == Doubles{0, 1, 2, 2, 1, 0});
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
  CHECK(Run(R"spec(
kernel: k
inputs: {x: "f8e4m3fn[3]"}
outputs: {o: "f8e4m3fn[3]"}
body: |
  o = f8e4m3fn((x + 17) - x)
)spec",
            {{{"x", Floats(DType::kF8E4M3FN, {3}, {448, 1, 0x1p-9})}}, {}}) == Doubles{16, 16, 16});
  CHECK(Run(R"spec(
kernel: k
inputs: {x: "f8e5m2[2, 2]"}
outputs: {o: "f32[2, 2]"}
body: |
  o = dot(x, x) + max(x)
)spec",
            {{{"x", Floats(DType::kF8E5M2, {2, 2}, {57344, 0, 0, 0x1p-16})}}, {}}) ==
        Doubles{57344.0 * 57344 + 57344, 57344, 57344, 57344});
  CHECK(Run(R"spec(
kernel: k
inputs: {x: "f8e8m0fnu[3]"}
outputs: {o: "f8e8m0fnu[3]"}
body: |
  o = max(f8e8m0fnu(x * 3), x)
)spec",
            {{{"x", Floats(DType::kF8E8M0FNU, {3}, {0x1p-127, 1, 0x1p125})}}, {}}) ==
        Doubles{0x1p-125, 4, 0x1p127});
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
  CHECK(outcome.diagnostics == "");
  CHECK(Values(outcome.outputs.at("o"))[0] == 1);
  CHECK(std::isnan(Values(outcome.outputs.at("o"))[1]));
  CHECK(Values(outcome.outputs.at("p")) == Doubles{1, 127});
}

}  // namespace
}  // namespace kiln::testing
