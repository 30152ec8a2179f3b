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
  CHECK(Find(R"spec(
kernel: k
prefetch: {set: "i32[2]"}
grid: {i: 2, l: 3}
outputs:
  o: {array: "i32[2]", block: "1", index: i}
body: |
  when first(l) and set[i] == 1:
    o = 0
  o += l
)spec", {{{"set", Ints({2}, {1, 0})}}, {}}) == "");
}

TEST_CASE("undefined: scratch is forgotten when the parallel coordinates change") {
  CHECK(Find(R"spec(
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
)spec") == "");
}

TEST_CASE("undefined: elements past the edge that reach an output") {
  CHECK(Find(R"spec(
kernel: k
grid: {i: "cdiv(n, 4)"}
inputs:
  x: {array: "f32[n]", block: "4", index: i}
outputs:
  o: {array: "f32[4]", init: 0}
body: |
  o += x
)spec", kSix) == "");
}

TEST_CASE("undefined: before the first element") {
  CHECK(Find(R"spec(
kernel: k
inputs:
  x: {array: "f32[n]", block: "element(4, halo=(1, 0))", index: "0"}
outputs:
  o: f32[4]
body: |
  o = x
)spec", kSix) == "");
}

TEST_CASE("tail: an edge that a contraction spreads") {
  CHECK(Find(R"spec(
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
)spec", {{{"x", Counting(DType::kF32, {2, 6})}, {"y", Counting(DType::kF32, {6, 2})}}, {}}) == "");
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
  CHECK(Find(head + "  when s[0] == 0:\n    o = 1\n", kSix) == "");
  CHECK(Find(head + "  o[s[0]] = 1\n", kSix) == "");
  CHECK(Find(head + "  for r in range(0, s[0]):\n    o = 1\n", kSix) == "");
  CHECK(Find(head + "  assert s[0] < 4, \"small\"\n", kSix) == "");
  CHECK(Find(head + "  v[0:4] = 1\n  copy v -> p, sem\n  wait sem\n", kSix) == "");
  CHECK(Find(head + "  let t = 5 // (i32(o[0]))\n  when t > 0:\n    o = 1\n", kSix) == "");
  CHECK(Find(head + "  let t = 2 ** (i32(o[0]) - 1)\n  o[t] = 1\n", kSix) == "");
}

TEST_CASE("coverage: blocks and elements that nobody stores") {
  CHECK(Find(R"spec(
kernel: k
prefetch: {ids: "i32[t]"}
grid: {i: t}
outputs:
  o: {array: "f32[3, 2]", block: "1, 2", index: "ids[i], 0"}
body: |
  o = 0
)spec", {{{"ids", Ints({2}, {0, 2})}}, {}}) == "");
  CHECK(Find(R"spec(
kernel: k
grid: {i: 2}
outputs:
  o: {array: "f32[2, 3]", block: "1, 3", index: "i, 0"}
body: |
  o[:, 0:2] = 0
)spec") == "");
}

TEST_CASE("coverage: a visited block under alias has lost the input's values") {
  CHECK(Find(R"spec(
kernel: k
inputs:
  x: {array: "f32[n]", memory: any}
outputs:
  o: {array: "f32[n]", block: "3", index: "0", alias: x}
body: |
  o[0:1] = 0
)spec", kSix) == "");
}

TEST_CASE("revisit: a block is left and come back to") {
  CHECK(Find(R"spec(
kernel: k
prefetch: {ids: "i32[t]"}
grid: {l: t, i: 2}
outputs:
  o: {array: "f32[2, 3]", block: "1, 1", index: "i, ids[l]"}
body: |
  o = 1
)spec", {{{"ids", Ints({4}, {0, 1, 2, 2})}}, {}}) == "");
}

TEST_CASE("race: parallel steps that write one block") {
  CHECK(Find(R"spec(
kernel: k
prefetch: {ids: "i32[t]"}
grid: {i: t, l: 2}
dimension_semantics: parallel, arbitrary
outputs:
  o: {array: "f32[2]", block: "1", index: "ids[i]", init: 0}
body: |
  o += 1
)spec", {{{"ids", Ints({3}, {0, 1, 1})}}, {}}) == "");
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
)spec", {{{"x", Counting(DType::kF32, {6})}, {"from", Ints({3}, from)}}, {}});
}

TEST_CASE("race: an input that shares memory with an output of another step") {
  CHECK(InPlace("parallel", {0, 1, 2}) == "");
  CHECK(InPlace("parallel", {0, 0, 2}) == "");
  CHECK(InPlace("parallel", {1, 1, 2}) == "");
  CHECK(InPlace("parallel", {2, 1, 2}) == "");
}

TEST_CASE("alias: a block copied in after an output took it over") {
  CHECK(InPlace("arbitrary", {0, 1, 2}) == "");
  CHECK(InPlace("arbitrary", {1, 2, 2}) == "");
  CHECK(InPlace("arbitrary", {0, 0, 2}) == "");  // the buffer still holds it
  CHECK(InPlace("arbitrary", {2, 0, 1}) == "");
}

TEST_CASE("index-range: block indices") {
  const auto with = [](const std::string& block, const std::string& index) {
    return Find("kernel: k\ngrid: {i: 3}\ninputs:\n  x: {array: \"f32[n]\", block: \"" + block +
                "\", index: \"" + index + "\"}\noutputs:\n  o: f32[1]\nbody: |\n  o = f32(i)\n", kSix);
  };
  CHECK(with("2", "i") == "");
  CHECK(with("2", "i + 1") == "");
  CHECK(with("2", "i - 1") == "");
  CHECK(with("2", "i * 2") == "");
  CHECK(with("null", "i * 3") == "");
  CHECK(with("element(2, halo=(1, 1))", "i * 4") == "");
  CHECK(with("bounded(4)", "ds(i * 2, 3)") == "");
  CHECK(with("bounded(4)", "ds(i, i * 5)") == "");
  CHECK(with("2", "i * 4611686018427387904 * 2") == "");
  CHECK(with("2", "6 // i") == "");
}

TEST_CASE("index-range: subscripts and prefetch elements") {
  const auto with = [](const std::string& body) {
    return Find("kernel: k\nprefetch: {ids: \"i32[t]\"}\ngrid: {i: 3}\ninputs:\n  x: f32[n]\n"
                "outputs:\n  o: f32[1]\nbody: |\n" + body,
                {{{"x", Counting(DType::kF32, {6})}, {"ids", Ints({2}, {7, 1})}}, {}});
  };
  CHECK(with("  o = x[i + 4]\n") == "");
  CHECK(with("  o = x[ids[0]]\n") == "");
  CHECK(with("  o = f32(ids[i])\n") == "");
  CHECK(with("  o = sum(x[ds(i * 2, 4)])\n") == "");
  CHECK(with("  o = x[i - 1]\n") == "");
  CHECK(with("  o[i] = 0\n") == "");
  CHECK(with("  let y = x * 2\n  o = y[ids[0]]\n") == "");
  CHECK(with("  o = x[ids[1] * 4611686018427387904 * 4]\n") == "");
}

TEST_CASE("assert") {
  CHECK(Find(R"spec(
kernel: k
grid: {i: 3}
inputs:
  x: f32[n]
outputs:
  o: f32[1]
body: |
  assert x[i] < 2, "x must be small"
  o = x[i]
)spec", kSix) == "");
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
)spec" + body, kSix);
  };
  CHECK(with("  copy x -> a, sem[0]\n  o = a\n  wait sem[0]\n") == "");
  CHECK(with("  copy x -> a, sem[0]\n  a[2] = 0\n  wait sem[0]\n") == "");
  CHECK(with("  b = 0\n  copy b -> a, sem[0]\n  b = 0\n  wait sem[0]\n") == "");
  CHECK(with("  copy x -> a, sem[0]\n  copy x -> a, sem[1]\n  wait sem[0]\n  wait sem[1]\n") == "");
  CHECK(with("  wait sem[1]\n") == "");
  CHECK(with("  copy x -> a, sem[1]\n  wait sem[0]\n") == "");
  CHECK(with("  when last(i):\n    copy x -> a, sem[i]\n") == "");
  CHECK(with("  copy x -> a, sem[i + 1]\n  wait sem[i + 1]\n") == "");
  CHECK(with("  a = 0\n  copy a[0:3] -> a[2:5], sem[0]\n  wait sem[0]\n") == "");
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
)spec" + body, kSix);
  };
  CHECK(with("parallel", "  o = 0\n  copy x[0:3] -> a, sem\n") == "");
  CHECK(with("arbitrary", "  copy x[ds(i * 3, 3)] -> o, sem\n") == "");
  CHECK(with("arbitrary", "  copy x[ds(i * 3, 3)] -> o, sem\n  wait sem\n") == "");
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
)spec", kSix);
  CHECK(outcome.rules == std::vector<std::string>{"assert"});
  CHECK(outcome.steps == 2);
  CHECK(Values(outcome.outputs.at("o"))[0] == 0);
}

}  // namespace
}  // namespace kiln::testing
