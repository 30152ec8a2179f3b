// What the interpreter finds, with the whole message: manual copies. CheckGrid, which finds much of
// it earlier, is not asked.

#include "tests/catch.h"
#include "tests/interpret/testing.h"

namespace kiln::testing {
namespace {

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

TEST_CASE("sync: the pipeline copies where a copy of the body is in flight") {
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

TEST_CASE("the run stops at the first fatal diagnostic and keeps the outputs so far") {
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
