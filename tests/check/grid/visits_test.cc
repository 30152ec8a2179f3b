// Whole messages of the grid check: [coverage], [revisit], [race], [alias] and [key].
#include "tests/check/grid/grid_case.h"

namespace kiln::grid_visits_test {
namespace {

TEST_CASE("coverage: blocks that no step visits") {
  const std::string text = R"yaml(
grid: {i: "m // 8"}
inputs:
  x: {array: "f32[m, n]", block: "8, all", index: "i, 0"}
outputs:
  o: {array: "f32[m, n]", block: "8, all", index: "i, 0"}
body: |
  o = x * 2
)yaml";
  Case floor(text);
  CHECK(floor.Dim("m", 16).Dim("n", 4).Check() == Found{});
  CHECK(floor.Dim("m", 20).Check() == Found{"coverage: no step visits block (2, 0) of `o` (rows "
                                            "16..19, columns 0..3) | `m // 8` drops the "
                                            "ragged rest: use cdiv(m, 8)"});
  CHECK(floor.Dim("m", 0).Check() == Found{});
  CHECK(floor.Dim("m", 4).Check() ==
        Found{"coverage: the grid has no steps, so no block of `o` is ever written"});
}

TEST_CASE("coverage: stays in which no store runs") {
  Case stores(R"yaml(
prefetch: {rows: "i32[count]", live: "i32[count]"}
grid: {t: count, l: 2}
dimension_semantics: parallel, arbitrary
inputs:
  x: {array: "f32[8, 16]"}
outputs:
  o: {array: "f32[n, 16]", block: "null, all", index: "rows[t], 0"}
body: |
  when live[t] != 0 and last(l):
    o = sum(x, axis=0)
)yaml");
  stores.Dim("n", 3).Host("rows", {0, 1, 2});
  CHECK(stores.Host("live", {1, 1, 1}).Check() == Found{});
  CHECK(stores.Host("live", {1, 0, 0}).Check() ==
        Found{"coverage: block (1, 0) of `o` is visited at grid point (t=1, l=0), but no store "
              "into it runs in "
              "that stay (and 1 more block) | store into every block that is visited, or give the "
              "output "
              "an `init`"});
  CHECK(stores.Dim("n", 5).Host("live", {1, 1, 1}).Check() ==
        Found{"coverage: no step visits 2 of the 5 blocks of `o`; the first is (3, 0) (row 3, "
              "columns 0..15) | "
              "let some step visit every block, or give the output an `init` for those that none "
              "does"});
}

TEST_CASE("coverage: a condition on the data may hold") {
  Case data(R"yaml(
prefetch: {live: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[count]", block: "null", index: t}
outputs:
  o: {array: "f32[count]", block: "null", index: t}
body: |
  when live[t] != 0 and x > 0:
    o = x
)yaml");
  CHECK(data.Host("live", {1, 1}).Check() == Found{});
  CHECK(data.Host("live", {1, 0}).Check().size() == 1);  // whatever x is
}

constexpr const char* kScatter = R"yaml(
prefetch: {rows: "i32[count]"}
grid: {t: count, l: 2}
dimension_semantics: SEMANTICS, arbitrary
inputs:
  x: {array: "f32[count, 8]", block: "null, all", index: "t, 0"}
outputs:
  o: {array: "f32[n, 8]", block: "null, all", index: "rows[t], 0", init: 0}
body: |
  o = x
)yaml";

std::string Scatter(const std::string& semantics) {
  std::string text = kScatter;
  text.replace(text.find("SEMANTICS"), 9, semantics);
  return text;
}

TEST_CASE("revisit: one core comes back to a block") {
  Case scatter(Scatter("arbitrary"));
  scatter.Dim("n", 4);
  CHECK(scatter.Host("rows", {2, 2, 0, 3}).Check() == Found{});
  CHECK(scatter.Host("rows", {2, 0, 2, 0}).Check() ==
        Found{"revisit: block (2, 0) of `o` is left and come back to: visited at (t=0, l=0) and "
              "again at (t=2, "
              "l=0); what the first visit wrote is lost (and 1 more block) | sort `rows` so that "
              "the steps that "
              "visit one block follow each other"});
}

TEST_CASE("revisit: the axis to make minor") {
  Case major(R"yaml(
prefetch: {rows: "i32[count]"}
grid: {t: count, j: "cdiv(n, 8)"}
inputs:
  x: {array: "f32[count, n]", block: "null, 8", index: "t, j"}
outputs:
  o: {array: "f32[m, n]", block: "null, 8", index: "rows[t], j", init: 0}
body: |
  o += x
)yaml");
  major.Dim("m", 3).Dim("n", 16);
  CHECK(major.Host("rows", {0, 0, 2}).Check() ==
        Found{"revisit: block (0, 0) of `o` is left and come back to: visited at (t=0, j=0) and "
              "again at (t=1, "
              "j=0); what the first visit wrote is lost (and 1 more block) | make `t` the "
              "minormost axis of the "
              "grid, in the order j, t, so that all visits of a block follow each other"});
  CHECK(major.Host("rows", {0, 1, 2}).Check() == Found{});
}

TEST_CASE("revisit: blocks that overlap without being the same") {
  Case overlap(R"yaml(
prefetch: {at: "i32[count]"}
grid: {t: count}
inputs:
  x: {array: "f32[4, 16]"}
outputs:
  o: {array: "f32[n, 16]", block: "element(4), all", index: "at[t], 0", init: 0}
body: |
  o = x
)yaml");
  overlap.Dim("n", 8);
  CHECK(overlap.Host("at", {0, 4}).Check() == Found{});
  CHECK(overlap.Host("at", {0, 2, 4}).Check() ==
        Found{"revisit: block (2, 0) of `o` at (t=1) overlaps block (0, 0) of `o` at (t=0) in rows "
              "2..3, columns "
              "0..15; the later copy-out overwrites the earlier one (and 1 more overlapping block) "
              "| let the "
              "blocks of outputs be disjoint"});
}

TEST_CASE("race: two parallel steps write one block") {
  Case scatter(Scatter("parallel"));
  scatter.Dim("n", 4);
  CHECK(scatter.Host("rows", {2, 1, 0}).Check() == Found{});
  CHECK(scatter.Host("rows", {2, 1, 2, 2}).Check() ==
        Found{"race: grid points (t=0, l=0) and (t=2, l=0) differ along the parallel axis `t` and "
              "both write "
              "block (2, 0) of `o` | make `t` `arbitrary` in dimension_semantics, or let different "
              "steps along "
              "it write different blocks"});
}

constexpr const char* kInPlace = R"yaml(
prefetch: {from: "i32[count]"}
grid: {t: count}
dimension_semantics: SEMANTICS
inputs:
  x: {array: "f32[n, 16]", block: "null, all", index: "from[t], 0"}
outputs:
  o: {array: "f32[n, 16]", block: "null, all", index: "t, 0", alias: x}
body: |
  o = x
)yaml";

