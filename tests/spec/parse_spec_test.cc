// Spec files as a whole: every key, forms of values, positions.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/spec/spec_testing.h"

namespace kiln::parse_spec_test {
namespace {

using namespace spec_testing;

TEST_CASE("every key, in one spelling") {
  const std::string shown = Shown(kEverything);
  CHECK(shown == R"yaml(kernel: k
doc: "a \"word\": more"
params:
  T: bf16
  bm: 512
  fast: true
  half: bm // 2
dims:
  m:
    multiple_of: 8
    min: 1
    max: 65536
  k: 4096
  n:
require:
  - p == cdiv(m, bm)
  - m > 0
let:
  t: i * 2
scalars:
  group_offset: i32
arguments:
  sizes: i32[groups]
prefetch:
  ids: i32[tiles + 1]
prepare:
  - call: ids = group_metadata(sizes, m, bm, start=0)
  - call: a, b = f(sizes)
    header: my/pages.h
grid:
  i: cdiv(m, bm)
  j: 4
dimension_semantics: parallel, arbitrary
inputs:
  x:
    array: T[m, k, 4, 18, n]
    block: bm, all, null, element(16, halo=(1, 1)), bounded(512)
    index: i, 0, ids[t], j, ds(i, 4)
    pad: -inf
    buffers: 3
  bias:
    array: f32[n]
    like: z
    memory: smem
  w:
    - if: fast
      array: T
    - if: not fast
      array: f32[k]
  below:
    view: x
    index: i, 0, 0, 0, 0
  s:
    array: f32
outputs:
  z:
    array: T[m]
    block: bm
    index: i
    init: undefined
  y:
    array: T[m]
    init: 0
    alias: x
scratch:
  acc:
    array: f32[bm, 8]
  flags:
    array: i32[8]
    memory: smem
  sem:
    semaphore: dma
    count: 2
body: |
  when first(l):
    acc = 0
  acc += dot(x, y)
epilogue: |
  z = T(acc)
variants:
  - when: m <= 64
    set: {bm: 64}
vmap:
  axis: b
  dim: batch
  over:
    x: 0
    z: 1
instances:
  k_bf16: {}
  k_f32: {T: f32, bm: 256}
golden:
  - {m: 256, seed: 1}
  - {m: 8, ids: "random:1", sizes: "[1, 2]"}
reference:
  z: dot(x, y)
  total: "@total.npy"
)yaml");
  CHECK(Shown(shown) == shown);  // the text form reads as itself
}

TEST_CASE("lists and text mean the same") {
  const auto operand = [](const std::string& keys) {
    return Shown(kHead + "inputs: {x: {array: \"f32[a, b, c]\", " + keys + "}}\n");
  };
  CHECK(operand("block: [null, bm, 8]") == operand("block: \"null, bm, 8\""));
  CHECK(operand("block: [all, ~, 8]") == operand("block: \"all , null,8\""));
  CHECK(operand("index: [i, 0, off]") == operand("index: \"i, 0, off\""));
  CHECK(operand("block: null") == operand("block: [null]"));
  CHECK(operand("block: [\"f(a, b)\", \"element(3)\"]") ==
        operand("block: \"f(a, b), element(3)\""));
  const auto top = [](const std::string& rest) { return Shown(kHead + rest); };
  CHECK(top("dimension_semantics: [parallel, arbitrary]\n") ==
        top("dimension_semantics: parallel,arbitrary\n"));
  CHECK(top("dims: [m, n]\n") == top("dims: m, n\n"));
  CHECK(top("require: a == b\n") == top("require: [\"a == b\"]\n"));
  CHECK(top("prepare: a = f(b)\n") == top("prepare: [{call: a = f(b)}]\n"));
}

TEST_CASE("what is absent stays absent, what is empty is not") {
  const Parsed parsed =
      Parse(kHead + "inputs: {x: {array: f32, block: [], index: \"\"}, y: f32}\n");
  REQUIRE(parsed.spec);
  const OperandSpec& x = parsed.spec->inputs[0].alternatives[0];
  CHECK((x.block && x.block->empty()));
  CHECK((x.index && x.index->empty()));
  const OperandSpec& y = parsed.spec->inputs[1].alternatives[0];
  CHECK_FALSE(y.block);
  CHECK_FALSE(y.index);
  CHECK_FALSE(parsed.spec->vmap);
  CHECK(parsed.spec->grid.empty());
  CHECK(Shown(kHead) == Shown(kHead + "grid: {}\nparams:\ninstances:\ngolden:\n"));
  CHECK(Parse(kHead + "dims: []\n").spec->dims_closed);
  CHECK_FALSE(Parse(kHead + "dims: {}\n").spec->dims_closed);
}

TEST_CASE("names that YAML 1.1 took for something else") {
  CHECK(Messages("kernel: k\n"
                 "params: {on: 1, y: 2, n: 3, off: 4, no: 5}\n"
                 "outputs: {yes: \"f32[n]\"}\n"
                 "body: yes = on\n") == "");
}

TEST_CASE("a block entry's forms") {
  const auto block = [](const std::string& text) {
    return MessagesBelow("inputs: {x: {array: f32, block: \"" + text + "\"}}\n");
  };
  const std::string at = "syntax 4:34 ";
  CHECK(block("element(18, halo=(1, 1)), bounded( b * 2 ), element(f(a, b), halo = (k, 0))") == "");
  CHECK(block("element(18, halo=1)") ==
        "syntax 4:51 `halo` is a pair: the elements before and after | write `element(size, "
        "halo=(before, after))`\n");
  CHECK(block("element(18, 1)") ==
        "syntax 4:46 expected `halo=(before, after)` | write `element(size, halo=(before, "
        "after))`\n");
  CHECK(block("element()") ==
        at + "`element` takes a size and a halo | write `element(18, halo=(1, 1))`\n");
  CHECK(block("bounded(1, 2)") == at + "`bounded` takes a size | write `bounded(512)`\n");
  CHECK(block("elemnt(18)") ==
        at + "`elemnt` is no form of a block entry | did you mean `element`?\n");
  CHECK(block("bm, , 8") ==
        "syntax 4:38 a block entry is missing here | `null` squeezes a dimension, `all` takes the "
        "whole of it\n");
  CHECK(MessagesBelow("inputs: {x: {array: f32, block: }}\n").find("`block`") == std::string::npos);
}

TEST_CASE("places inside values") {
  // In a literal block, in quotes with escapes, in a list, in folded text.
  CHECK(Messages("kernel: k\noutputs:\n  z: f32[m]\nbody: |\n  z = 1\n  z = 2 +\n")
            .starts_with("syntax 6:10 "));
  CHECK(MessagesBelow("let: {a: \"b \\\" c\"}\n").starts_with("syntax 4:13 "));
  CHECK(MessagesBelow("let: {a: 'b ? c'}\n").starts_with("syntax 4:13 "));
  CHECK(MessagesBelow("inputs:\n  x:\n    array: f32\n    index: [i, \"j +\"]\n")
            .starts_with("syntax 7:20 "));
  CHECK(MessagesBelow("let:\n  a: b +\n     c ? d\n").starts_with("syntax 6:8 "));
  CHECK(MessagesBelow("params:\r\n  a: 1 ? 2\r\n").starts_with("syntax 5:8 "));
}

TEST_CASE("statements keep their lines") {
  const std::string head = "kernel: k\noutputs: {z: f32}\n";
  CHECK(Messages(head + "body: >\n  z = 1\n  z = 2\n") ==
        "syntax 3:7 YAML joins the lines of this `body` into one | write `body: |` and the "
        "statements below it\n");
  CHECK(Messages(head + "body:\n  z = 1\n  z = 2\n") ==
        "syntax 4:3 YAML joins the lines of this `body` into one | write `body: |` and the "
        "statements below it\n");
  CHECK(Messages(head + "body: 'z = 1\n  z = 2'\n").starts_with("syntax 3:8 YAML joins"));
  CHECK(Messages(head + "body: 'z = 1'\n") == "");
  CHECK(Messages(head + "body: \"z = 1\\nz = 2\"\n") == "");
  CHECK(Messages(head + "body: |\n  z = 1\n  when z > 0:\n    z = 2\n") == "");
}

TEST_CASE("the shipped specs read, and their text form reads as itself") {
  for (const auto& file : std::filesystem::directory_iterator(KILN_SOURCE_DIR "/specs")) {
    if (file.path().extension() != ".yaml") continue;
    CAPTURE(file.path().string());
    std::ifstream in(file.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const Parsed parsed = Parse(text.str(), file.path().string());
    INFO(Render(parsed.diagnostics, *parsed.source));
    REQUIRE(parsed.spec);
    const std::string shown = ToString(*parsed.spec);
    CHECK(Shown(shown) == shown);
  }
}

}  // namespace
}  // namespace kiln::parse_spec_test
