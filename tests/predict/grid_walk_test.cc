// Grids that are mostly multiplied give what walking every step gives, to the picosecond.
#include "generator/predict/grid_walk.h"

#include <ctime>

#include "tests/catch.h"
#include "tests/predict/predicting.h"

namespace kiln::test {
namespace {

void CheckSameTotals(const TimelineTotals& a, const TimelineTotals& b) {
  CHECK(a.steps == b.steps);
  CHECK(a.skipped_steps == b.skipped_steps);
  CHECK(a.copies_in == b.copies_in);
  CHECK(a.copies_out == b.copies_out);
  CHECK(a.bytes_in == b.bytes_in);
  CHECK(a.bytes_out == b.bytes_out);
  CHECK(a.flops == b.flops);
  CHECK(a.seconds == b.seconds);
  CHECK(a.wait == b.wait);
  CHECK(a.mxu == b.mxu);
  CHECK(a.vpu == b.vpu);
  CHECK(a.dma == b.dma);
}

/// Both ways, on one core and on more.
void CheckBothWays(const Subject& subject, const Machine& machine) {
  for (const int64_t cores : {1, 2, 3}) {
    INFO(cores << " cores");
    PredictOptions options;
    options.cores = cores;
    const Timeline sums = subject.Predicted(machine, options);
    options.detail = true;
    const Timeline steps = subject.Predicted(machine, options);
    REQUIRE(sums.cores.size() == steps.cores.size());
    for (size_t c = 0; c < sums.cores.size(); ++c) {
      REQUIRE(steps.cores[c].detailed);
      CHECK(static_cast<int64_t>(steps.cores[c].steps.size()) == steps.cores[c].totals.steps);
      CheckSameTotals(sums.cores[c].totals, steps.cores[c].totals);
    }
    for (size_t o = 0; o < sums.operands.size(); ++o) {
      INFO(sums.operands[o].name);
      CHECK(sums.operands[o].copies == steps.operands[o].copies);
      CHECK(sums.operands[o].bytes == steps.operands[o].bytes);
      CHECK(sums.operands[o].skipped == steps.operands[o].skipped);
    }
    CHECK(sums.seconds == steps.seconds);
  }
}

TEST_CASE("matmuls, whole and ragged") {
  const Machine v5e = MachineOf("v5e");
  for (const int64_t m : {128, 1000, 1024, 1300}) {
    for (const int64_t k : {100, 1024, 1111}) {
      for (const int64_t n : {64, 900, 1920}) {
        INFO(m << " x " << k << " x " << n);
        CheckBothWays(Shipped("matmul_scratch", {}, {{"m", m}, {"k", k}, {"n", n}}), v5e);
      }
    }
  }
}

TEST_CASE("reductions, batches and vectors") {
  const Machine v5e = MachineOf("v5e");
  CheckBothWays(Shipped("sum_rows", {}, {{"m", 5000}, {"n", 9000}}), v5e);
  CheckBothWays(Shipped("sum_columns", {}, {{"m", 5000}, {"n", 9000}}), v5e);
  CheckBothWays(Shipped("add_2d", {}, {{"m", 5000}, {"n", 9000}}), v5e);
  CheckBothWays(Shipped("matmul_batched", {}, {{"batch", 9}, {"m", 700}, {"k", 1500}, {"n", 800}}),
                v5e);
}

/// A kernel whose maps, conditions and buffers are none of the usual.
Subject Odd(const std::string& x_index, const std::string& condition, int buffers, int64_t rows) {
  const std::string text = R"(
kernel: odd
grid: {a: 9, b: 11, c: 7}
dimension_semantics: parallel, arbitrary, arbitrary
dims: [m]
inputs:
  x: {array: "f32[m, 512]", block: "24, 256", index: ")" +
                           x_index + R"(", buffers: )" + std::to_string(buffers) + R"(}
outputs:
  o: {array: "f32[9, 128]", block: [null, all], index: "a, 0"}
scratch:
  s: f32[24, 256]
body: |
  when )" + condition + R"(:
    s = exp(x)
  when last(x):
    s = s * 2
  when first(o):
    o = 0
  when last(o):
    o += s[0, 0:128]
)";
  Inputs inputs;
  inputs.dims["m"] = rows;
  return Subject("odd", text, {}, inputs);
}

TEST_CASE("odd index maps, conditions and buffers") {
  const Machine v5e = MachineOf("v5e");
  for (const char* index : {"b, 0", "c, 1", "a + c, 0", "a * 2 + b, 0", "8 - a, 0", "b, c % 2",
                            "(a * 11 + b) // 3, 0", "where(c > 2, b, 0), 0"}) {
    for (const char* condition : {"true", "first(b)", "c == 3", "a < b", "last(a) and last(c)"}) {
      for (const int buffers : {1, 2, 4}) {
        for (const int64_t rows : {24 * 11, 24 * 29, 24 * 11 - 5}) {
          INFO(index << "; " << condition << "; " << buffers << "; " << rows);
          CheckBothWays(Odd(index, condition, buffers, rows), v5e);
        }
      }
    }
  }
}

TEST_CASE("a billion steps take no time") {
  const std::clock_t begin = std::clock();  // of this process, as the machine may have much to do
  const Subject matmul =
      Shipped("matmul_scratch", {}, {{"m", 128000}, {"k", 128000}, {"n", 128000}});
  PredictOptions options;
  options.detail = true;
  const Timeline timeline = matmul.Predicted(MachineOf("v5e"), options);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  CHECK(seconds < 5);  // one by one, at 5 ns each at the very least; sanitizers take a second
  const TimelineCore& core = timeline.cores.at(0);
  CHECK(core.totals.steps == 1000000000);
  CHECK_FALSE(core.detailed);
  CHECK(core.segments.size() <= static_cast<size_t>(Timeline::kMaxSegments));
  int64_t steps = 0;
  for (const TimelineSegment& segment : core.segments) {
    CHECK(segment.first_step == steps);
    steps += segment.totals.steps;
  }
  CHECK(steps == core.totals.steps);
}

}  // namespace
}  // namespace kiln::test