TEST_CASE("alias and race: reading what an output took over") {
  std::string text = kInPlace;
  text.replace(text.find("SEMANTICS"), 9, "arbitrary");
  Case serial(text);
  serial.Dim("n", 5);
  CHECK(serial.Host("from", {0, 1, 3, 4}).Check() == Found{});  // reads run ahead of writes
  CHECK(serial.Host("from", {0, 1, 0, 2}).Check() ==
        Found{"alias: block (0, 0) of `x` is copied in at (t=2), after (t=0) has visited block (0, "
              "0) of `o`, "
              "which shares its memory: whether it holds old or new values depends on the pipeline "
              "(and 1 more "
              "block) | read the block no later than the first step that visits it, or drop the "
              "alias"});
  text = kInPlace;
  text.replace(text.find("SEMANTICS"), 9, "parallel");
  Case parallel(text);
  parallel.Dim("n", 5);
  CHECK(parallel.Host("from", {0, 1, 2, 4}).Check() == Found{});
  CHECK(parallel.Host("from", {0, 3, 2, 3}).Check() ==
        Found{"race: grid point (t=1) reads block (3, 0) of `x`, whose memory (t=3) writes as "
              "block (3, 0) of "
              "`o`; they differ along the parallel axis `t` | make `t` `arbitrary` in "
              "dimension_semantics, or "
              "drop the alias"});
}

TEST_CASE("key: the epilogue's outputs must have the same stays") {
  Case epilogue(R"yaml(
prefetch: {g: "i32[count]"}
grid: {t: count}
outputs:
  o: {array: "f32[groups]", block: "null", index: "g[t]", init: 0}
  p: {array: "f32[groups]", block: "null", index: "g[t] // 2", init: 0}
body: |
  let unused = t
epilogue: |
  o = 1
  p = 2
)yaml");
  epilogue.Dim("groups", 6);
  CHECK(epilogue.Host("g", {0, 0, 2, 4}).Check() == Found{});
  CHECK(epilogue.Host("g", {0, 1, 2}).Check() ==
        Found{"key: the outputs of the epilogue must change blocks at the same steps, but at grid "
              "point (t=1) `o` "
              "begins another block and `p` does not | store the one that changes less often in "
              "the body, when "
              "last(o) holds for it"});
}

}  // namespace
}  // namespace kiln::grid_visits_test
