// What the interpreter finds, with the whole message: indices and assertions. CheckGrid, which
// finds much of it earlier, is not asked.

#include "tests/catch.h"
#include "tests/interpret/testing.h"

namespace kiln::testing {
namespace {

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

}  // namespace
}  // namespace kiln::testing
