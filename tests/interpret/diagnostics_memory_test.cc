// What the interpreter finds, with the whole message: who reads and writes an array when.
// CheckGrid, which finds much of it earlier, is not asked.

#include "tests/catch.h"
#include "tests/interpret/testing.h"

namespace kiln::testing {
namespace {

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
      R"out(k.yaml:6:50: error[revisit]: the block of `o[0, 2]` is left and come back to: visited at (l=2, i=0) and again at (l=3, i=0); what the first visit wrote is lost
   6 |   o: {array: "f32[2, 3]", block: "1, 1", index: "i, ids[l]"}
     |                                                  ^~~~~~~~~
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
      R"out(k.yaml:7:44: error[race]: grid points (i=1, l=0) and (i=2, l=0) both write `o[1]`; they differ along the parallel axis `i`
   7 |   o: {array: "f32[2]", block: "1", index: "ids[i]", init: 0}
     |                                            ^~~~~~
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
      R"out(k.yaml:6:44: error[race]: grid point (i=1) reads `x[0]`, whose memory (i=0) writes as `o[0]`; they differ along the parallel axis `i`
   6 |   x: {array: "f32[n]", block: "2", index: "from[i]"}
     |                                            ^~~~~~~
  hint: make `i` `arbitrary` in dimension_semantics, or drop the alias
)out");
  CHECK(
      InPlace("parallel", {1, 1, 2}) ==
      R"out(k.yaml:8:43: error[race]: grid point (i=0) reads `x[2]`, whose memory (i=1) writes as `o[2]`; they differ along the parallel axis `i`
   8 |   o: {array: "f32[n]", block: "2", index: i, alias: x}
     |                                           ^
  hint: make `i` `arbitrary` in dimension_semantics, or drop the alias
)out");
  CHECK(
      InPlace("parallel", {2, 1, 2}) ==
      R"out(k.yaml:8:43: error[race]: grid point (i=0) reads `x[4]`, whose memory (i=2) writes as `o[4]`; they differ along the parallel axis `i`
   8 |   o: {array: "f32[n]", block: "2", index: i, alias: x}
     |                                           ^
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
      R"out(k.yaml:12:3: error[race]: grid points (i=0) and (i=2) both write `o[0]`; they differ along the parallel axis `i`
  12 |   copy s -> o[ds(at[i], 2)], sem
     |   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
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
      R"out(k.yaml:16:10: error[race]: grid point (i=2) reads `o[0]`, which (i=0) writes; they differ along the parallel axis `i`
  16 |     copy o[ds(at[i], 2)] -> s, sem
     |          ^~~~~~~~~~~~~~~
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
      R"out(k.yaml:6:44: error[alias]: `x[0]` is copied in at (i=1), after (i=0) has visited its memory as `o[0]`: whether it holds old or new values depends on the pipeline
   6 |   x: {array: "f32[n]", block: "2", index: "from[i]"}
     |                                            ^~~~~~~
  hint: read the block no later than the first step that visits it, or drop the alias
)out");
}

}  // namespace
}  // namespace kiln::testing
