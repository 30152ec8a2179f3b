// Plans as text, of kernels that each show another decision. With KILN_UPDATE set this rewrites
// them: review the diff.
#include <cstdlib>
#include <filesystem>

#include "generator/check/check_spec.h"
#include "generator/planner/make_plan.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

struct Example {
  const char* spec;
  const char* instance;
};

constexpr Example kExamples[] = {
    {"specs/add_2d.yaml", "add_2d"},                            // elementwise
    {"specs/matmul.yaml", "matmul_bf16"},                       // packed, peeled, with an epilogue
    {"specs/matmul_transposed.yaml", "matmul_transposed_f32"},  // packed by a transposing copy
    {"specs/sum_rows.yaml", ""},                                // a reduction cut into blocks
    {"specs/sum_columns.yaml", ""},                             // rows added up, and prefetched
    {"specs/gmm.yaml", ""},                                     // steps that depend on data
    {"specs/tgmm.yaml", "tgmm_f32"},                            // a part of a dot's depth
    {"specs/sparse_dense.yaml", "sparse_dense_f32"},            // peeled by visits of an output
    {"tests/plan/plans/guarded.yaml", ""},                      // dots under a condition
    {"tests/pallas/specs/softmax_rows.yaml", ""},               // several passes over a row
    {"tests/pallas/specs/layernorm.yaml", ""},                  // and values made anew in them
    {"tests/plan/plans/kept.yaml", ""},                         // values that are not
    {"tests/pallas/specs/softmax_online.yaml", ""},             // scratch that is rescaled
    {"tests/pallas/specs/flash_attention.yaml", ""},            // two dots, one of them transposed
    {"specs/conv1d.yaml", ""},                                  // neighbours beyond the block
    {"tests/pallas/specs/linear_recurrence.yaml", ""},          // a loop over rows
    {"tests/pallas/specs/double_buffer.yaml", ""},              // copies by hand
    {"tests/plan/plans/constants.yaml", ""},                    // names in front of nests
};

std::string PlanText(const Example& example) {
  const auto source = std::make_shared<const Source>(
      example.spec, test::ReadText(test::fs::path(KILN_SOURCE_DIR) / example.spec));
  Diagnostics found;
  const auto spec = ParseSpec(source, found);
  CheckOptions options;
  options.instance = example.instance;
  const auto kernel = spec ? CheckSpec(*spec, options, found) : nullptr;
  const auto plan = kernel ? MakePlan(*kernel, found) : nullptr;
  INFO(Render(found, *source));
  REQUIRE(plan);
  return ToString(*plan);
}

TEST_CASE("plans are as recorded") {
  for (const Example& example : kExamples) {
    const std::string name =
        *example.instance ? example.instance : test::fs::path(example.spec).stem().string();
    INFO(name << ": KILN_UPDATE=1 rewrites tests/plan/plans/*.txt");
    const std::string text = PlanText(example);
    const std::string file =
        (test::fs::path(KILN_SOURCE_DIR) / "tests/plan/plans" / (name + ".txt")).string();
    if (std::getenv("KILN_UPDATE")) test::WriteText(file, text);
    CHECK(test::ReadText(file) == text);
  }
}

TEST_CASE("a block stays at the steps of axes inside of all that its index depends on") {
  const Planned planned = PlanOf(R"yaml(kernel: k
grid: {i: m, j: n, t: 5}
inputs:
  x: {array: "f32[m, 8]", block: "1, all", index: "i, 0"}
  y: {array: "f32[5, n, 8]", block: "null, 1, all", index: "t, j, 0"}
  w: "f32[8, 8]"
outputs:
  o: {array: "f32[m, n, 8]", block: "null, 1, all", index: "i, j, 0"}
body: o = dot(x + y, w)
)yaml");
  const auto stays = [&](int ref) { return planned.plan->operands[RefId(ref)].stays; };
  CHECK(stays(0) == Axes{AxisId(1), AxisId(2)});
  CHECK(stays(1).empty());
  CHECK(stays(2) == Axes{AxisId(0), AxisId(1), AxisId(2)});
}

TEST_CASE("an operand that a loop multiplies again has so many times the rows") {
  const auto rows_of = [](const std::string& body) {
    return ToString(*PlanOf("kernel: k\nprefetch: {n: \"i32[1]\"}\ninputs: {x: \"f32[9, m, 128]\", "
                            "f: \"f32[128, 256]\"}\noutputs: {o: \"f32[9, m, 256]\"}\nbody: |\n" +
                            body)
                         .plan);
  };
  const std::string turns = ":\n    o[t] = dot(x[t], f)\n";
  CHECK(Has(rows_of("  o[0] = dot(x[0], f)\n"), "if few rows of"));
  CHECK(Has(rows_of("  for t in range(0, 9)" + turns), "if few 9 times rows of"));
  CHECK(Has(rows_of("  o[0] = dot(x[0], f)\n  for t in range(0, 9)" + turns),
            "if few 10 times rows of"));
  CHECK(Has(rows_of("  for t in range(0, n[0])" + turns), "if few rows of"));
}

}  // namespace
}  // namespace kiln
