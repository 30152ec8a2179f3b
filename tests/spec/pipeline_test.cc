// A pipeline in place of a body: how it is written, and what it is written out to.
#include "generator/spec/pipeline.h"

#include "tests/spec/spec_testing.h"

namespace kiln::pipeline_test {
namespace {

using namespace spec_testing;

constexpr const char* kCopies = R"yaml(kernel: k
params:
  bm: 8
grid:
  c: 2
dimension_semantics: parallel
inputs:
  x:
    array: f32[2, m]
    memory: any
  y:
    view: x
  scale:
    array: f32[2]
    block: 1
    index: c
outputs:
  z:
    array: f32[2, m]
    memory: any
pipeline:
  grid:
    i: cdiv(m, bm)
  over:
    x:
      block: null, bm
      index: c, i
      pad: 0
    y:
      index: 1 - c, i
    z:
      like: x
      buffers: 3
  body: |
    z = (x + y) * scale
)yaml";

std::string Unfolded(const std::string& text) {
  const Parsed parsed = Parse(text);
  INFO(Render(parsed.diagnostics, *parsed.source));
  REQUIRE(parsed.spec);
  Diagnostics diagnostics;
  const Spec spec = ApplyPipeline(*parsed.spec, diagnostics);
  CHECK_FALSE(spec.pipeline);
  return ToString(spec) + Render(diagnostics, *parsed.source);
}

/// What is said of a spec with this in place of a part of it.
std::string SaidWith(const std::string& part, const std::string& with) {
  std::string text = kCopies;
  const size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  text.replace(at, part.size(), with);
  const Parsed parsed = Parse(text);
  INFO(Render(parsed.diagnostics, *parsed.source));
  REQUIRE(parsed.spec);
  Diagnostics diagnostics;
  ApplyPipeline(*parsed.spec, diagnostics);
  std::string out;
  for (const Diagnostic& d : diagnostics.Sorted()) out += d.rule + ": " + d.message + "\n";
  return out;
}

TEST_CASE("a pipeline is shown as it is written") { CHECK(Shown(kCopies) == kCopies); }

TEST_CASE("its axes come behind those of the grid, its windows to the operands") {
  CHECK(Unfolded(kCopies) == R"yaml(kernel: k
params:
  bm: 8
grid:
  c: 2
  i: cdiv(m, bm)
dimension_semantics: parallel, arbitrary
inputs:
  x:
    array: f32[2, m]
    block: null, bm
    index: c, i
    memory: vmem
    pad: 0
  y:
    view: x
    index: 1 - c, i
    memory: vmem
  scale:
    array: f32[2]
    block: 1
    index: c
outputs:
  z:
    array: f32[2, m]
    like: x
    memory: vmem
    buffers: 3
body: |
  z = (x + y) * scale
)yaml");
}

TEST_CASE("a view that the pipeline leaves alone stays in HBM") {
  const std::string shown = Unfolded([] {
    std::string text = kCopies;
    const std::string y = "    y:\n      index: 1 - c, i\n";
    return text.erase(text.find(y), y.size());
  }());
  CHECK(shown.find("  y:\n    view: x\n    memory: any\n") != std::string::npos);
}

TEST_CASE("what a pipeline cannot walk") {
  CHECK(SaidWith("    z:\n      like", "    o:\n      like") == "name: `o` is not an operand\n");
  CHECK(SaidWith("    z:\n      like", "    scale: {}\n    z:\n      like") ==
        "tier: `scale` is not in HBM, where a pipeline brings blocks from\n");
  CHECK(SaidWith("    array: f32[2, m]\n    memory: any\npipeline",
                 "    array: f32[2, m]\n    memory: any\n    buffers: 2\npipeline") ==
        "key: `buffers` of `z` is given twice\n");
  CHECK(SaidWith("  over:", "  dimension_semantics: parallel, arbitrary\n  over:") ==
        "key: dimension_semantics names 2 axes and the grid of the pipeline has 1\n");
  CHECK(SaidWith("semantics: parallel", "semantics: parallel, arbitrary") ==
        "key: dimension_semantics names 2 axes and the grid has 1\n");
}

TEST_CASE("a pipeline is the whole body") {
  const std::string pipeline = "pipeline: {grid: {i: 4}, over: {}, body: z = 1}\n";
  CHECK(MessagesBelow(pipeline) ==
        "key 3:1 `body` beside `pipeline`, which is all that a step does | `pipeline` has keys of "
        "the same names for the statements of its own steps; what runs once is `when first(i):` "
        "there\n");
  CHECK(Messages("kernel: k\noutputs: {z: \"f32[m]\"}\n" + pipeline).empty());
  CHECK(Messages("kernel: k\noutputs: {z: \"f32[m]\"}\npipeline: {grid: {i: 4}, body: z = 1}\n") ==
        "key 3:1 the key `over` is missing | for example `over: {x: {block: bm, index: i}}`\n");
  CHECK(Messages("kernel: k\noutputs: {z: \"f32[m]\"}\npipeline:\n  grid: {i: 4}\n  over:\n    z: "
                 "{array: f32}\n  body: z = 1\n")
            .starts_with("key 6:9 `array` is not a key of `over`"));
}

}  // namespace
}  // namespace kiln::pipeline_test
