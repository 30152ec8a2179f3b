// Whole messages of the grid check: [index-range] and [assert].
#include "tests/check/grid/grid_case.h"

namespace kiln::grid_range_test {
namespace {

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

TEST_CASE("index-range: several diagnostics when asked for") {
  Case gather(kGather);
  gather.options.diagnostics_per_rule = 2;
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

TEST_CASE("index-range: a constant where the array has a size of the call's") {
  Case sixth(R"yaml(
inputs: {x: "f32[m]"}
outputs: {o: "f32", part: "f32[2]"}
body: |
  o = x[5]
  part = x[4:6]
)yaml");
  CHECK(sixth.Dim("m", 6).Check() == Found{});
  CHECK(sixth.Dim("m", 5).Check() ==
        Found{"index-range: subscript 5 of `x` is out of range: it has 5 elements"});
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

}  // namespace
}  // namespace kiln::grid_range_test
